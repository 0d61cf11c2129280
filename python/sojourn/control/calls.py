"""Calls: of methods, of functions of the file, and of those that Python and we offer."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from sojourn._internal.errors import InputError, did_you_mean
from sojourn.control.expressions import Expressions, Typed, cast
from sojourn.control.signatures import Signature
from sojourn.control.vocabulary import (
    BUILTINS,
    MATH,
    OURS,
    TWO_ARGUMENTS,
    Kind,
    instead_of,
)

_CASTS = {"int": Kind.INT, "float": Kind.FLOAT, "bool": Kind.BOOL}
_FEWEST_OF_MAX = 2


class Calls(Expressions):
    """The walk over the expressions of one function, with its calls."""

    def call(self, node: ast.Call) -> Typed:
        """A call.

        Raises:
            InputError: there is no such function, or it takes other arguments.
        """
        if node.keywords:
            raise self._refused(node, "name no arguments in a call: give them in their order")
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self._refused(node, "a * is refused here: write each argument")
        match node.func:
            case ast.Name(id=name):
                return self._named(node, node.func, name)
            case ast.Attribute(value=ast.Name(id="self")):
                return self._method(node, node.func.attr)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")) as inner):
                return self._super(node, node.func.attr, inner)
            case ast.Attribute(value=ast.Name(id="math"), attr=name):
                if "math" not in self.scope.outline.imported:
                    raise self._refused(node, "unknown name 'math': import math")
                return self._of_math(node, name)
        name = ast.unparse(node.func)
        raise self._refused(node, f"{name!r} cannot be called here{instead_of(name)}")

    def _named(self, node: ast.Call, func: ast.Name, name: str) -> Typed:
        outline = self.scope.outline
        if name in self.scope.variables:
            raise self._refused(node, f"{name!r} is a number here, and cannot be called")
        if name in outline.functions:
            signature = self.scope.kinds.signatures[outline.functions[name]]
            return self._known(node, signature)
        if name in BUILTINS:
            return self._builtin(node, name)
        if outline.imported.get(name) == "math":
            return self._of_math(node, name)
        if name in OURS and name in outline.imported:
            many = 2 if name in TWO_ARGUMENTS else 1
            arguments = [cast(each, Kind.FLOAT) for each in self._arguments(node, name, many)]
            return self._made(node, func, arguments, Kind.FLOAT)
        raise self._no_function(node, name)

    def _no_function(self, node: ast.Call, name: str) -> InputError:
        outline = self.scope.outline
        if name in OURS or name == "pow":
            ours = "power" if name == "pow" else name
            text = f"{name!r} is not here: from sojourn.control import {ours}"
            return self._refused(node, text)
        if name in MATH:
            return self._refused(node, f"{name!r} is not imported: from math import {name}")
        if name in outline.classes:
            return self._refused(node, f"{name!r} is a class: a hook makes no objects")
        owner = self.scope.function.owner
        if owner and owner.method(name):
            return self._refused(node, f"unknown function {name!r}: write self.{name}(...)")
        names = [*outline.functions, *BUILTINS]
        hint = instead_of(name) or did_you_mean(name, names)
        return self._refused(node, f"unknown function {name!r}{hint}")

    def _method(self, node: ast.Call, name: str) -> Typed:
        owner = self.scope.function.owner
        if owner is None:
            raise self._refused(node, "a function of the module has no self: write a method")
        found = owner.method(name)
        if found is None:
            if name in self.scope.fields:
                raise self._refused(node, f"{name!r} is a field of {owner.name}: no call")
            hint = did_you_mean(name, owner.known_methods())
            raise self._refused(node, f"{owner.name} has no method {name!r}{hint}")
        return self._known(node, self.scope.kinds.signatures[found])

    def _super(self, node: ast.Call, name: str, inner: ast.Call) -> Typed:
        owner = self.scope.function.owner
        if owner is None or owner.base is None or inner.args or inner.keywords:
            raise self._refused(node, "write super() in a method, without arguments")
        found = owner.base.method(name)
        if found is None:
            hint = did_you_mean(name, owner.base.known_methods())
            raise self._refused(node, f"{owner.base.name} has no method {name!r}{hint}")
        return self._known(node, self.scope.kinds.signatures[found])

    def _known(self, node: ast.Call, signature: Signature) -> Typed:
        """A call of a function whose signature is known."""
        if len(node.args) != len(signature.names):
            names = f" ({', '.join(signature.names)})" if signature.names else ""
            text = f"{signature.title} takes {_arguments(len(signature.names))}{names}"
            raise self._refused(node, f"{text}, here are {len(node.args)}")
        arguments = []
        for number, argument in enumerate(node.args):
            typed = self.value(argument)
            if typed.kind is Kind.NOTHING:
                raise self._refused(argument, f"{ast.unparse(argument)} gives no value")
            self.scope.kinds.widen_argument(signature, number, typed.kind, argument)
            wanted = signature.arguments[number]
            is_number = typed.kind <= Kind.FLOAT
            arguments.append(cast(typed, wanted) if is_number else typed.node)
        return self._made(node, node.func, arguments, signature.result)

    # Python's functions, those of `math`, and ours

    def _builtin(self, node: ast.Call, name: str) -> Typed:
        if name == "print":
            return self._print(node)
        if name == "range":
            raise self._refused(node, "range belongs in a for: for i in range(n)")
        if name in ("min", "max"):
            if len(node.args) < _FEWEST_OF_MAX:
                raise self._refused(node, f"{name} takes two numbers or more")
            nodes, kind = self.unified([self.number(argument) for argument in node.args])
            return self._made(node, node.func, nodes, kind)
        (only,) = self._arguments(node, name, 1)
        if name in _CASTS:
            return self._made(node, node.func, [only.node], _CASTS[name])
        only = self._as_number(only)
        kind = only.kind
        if name == "round" and kind is Kind.FLOAT:
            kind = Kind.INT
        return self._made(node, node.func, [only.node], kind)

    def _print(self, node: ast.Call) -> Typed:
        arguments: list[ast.expr] = []
        for argument in node.args:
            is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            arguments.append(argument if is_text else self.number(argument).node)
        return self._made(node, node.func, arguments, Kind.NOTHING)

    def _of_math(self, node: ast.Call, name: str) -> Typed:
        if name not in MATH:
            raise self._refused(node, f"math.{name} is refused{_instead_of_math(name)}")
        many = 2 if name in TWO_ARGUMENTS else 1
        arguments = self._arguments(node, f"math.{name}", many)
        if MATH[name] is Kind.INT and arguments[0].kind in (Kind.BOOL, Kind.INT):
            return Typed(cast(arguments[0], Kind.INT), Kind.INT)  # it is whole already
        nodes = [cast(each, Kind.FLOAT) for each in arguments]
        return self._made(node, node.func, nodes, MATH[name])

    def _arguments(self, node: ast.Call, name: str, many: int) -> list[Typed]:
        if len(node.args) != many:
            raise self._refused(node, f"{name} takes {_arguments(many)}, here are {len(node.args)}")
        return [self.number(argument) for argument in node.args]

    def _made(
        self, node: ast.Call, func: ast.expr, arguments: Sequence[ast.expr], kind: Kind
    ) -> Typed:
        return Typed(ast.copy_location(ast.Call(func, [*arguments], []), node), kind)


def _arguments(many: int) -> str:
    words = {0: "no arguments", 1: "1 argument"}
    return words.get(many, f"{many} arguments")


def _instead_of_math(name: str) -> str:
    ours = "power" if name == "pow" else name
    if ours in OURS:
        return f", its last digit differs between machines: from sojourn.control import {ours}"
    exact = f": exact are {', '.join(MATH)}"
    return exact if hasattr(math, name) else did_you_mean(name, MATH, otherwise=exact)
