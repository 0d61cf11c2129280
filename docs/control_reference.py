"""The reference page of `sojourn.control`, of its docstrings; `reference.py` writes it."""

import ast
import inspect
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sojourn import control
from sojourn.control import congestion, fields, queues, vocabulary

HEAD = """# Controllers, in full

What classes of `sojourn.control` have. [Controllers](../control.md) says how they are used, and
what of Python there is.
"""

TYPES = {
    "float": "A number; whole ones are taken too.",
    "int": "A whole number of at most 64 bits.",
    "bool": "True or False, in a study `true` or `false`.",
}
UNITS = ("ps", "ns", "us", "ms", "s")


def page() -> str:
    """The whole page, in Markdown."""
    lines = [
        HEAD,
        "## Control",
        f"\n{_doc(_class('Control'))}",
        "\nFields that every flow has:",
        *_table("field", "type", rows=_fields(_class("Control"))),
        *_hooks_and_methods("Control"),
        *_fields_of("Ack"),
        *_fields_of("Flow"),
        "\n## Queue",
        f"\n{_doc(_class('Queue'))}",
        *_hooks_and_methods("Queue"),
        *_fields_of("Packet"),
        "\n## Types of fields",
        *_table("type", rows=_types()),
        "\n## Units of time",
        *_table("name", rows=((f"`{n}`", f"{getattr(fields, n):,} ps") for n in UNITS)),
        "\n## Mathematics of `sojourn.control`",
        *_table("function", rows=map(_function, vocabulary.OURS)),
    ]
    return "\n".join(lines) + "\n"


def _class(name: str) -> ast.ClassDef:
    """A class of `sojourn.control`, as it is written."""
    trees = (ast.parse(inspect.getsource(module)) for module in (congestion, queues))
    nodes = (node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    return next(node for node in nodes if node.name == name)


def _hooks_and_methods(name: str) -> Iterator[str]:
    """The tables of what a class may have, and of what it may call."""
    methods = _methods(_class(name))
    hooks = [method for method in methods if method.name in vocabulary.HOOKS[name]]
    yield from _table("hook", rows=map(_method, hooks))
    yield "\nMethods to call:"
    yield from _table("method", rows=(_method(method) for method in methods if method not in hooks))


def _fields_of(name: str) -> Iterator[str]:
    """A section on what a hook is told."""
    yield from (f"\n## {name}", f"\n{_doc(_class(name))}")
    yield from _table("field", "type", rows=_fields(_class(name)))


def _fields(of_class: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of each field that has one."""
    for node, after in pairwise(of_class.body):
        if isinstance(node, ast.AnnAssign):
            yield f"`{ast.unparse(node.target)}`", ast.unparse(node.annotation), _text(after)


def _methods(of_class: ast.ClassDef) -> list[ast.FunctionDef]:
    found = [node for node in of_class.body if isinstance(node, ast.FunctionDef)]
    return [method for method in found if not method.name.startswith("_")]


def _method(node: ast.FunctionDef) -> tuple[str, str]:
    """How it is called, and its description without the sections."""
    arguments = [argument for argument in node.args.args if argument.arg != "self"]
    shown = ", ".join(ast.unparse(argument) for argument in arguments)
    gives = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"`{node.name}({shown}){gives}`", _doc(node)


def _function(name: str) -> tuple[str, str]:
    function = getattr(control, name)
    arguments = ", ".join(inspect.signature(function).parameters)
    return f"`{name}({arguments})`", " ".join((inspect.getdoc(function) or "").split())


def _doc(node: ast.FunctionDef | ast.ClassDef) -> str:
    doc = ast.get_docstring(node) or ""
    return " ".join(doc.replace("\nArgs:\n", "\n").split())


def _types() -> Iterator[tuple[str, str]]:
    yield from ((f"`{name}`", doc) for name, doc in TYPES.items())
    body = ast.parse(inspect.getsource(fields)).body
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in vocabulary.OFFERED:
            yield f"`{ast.unparse(node.targets[0])}`", _text(after)


def _text(node: ast.stmt) -> str:
    """A text that stands alone, or nothing."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split())
    return ""


def _table(*heads: str, rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [[*heads, "what it is"], ["---"] * (len(heads) + 1), *rows]
    return ["", *(f"| {' | '.join(cell for cell in line)} |" for line in lines)]
