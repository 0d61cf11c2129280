"""A class's methods as plain functions, for what knows no classes."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field

from sojourn.control.outline import Class, Function, Outline, class_of_ours
from sojourn.control.vocabulary import HOOKS, MATH_CONSTANTS, at


@dataclass
class Flat:
    """The functions that a class's hooks reach.

    Attributes:
        functions: by name, callees before those that call them.
        entry: for each hook in which the file has a part, the name of its function.
        lines: where the file defines these hooks; without those that it has a part in by a helper.
        names: what the functions name of the module: constants and imported functions.
    """

    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    entry: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)


def flatten(outline: Outline, of_class: Class) -> Flat:
    """The functions of a class, each `self.reduce(x)` become `Gentle_reduce(self, x)`.

    Raises:
        InputError: a function calls itself, directly or by others.
    """
    looking = _Flattening(outline, of_class)
    hooks = [hook for hook in HOOKS[of_class.root.name] if looking.is_own(looking.method(hook))]
    flattening = _Flattening(outline, of_class)
    entry = {hook: flattening.reach(flattening.method(hook)) for hook in hooks}
    methods = {hook: flattening.method(hook) for hook in hooks}
    lines = {
        hook: method.node.lineno
        for hook, method in methods.items()
        if method.owner and method.owner.base
    }
    return Flat(flattening.done, entry, lines, flattening.names)


def refuse_recursion(outline: Outline) -> None:
    """Refuse functions that call themselves, in each class of the file.

    Raises:
        InputError: there is one.
    """
    for of_class in [*outline.classes.values()] or [class_of_ours("Control")]:
        flattening = _Flattening(outline, of_class)
        for name in of_class.known_methods():
            flattening.reach(flattening.method(name))
        for function in outline.functions.values():
            flattening.reach(function)


class _Flattening:
    def __init__(self, outline: Outline, of_class: Class) -> None:
        self._outline = outline
        self._class = of_class
        self._open: list[Function] = []
        self._names: dict[Function, str] = {}
        # A method's new name is none that the file uses.
        self._taken = {node.id for node in ast.walk(outline.tree) if isinstance(node, ast.Name)}
        self._taken |= set(outline.functions)
        self._own: dict[Function, bool] = {}
        self.names: set[str] = set()
        self.done: dict[str, ast.FunctionDef] = {}

    def method(self, name: str) -> Function:
        found = self._class.method(name)
        if found is None:
            raise LookupError(name)
        return found

    def is_own(self, function: Function) -> bool:
        """Whether the file has a part in what `function` does."""
        self.reach(function)
        return self._own[function]

    def reach(self, function: Function, call: ast.AST | None = None) -> str:
        """Flatten a function and all that it calls; the name that it gets."""
        if function in self._names:
            return self._names[function]
        if function in self._open:
            text = f"{function.title} calls itself, directly or by others: write a loop"
            raise at(self._outline.file, call or function.node, text)
        self._open.append(function)
        self._own[function] = function.owner is None or function.owner.base is not None
        node = _Rewriting(self, function).visit(_bare(function.node))
        self._open.pop()
        name = function.title.replace(".", "_")
        while function.owner and name in self._taken:
            name += "_"
        self._taken.add(name)
        self._names[function] = node.name = name
        self.done[name] = ast.fix_missing_locations(node)
        return name

    def called(self, function: Function, callee: Function, call: ast.AST) -> ast.expr:
        """The name of a function that another calls."""
        name = self.reach(callee, call)
        self._own[function] |= self._own[callee]
        return ast.copy_location(ast.Name(name, ast.Load()), call)

    def super_method(self, function: Function, name: str) -> Function:
        base = function.owner.base if function.owner else None
        found = base.method(name) if base else None
        if found is None:
            raise LookupError(name)
        return found

    def named(self, name: str) -> Function | None:
        return self._outline.functions.get(name)

    def module_of(self, name: str) -> str | None:
        return self._outline.imported.get(name)

    def is_module_name(self, name: str) -> bool:
        return name in self._outline.constants or name in self._outline.imported


class _Rewriting(ast.NodeTransformer):
    """Calls of methods become calls of functions, and names of `math` are written in full."""

    def __init__(self, flattening: _Flattening, function: Function) -> None:
        self._flattening = flattening
        self._function = function
        self._locals = set(function.arguments) | {
            node.id
            for node in ast.walk(function.node)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute):
            callee = self._method(node.func)
            if callee is not None:
                function = self._flattening.called(self._function, callee, node)
                own = ast.copy_location(ast.Name("self", ast.Load()), node)
                arguments = [own, *(self.visit(argument) for argument in node.args)]
                return ast.copy_location(ast.Call(function, arguments, []), node)
        return self.generic_visit(node)

    def _method(self, called: ast.Attribute) -> Function | None:
        if isinstance(called.value, ast.Name) and called.value.id == "self":
            return self._flattening.method(called.attr)
        if isinstance(called.value, ast.Call):
            return self._flattening.super_method(self._function, called.attr)
        return None

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._locals:
            return node
        function = self._flattening.named(node.id)
        if function is not None:
            return self._flattening.called(self._function, function, node)
        if self._flattening.module_of(node.id) == "math":
            return self._of_math(node, node.id)
        if self._flattening.is_module_name(node.id):
            self._flattening.names.add(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "math":
            return self._of_math(node, node.attr)
        return node

    def _of_math(self, node: ast.expr, name: str) -> ast.AST:
        if name in MATH_CONSTANTS:
            return ast.copy_location(ast.Constant(MATH_CONSTANTS[name]), node)
        module = ast.copy_location(ast.Name("math", ast.Load()), node)
        return ast.copy_location(ast.Attribute(module, name, ast.Load()), node)


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """A copy of a function, without annotations and docstring."""
    bare = copy.deepcopy(function)
    bare.returns = None
    for argument in bare.args.args:
        argument.annotation = None
    if ast.get_docstring(bare, clean=False) is not None:
        bare.body = bare.body[1:] or [ast.copy_location(ast.Pass(), function)]
    return bare
