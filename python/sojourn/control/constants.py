"""The values of constant expressions: what a module's constants and the defaults of fields are."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from sojourn._internal.errors import InputError, did_you_mean
from sojourn.control.vocabulary import MATH_CONSTANTS, at

Number = float | int | bool

_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_CASTS: Mapping[str, Callable[[Number], Number]] = {"float": float, "int": int, "bool": bool}

BITS = 63
"""Of a whole number, without its sign: what compiled code has."""

EXPECTED = "expected a constant: numbers, units, + - * / // % and names of constants above"


class Constants:
    """Evaluates the constant expressions of one file.

    Args:
        file: its name, for messages.
        known: the constants defined so far; the caller adds to it.

    Attributes:
        has_math: whether `math` has been imported.
    """

    def __init__(self, file: str, known: Mapping[str, Number]) -> None:
        self._file = file
        self._known = known
        self.has_math = False

    def value(self, node: ast.expr) -> Number:
        """The value of an expression.

        Raises:
            InputError: it is no constant, or has no value.
        """
        try:
            found = self._value(node)
        except InputError:
            raise
        except (ArithmeticError, ValueError) as error:
            raise at(self._file, node, f"no value: {error}") from None
        if isinstance(found, float) and math.isnan(found):
            raise at(self._file, node, "the value is not a number (nan)")
        return found

    def _value(self, node: ast.expr) -> Number:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self._bounded(node, value)
            case ast.Constant(value=str()):
                text = f"{ast.unparse(node)} is a text, expected a number without quotes"
                raise at(self._file, node, text)
            case ast.Name(id=name):
                if name in self._known:
                    return self._known[name]
                hint = did_you_mean(name, self._known, otherwise=f": {EXPECTED}")
                raise at(self._file, node, f"unknown constant {name!r}{hint}")
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if self.has_math:
                if name in MATH_CONSTANTS:
                    return MATH_CONSTANTS[name]
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return self._bounded(node, _UNARY[type(op)](self._value(operand)))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                found = _BINARY[type(op)](self._value(left), self._value(right))
                return self._bounded(node, found)
            case ast.Call(func=ast.Name(id=name), args=[operand], keywords=[]) if name in _CASTS:
                return self._bounded(node, _CASTS[name](self._value(operand)))
        raise at(self._file, node, EXPECTED)

    def _bounded(self, node: ast.expr, value: Number) -> Number:
        if isinstance(value, int) and value.bit_length() > BITS:
            raise at(self._file, node, "the whole number is beyond 64 bits")
        return value
