"""What a user's file may name, and the kinds of its values."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from enum import IntEnum

from sojourn._internal.errors import InputError, one_line
from sojourn.control import fields, queues
from sojourn.control.congestion import Ack, Flow
from sojourn.control.machine import records
from sojourn.control.queues import Packet


class Kind(IntEnum):
    """What a value is; of two numbers, the greater kind holds both."""

    UNKNOWN = 0
    BOOL = 1
    INT = 2
    FLOAT = 3
    ACK = 4
    FLOW = 5
    PACKET = 6
    NOTHING = 7

    @property
    def words(self) -> str:
        """As it stands in a message."""
        return _WORDS[self]


_WORDS = {
    Kind.UNKNOWN: "an unknown value",
    Kind.BOOL: "a truth value",
    Kind.INT: "a whole number",
    Kind.FLOAT: "a float",
    Kind.ACK: "an Ack",
    Kind.FLOW: "a Flow",
    Kind.PACKET: "a Packet",
    Kind.NOTHING: "no value",
}

OF_TYPE: Mapping[type, Kind] = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT}

OF_FIELD: Mapping[str, Kind] = {
    name: OF_TYPE[python_type] for name, python_type in fields.PYTHON_TYPES.items()
}
"""The kind of a field by its type."""

OF_ANNOTATION: Mapping[str, Kind] = {
    **{name: OF_FIELD[type_name] for name, type_name in fields.ANNOTATIONS.items()},
    "Ack": Kind.ACK,
    "Flow": Kind.FLOW,
    "Packet": Kind.PACKET,
}
"""The kind of an argument by its annotation."""

ATTRIBUTES: Mapping[Kind, Mapping[str, Kind]] = {
    Kind.ACK: {name: OF_TYPE[found] for name, found in Ack.__annotations__.items()},
    Kind.FLOW: {name: OF_TYPE[found] for name, found in Flow.__annotations__.items()},
    Kind.PACKET: {name: OF_TYPE[found] for name, found in Packet.__annotations__.items()},
}
"""What can be read of an Ack, a Flow and a Packet."""

HOOKS: Mapping[str, tuple[str, ...]] = {base: tuple(hooks) for base, hooks in records.HOOKS.items()}
"""The classes that those of users are derived from, and the hooks of each."""

DRAWS: Mapping[str, str] = {"uniform": "draw_uniform", "below": "draw_below"}
"""Methods of Queue that draw random numbers, and the functions of the engine that they call."""

READ_ONLY = "abc_limit"

SHARED = ("cwnd", "ssthresh", "timer")
"""Fields of a Control that the engine reads after each hook."""

MATH: Mapping[str, Kind] = {
    **dict.fromkeys(("sqrt", "fabs", "copysign"), Kind.FLOAT),
    **dict.fromkeys(("floor", "ceil", "trunc"), Kind.INT),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), Kind.BOOL),
}
"""The exact functions of `math`, and what each gives."""

MATH_CONSTANTS: Mapping[str, float] = {"inf": math.inf, "pi": math.pi, "e": math.e}

OURS = ("cbrt", "exp", "log", "power")
"""Functions of `sojourn.control`: floats in, a float out."""

TWO_ARGUMENTS = ("copysign", "power")

CONSTANTS: Mapping[str, int] = {
    **{name: getattr(fields, name) for name in ("ps", "ns", "us", "ms", "s")},
    **{name: getattr(queues, name) for name in ("KEEP", "MARK", "DROP")},
}
"""Constants of `sojourn.control`: units of time, and what a queue decides."""

BUILTINS = ("abs", "bool", "float", "int", "max", "min", "print", "range", "round")

RESERVED = frozenset((*BUILTINS, *DRAWS.values(), "math", "self", "super"))
"""Names that keep their meaning in a file."""

OFFERED = (*HOOKS, *OF_ANNOTATION.keys() - {"float", "int", "bool"}, *OURS, *CONSTANTS)
"""What can be imported from `sojourn.control`."""

ERRORS = frozenset(
    error.__name__
    for error in (
        *(ArithmeticError, AssertionError, Exception, IndexError, KeyError, LookupError),
        *(NotImplementedError, OverflowError, RuntimeError, TypeError, ValueError),
        ZeroDivisionError,
    )
)
"""Exceptions that can be raised."""


def at(file: str, where: ast.AST | int, text: str) -> InputError:
    """The error of one place in a file: `my_cc.py:14: ...`."""
    line = where if isinstance(where, int) else getattr(where, "lineno", 1)
    return InputError(one_line(f"{file}:{line}: {text}"))


def instead_of(name: str) -> str:
    """What to use in place of a module or of a function of one."""
    head = name.split(".", maxsplit=1)[0]
    for names, text in _INSTEAD.items():
        if head in names:
            return f"; {text}"
    return ""


_INSTEAD: Mapping[tuple[str, ...], str] = {
    ("numpy", "np", "scipy", "cmath", "numba"): "write it with math and sojourn.control",
    (
        "random",
        "secrets",
    ): "a run that draws numbers cannot be repeated; a Queue has self.uniform()",
    ("time", "datetime"): "the time is ack.now or packet.now, in picoseconds",
    ("os", "sys", "io", "pathlib", "open"): "a class here reads and writes nothing",
    ("pow", "cbrt", "exp", "log"): "sojourn.control has cbrt, power, exp and log",
}
