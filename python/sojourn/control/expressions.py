"""Expressions: their kinds, and what is written where whole numbers meet floats.

Python compares a whole number with a float exactly, and divides two whole numbers exactly;
compiled code makes floats of them first. So `float(...)` is written there, for both.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sojourn._internal.errors import InputError, did_you_mean
from sojourn.control.constants import BITS, Number
from sojourn.control.outline import Function, Outline
from sojourn.control.signatures import Kinds, Signature
from sojourn.control.vocabulary import (
    ATTRIBUTES,
    MATH_CONSTANTS,
    OF_ANNOTATION,
    OF_FIELD,
    OF_TYPE,
    Kind,
    at,
)

_POWER = "write x * x, or power(x, y) of sojourn.control"
_KEEP_NUMBERS = "keep numbers in fields"

_REFUSED: dict[type[ast.AST], str] = {
    ast.List: f"a list cannot be compiled: {_KEEP_NUMBERS}",
    ast.Dict: f"a dict cannot be compiled: {_KEEP_NUMBERS}",
    ast.Set: f"a set cannot be compiled: {_KEEP_NUMBERS}",
    ast.Tuple: f"a tuple is not a value here: {_KEEP_NUMBERS}",
    ast.ListComp: "a comprehension cannot be compiled: write a loop over range",
    ast.SetComp: "a comprehension cannot be compiled: write a loop over range",
    ast.DictComp: "a comprehension cannot be compiled: write a loop over range",
    ast.GeneratorExp: "a generator cannot be compiled: write a loop over range",
    ast.Lambda: "a lambda cannot be compiled: write a function with def",
    ast.JoinedStr: "a text is not a value here: print takes numbers and constant texts",
    ast.NamedExpr: "':=' is refused: assign on a line before",
    ast.Await: "await cannot be compiled: leave it out",
    ast.Yield: "yield cannot be compiled: return a number",
    ast.YieldFrom: "yield cannot be compiled: return a number",
    ast.Subscript: f"there is nothing to index here: {_KEEP_NUMBERS}",
    ast.Starred: "a * is refused here: write each argument",
}
_WHOLE_ONLY = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_BITWISE = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "!="}


class Typed(NamedTuple):
    """An expression, as it is to be run, its kind, and its value where that is constant."""

    node: ast.expr
    kind: Kind
    constant: Number | None = None


def cast(typed: Typed, kind: Kind) -> ast.expr:
    """An expression made a number of a wider kind."""
    node = typed.node
    if typed.kind is kind or Kind.UNKNOWN in (typed.kind, kind):
        return node
    wider = float if kind is Kind.FLOAT else int
    if typed.constant is not None:
        return ast.copy_location(ast.Constant(wider(typed.constant)), node)
    name = ast.copy_location(ast.Name(wider.__name__, ast.Load()), node)
    return ast.copy_location(ast.Call(name, [node], []), node)


class Scope:
    """One function: its names, and which of its variables have a value where the walk is."""

    def __init__(self, outline: Outline, kinds: Kinds, function: Function) -> None:
        self.outline = outline
        self.kinds = kinds
        self.function = function
        self.assigned: frozenset[str] | None = frozenset(function.arguments)
        """None where no run comes by."""
        self.variables = set(function.arguments) | {
            node.id
            for node in ast.walk(function.node)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.hidden = self.variables | {*outline.functions, *outline.constants, *outline.classes}
        """Names that here mean what the file says, whatever they are in Python."""
        self.fields = function.owner.known_fields() if function.owner else {}

    @property
    def signature(self) -> Signature:
        """That of the function."""
        return self.kinds.signatures[self.function]

    def refused(self, where: ast.AST, text: str) -> InputError:
        """The error of a place in this file."""
        return at(self.outline.file, where, text)

    def unknown(self, node: ast.Name) -> InputError:
        """The error of a name that is none."""
        if node.id in self.fields:
            return self.refused(node, f"unknown name {node.id!r}: write self.{node.id}")
        if node.id == "math":
            return self.refused(node, "unknown name 'math': import math")
        names = [*self.variables, *self.outline.constants, *self.outline.functions]
        hint = did_you_mean(node.id, names, otherwise="")
        return self.refused(node, f"unknown name {node.id!r}{hint}")

    def field_kind(self, node: ast.Attribute) -> Kind:
        """The kind of `self.name`."""
        owner = self.function.owner
        if owner is None:
            raise self.refused(node, "a function of the module has no self: write a method")
        if node.attr in self.fields:
            return OF_FIELD[self.fields[node.attr].type]
        if owner.method(node.attr):
            raise self.refused(node, f"{node.attr!r} is a method of {owner.name}: call it")
        hint = did_you_mean(node.attr, self.fields)
        raise self.refused(node, f"{owner.name} has no field {node.attr!r}{hint}")


class Expressions(ABC):
    """The walk over the expressions of one function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._refused = scope.refused

    @abstractmethod
    def call(self, node: ast.Call) -> Typed:
        """A call; `calls.py` knows them."""

    def number(self, node: ast.expr) -> Typed:
        """An expression that has to be a number.

        Raises:
            InputError: it is refused, or is none.
        """
        found = self.value(node)
        if found.kind is Kind.NOTHING:
            raise self._refused(node, f"{ast.unparse(node)} gives no value")
        if found.kind > Kind.FLOAT:
            text = f"{found.kind.words} is no number: name one of its fields"
            raise self._refused(node, text)
        return found

    def value(self, node: ast.expr) -> Typed:
        """Any expression.

        Raises:
            InputError: it is refused.
        """
        walks: dict[type[ast.AST], Callable[[Any], Typed]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.BoolOp: self._either,
            ast.Compare: self._compare,
            ast.IfExp: self._if_else,
            ast.Call: self.call,
        }
        walk = walks.get(type(node))
        if walk is None:
            raise self._refused(node, _REFUSED.get(type(node), "this is no number"))
        return walk(node)

    def test(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth is asked: its parts need not be of one kind."""
        match node:
            case ast.BoolOp(op=op, values=values):
                tests = [self.test(value) for value in values]
                return ast.copy_location(ast.BoolOp(op, tests), node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ast.copy_location(ast.UnaryOp(ast.Not(), self.test(operand)), node)
        return self.number(node).node

    def unified(self, values: Sequence[Typed]) -> tuple[list[ast.expr], Kind]:
        """Numbers as the widest kind among them; unknown while one of them is."""
        kinds = [value.kind for value in values]
        kind = Kind.UNKNOWN if Kind.UNKNOWN in kinds else max(kinds)
        return [cast(value, kind) for value in values], kind

    def binary(
        self, node: ast.AST, left: Typed, op: ast.operator, right_node: ast.expr
    ) -> tuple[ast.expr, ast.expr, Kind]:
        """The two sides of an arithmetic operation, and the kind of its value."""
        if isinstance(op, ast.Pow | ast.MatMult):
            sign = "**" if isinstance(op, ast.Pow) else "@"
            raise self._refused(node, f"{sign} gives other digits when it is compiled: {_POWER}")
        right = self.number(right_node)
        if type(op) in _BITWISE and left.kind is right.kind is Kind.BOOL:
            text = f"bits of two truth values: write {_BITWISE[type(op)]}"
            raise self._refused(node, text)
        left, right = self._as_number(left), self._as_number(right)
        if Kind.UNKNOWN in (left.kind, right.kind):
            return left.node, right.node, Kind.UNKNOWN
        if isinstance(op, _WHOLE_ONLY):
            for side in (left, right):
                if side.kind is Kind.FLOAT:
                    text = "a float has no bits to shift or combine: write int(...)"
                    raise self._refused(side.node, text)
            return left.node, right.node, Kind.INT
        if isinstance(op, ast.Div):
            return cast(left, Kind.FLOAT), cast(right, Kind.FLOAT), Kind.FLOAT
        return left.node, right.node, max(left.kind, right.kind)

    def _binary(self, node: ast.BinOp) -> Typed:
        left, right, kind = self.binary(node, self.number(node.left), node.op, node.right)
        return _like(node, ast.BinOp(left, node.op, right), kind)

    def _either(self, node: ast.BoolOp) -> Typed:
        nodes, kind = self.unified([self.number(value) for value in node.values])
        return _like(node, ast.BoolOp(node.op, nodes), kind)

    def _if_else(self, node: ast.IfExp) -> Typed:
        test = self.test(node.test)
        sides = [self.number(node.body), self.number(node.orelse)]
        (body, orelse), kind = self.unified(sides)
        return _like(node, ast.IfExp(test, body, orelse), kind)

    def _as_number(self, typed: Typed) -> Typed:
        """A truth value as a whole number, as Python counts with it."""
        if typed.kind is Kind.BOOL:
            return Typed(cast(typed, Kind.INT), Kind.INT)
        return typed

    def _constant(self, node: ast.Constant) -> Typed:
        value = node.value
        if isinstance(value, str | bytes):
            raise self._refused(node, "a text is not a value here: use numbers")
        if value is None:
            raise self._refused(node, "None is not a value here: use -1, or a field of type bool")
        if not isinstance(value, bool | int | float):
            raise self._refused(node, f"{value!r} is no number here")
        if isinstance(value, int) and value.bit_length() > BITS:
            raise self._refused(node, "the whole number is beyond 64 bits")
        return Typed(node, OF_TYPE[type(value)], value)

    def _name(self, node: ast.Name) -> Typed:
        scope, name = self.scope, node.id
        if name in scope.variables:
            if scope.assigned is not None and name not in scope.assigned:
                raise self._refused(node, f"{name!r} may have no value here: assign it before")
            return Typed(node, scope.kinds.variable(scope.function, name))
        if name in scope.outline.constants:
            value = scope.outline.constants[name]
            return Typed(node, OF_TYPE[type(value)], value)
        if name == "self":
            raise self._refused(
                node, "self is only allowed before a field or a method: write self.name"
            )
        if name in scope.outline.functions or name in scope.outline.imported:
            is_type = name in scope.outline.classes or name in OF_ANNOTATION
            raise self._refused(node, f"{name!r} is no number{'' if is_type else ': call it'}")
        raise scope.unknown(node)

    def _attribute(self, node: ast.Attribute) -> Typed:
        if not isinstance(node.value, ast.Name):
            raise self._refused(node, "write fields as self.name, ack.name or flow.name")
        of, name = node.value.id, node.attr
        if of == "self":
            return Typed(node, self.scope.field_kind(node))
        if of == "math" and of in self.scope.outline.imported:
            if name in MATH_CONSTANTS:
                return Typed(node, Kind.FLOAT)
            hint = did_you_mean(name, MATH_CONSTANTS)
            raise self._refused(node, f"math has no exact constant {name!r}{hint}")
        kind = self._name(node.value).kind
        if kind is Kind.UNKNOWN:
            return Typed(node, kind)
        if kind not in ATTRIBUTES:
            raise self._refused(node, f"{of!r} is {kind.words}, which has no {name!r}")
        if name not in ATTRIBUTES[kind]:
            hint = did_you_mean(name, ATTRIBUTES[kind])
            raise self._refused(node, f"{kind.words} has no field {name!r}{hint}")
        return Typed(node, ATTRIBUTES[kind][name])

    def _unary(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return Typed(self.test(node), Kind.BOOL)
        operand = self._as_number(self.number(node.operand))
        if isinstance(node.op, ast.Invert) and operand.kind is Kind.FLOAT:
            raise self._refused(node, "a float has no bits to turn: write int(...)")
        return _like(node, ast.UnaryOp(node.op, operand.node), operand.kind)

    def _compare(self, node: ast.Compare) -> Typed:
        for op in node.ops:
            if isinstance(op, ast.Is | ast.IsNot):
                raise self._refused(node, "'is' compares no numbers: write == or !=")
            if isinstance(op, ast.In | ast.NotIn):
                raise self._refused(node, "'in' has nothing to look through: compare with ==")
        for middle in node.comparators[:-1]:
            self._refuse_calls(middle)
        sides = [self.number(side) for side in (node.left, *node.comparators)]
        (left, *others), _ = self.unified(sides)
        return _like(node, ast.Compare(left, node.ops, others), Kind.BOOL)

    def _refuse_calls(self, middle: ast.expr) -> None:
        """Refuse calls of the file's functions in b of `a < b < c`, which is compiled twice."""
        for part in ast.walk(middle):
            match part:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="math"))):
                    continue
                case ast.Call(func=ast.Name(id=name)) if name not in self.scope.outline.functions:
                    continue
                case ast.Call():
                    text = "a call in the middle of a chained comparison: give it a name before"
                    raise self._refused(part, text)


def _like(old: ast.expr, new: ast.expr, kind: Kind) -> Typed:
    return Typed(ast.copy_location(new, old), kind)
