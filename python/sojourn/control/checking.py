"""What may be in a user's file: all that gives the same numbers plain and compiled."""

from __future__ import annotations

import ast
from difflib import get_close_matches

from sojourn.control.flattening import refuse_recursion
from sojourn.control.outline import Function, Outline
from sojourn.control.reading import read_outline
from sojourn.control.signatures import Kinds, signatures
from sojourn.control.statements import walk
from sojourn.control.vocabulary import DRAWS, HOOKS, at

_NEAR = 0.7


def check(tree: ast.Module, file: str) -> Outline:
    """Check a file, and write into its tree what makes it the same plain and compiled.

    Args:
        tree: the file's syntax tree; constants become their values, and where a whole number meets
            a float, `float(...)` is written.
        file: its name, for messages.

    Raises:
        InputError: something is refused; the message has its line.
    """
    outline = read_outline(tree, file)
    _refuse_misspelt_hooks(outline)
    _refuse_unheard_timers(outline)
    _infer(outline)
    refuse_recursion(outline)
    return outline


def _refuse_unheard_timers(outline: Outline) -> None:
    """Refuse to set a timer in a class without the hook that it calls."""
    for of_class in outline.classes.values():
        own = [*of_class.line_of_bases()][:-1]
        if any("timer_ran_out" in step.methods for step in own):
            continue
        for node in (
            node for method in of_class.methods.values() for node in ast.walk(method.node)
        ):
            match node:
                case ast.Attribute(ctx=ast.Store(), value=ast.Name(id="self"), attr="timer"):
                    text = f"nothing hears this timer: write {of_class.name}.timer_ran_out"
                    raise at(outline.file, node, text)


def _infer(outline: Outline) -> None:
    """Find the kinds of all values, and replace the bodies of the file's functions."""
    kinds = Kinds(outline.file, signatures(outline))
    while True:
        kinds.changed = False
        bodies = {function: walk(outline, kinds, function) for function in _functions(outline)}
        if not kinds.changed:
            break
    for function, body in bodies.items():
        if function.owner and function.owner.base is None:
            continue  # a class of ours, which all files share
        function.node.body = body
        function.node.returns = None
        for argument in function.node.args.args:
            argument.annotation = None
    ast.fix_missing_locations(outline.tree)


def _functions(outline: Outline) -> list[Function]:
    """All functions but those of ours that draw random numbers, whose annotations say all."""
    return [
        function
        for function in outline.all_functions()
        if not (function.owner and function.owner.base is None and function.node.name in DRAWS)
    ]


def _refuse_misspelt_hooks(outline: Outline) -> None:
    """Refuse a method that nothing calls and whose name is nearly that of a hook."""
    called = {
        node.func.attr
        for node in ast.walk(outline.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    for of_class in outline.classes.values():
        if of_class.base is None:
            continue
        for name, method in of_class.methods.items():
            hooks = HOOKS[of_class.root.name]
            near = get_close_matches(name.lower(), hooks, n=1, cutoff=_NEAR)
            if near and name not in hooks and name not in called:
                text = f"nothing calls {of_class.name}.{name}, did you mean {near[0]!r}?"
                raise at(outline.file, method.node, text)
