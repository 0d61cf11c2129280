"""Arithmetic of whole numbers of 64 bits: what a method's operators become before it is compiled.

Whole numbers of plain Python grow without a limit; those of a machine wrap. So `rewriting` replaces
each operator and number function by a call of a function below, which does what plain Python does,
and raises OverflowError where a whole number leaves 64 bits. `instructions` has what Numba makes of
these calls. Plain Python runs the functions as they stand here: that is how the traceback of a
failed call is found (`compiling.explain`).
"""

import ast
import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

Operation = Callable[..., Any]

LIMIT = 2**63
BEYOND = "a whole number beyond 64 bits"


def _bounded(operation: Operation) -> Operation:
    """The operation, with an OverflowError where its result is a whole number beyond 64 bits."""

    @functools.wraps(operation)
    def bounded(*values: Any) -> Any:
        result = operation(*values)
        if isinstance(result, int) and not -LIMIT <= result < LIMIT:
            raise OverflowError(BEYOND)
        return result

    return bounded


def _left_shift(value: int, count: int) -> int:
    """`value << count`, without the memory that a huge count would take."""
    return value << min(count, 64)


def _copy(operation: Operation) -> Operation:
    """The operation as a function that Numba does not know yet."""

    def copied(*values: Any) -> Any:
        return operation(*values)

    return copied


BINARY: Mapping[type[ast.operator], Operation] = {
    ast.Add: _bounded(operator.add),
    ast.Sub: _bounded(operator.sub),
    ast.Mult: _bounded(operator.mul),
    ast.Div: _copy(operator.truediv),
    ast.FloorDiv: _bounded(operator.floordiv),
    ast.Mod: _copy(operator.mod),
    ast.LShift: _bounded(_left_shift),
    ast.RShift: _copy(operator.rshift),
    ast.BitAnd: _copy(operator.and_),
    ast.BitOr: _copy(operator.or_),
    ast.BitXor: _copy(operator.xor),
}
UNARY: Mapping[type[ast.unaryop], Operation] = {
    ast.USub: _bounded(operator.neg),
    ast.UAdd: _copy(operator.pos),
    ast.Invert: _copy(operator.invert),
}
COMPARISONS: Mapping[type[ast.cmpop], Operation] = {
    ast.Lt: _copy(operator.lt),
    ast.LtE: _copy(operator.le),
    ast.Gt: _copy(operator.gt),
    ast.GtE: _copy(operator.ge),
    ast.Eq: _copy(operator.eq),
    ast.NotEq: _copy(operator.ne),
}
BUILTINS: Mapping[str, Operation] = {
    "int": _bounded(int),
    "round": _bounded(round),
    "abs": _bounded(abs),
    "min": _copy(min),
    "max": _copy(max),
}
MATH: Mapping[str, Operation] = {
    "floor": _bounded(math.floor),
    "ceil": _bounded(math.ceil),
    "trunc": _bounded(math.trunc),
    "sqrt": _copy(math.sqrt),
    "fabs": _copy(math.fabs),
    "copysign": _copy(math.copysign),
    "isnan": _copy(math.isnan),
    "isinf": _copy(math.isinf),
    "isfinite": _copy(math.isfinite),
}


KEPT: Mapping[str, Operation] = {
    f"keep {kind}": _copy(lambda value: value) for kind in ("float", "int", "bool")
}
"""What a field of each kind is assigned: the value as it is. Numba by itself would convert a value
of another kind in silence."""

PREFIX = "exact "
"""What the global name of an operation begins with. A space: no name in a user's file has one."""

_SIGNS: Mapping[str, str] = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "LShift": "<<",
    "RShift": ">>",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
    "USub": "-",
    "UAdd": "+",
    "Invert": "~",
    "Lt": "<",
    "LtE": "<=",
    "Gt": ">",
    "GtE": ">=",
    "Eq": "==",
    "NotEq": "!=",
}

_OF_NODES = (BINARY, UNARY, COMPARISONS)
_OF_NAMES = (BUILTINS, MATH, KEPT)

NAMES: Mapping[str, Operation] = {
    **{f"{PREFIX}{node.__name__}": do for group in _OF_NODES for node, do in group.items()},
    **{f"{PREFIX}{name}": do for group in _OF_NAMES for name, do in group.items()},
}
"""Each operation by its global name, which ends in the syntax node or function that it is for."""


def written(name: str) -> str:
    """An operation as its user wrote it: `+` or `round()`, of its global name."""
    short = name.removeprefix(PREFIX)
    if short.startswith("keep "):
        return f"assignment to a field of type {short.removeprefix('keep ')}"
    return _SIGNS.get(short, f"{short}()")
