"""What the operations of `arithmetic` become in machine code; imported where a class is compiled.

Each operation has signatures over three kinds: whole numbers of 64 bits, floats of 64 bits and
truth values. A float operation is the one IEEE 754 instruction, without the freedoms of "fast
math", so that its bits are those of plain Python; what plain Python does beyond the instruction (a
division by zero, a floor) is done as there.
"""

import ast
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.core.typing.templates import Signature
from numba.extending import lower_builtin, type_callable

from sojourn.control.machine import arithmetic, exact
from sojourn.control.machine.arithmetic import (
    BEYOND,
    BINARY,
    BUILTINS,
    COMPARISONS,
    KEPT,
    LIMIT,
    MATH,
    UNARY,
    Operation,
)

Instructions = Callable[[Any, Any, Any, Sequence[Any]], Any]

INT, FLOAT, TRUTH = types.int64, types.float64, types.boolean


# Rules of types


def _takes(wanted: Any, given: Any, mixed: bool) -> bool:
    """Whether a value of a type can stand for another with nothing lost that plain Python keeps."""
    if wanted is TRUTH:
        return isinstance(given, types.Boolean)
    whole = isinstance(given, types.Boolean) or (isinstance(given, types.Integer) and given.signed)
    return whole if wanted is INT else given == FLOAT or (mixed and whole)


def _define(
    operation: Operation, *signatures: tuple[Signature, Instructions], mixed: bool = False
) -> None:
    """Registers an operation with Numba: the first signature that takes the values is used.

    Args:
        operation: a function of `arithmetic`.
        signatures: types, and what writes the instructions.
        mixed: whether a whole number among floats becomes a float, as it does in plain arithmetic.
    """

    def chosen(*given: Any) -> Signature:
        for signature, _ in signatures:
            if all(map(_takes, signature.args, given, repeat(mixed))):
                return signature
        raise TypingError(_refusal(operation, given))

    def typer(_context: Any) -> Callable[..., Signature]:
        # Numba reads the number of values off a function's parameters.
        def of_one(value: Any) -> Signature:
            return chosen(value)

        def of_two(first: Any, second: Any) -> Signature:
            return chosen(first, second)

        return of_one if len(signatures[0][0].args) == 1 else of_two

    type_callable(operation)(typer)
    for signature, instructions in signatures:
        lower_builtin(operation, *signature.args)(instructions)


_WORDS = {TRUTH: "a truth", FLOAT: "a float", types.none: "nothing"}


def _refusal(operation: Operation, given: Sequence[Any]) -> str:
    name = next(name for name, found in arithmetic.NAMES.items() if found is operation)
    kinds = [
        "a whole number" if isinstance(kind, types.Integer) else _WORDS.get(kind, "no number")
        for kind in map(types.unliteral, given)
    ]
    return f"{arithmetic.written(name)} of {' and '.join(kinds)} cannot be compiled"


# Ways to write instructions


def _instruction(name: str) -> Instructions:
    """One instruction of LLVM, by its name in `IRBuilder`."""

    def write(_context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
        return getattr(builder, name)(*values)

    return write


def _intrinsic(builder: Any, name: str, *values: Any) -> Any:
    """One of LLVM's functions over floats, such as `llvm.floor`."""
    real = values[0].type
    signature = ir.FunctionType(real, [real] * len(values))
    return builder.call(builder.module.declare_intrinsic(f"llvm.{name}", [real], signature), values)


def _float_function(name: str) -> Instructions:
    def write(_context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
        return _intrinsic(builder, name, *values)

    return write


def _python(function: Callable[..., Any]) -> Instructions:
    """What Numba makes of a function in Python."""

    def write(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        return context.compile_internal(builder, function, signature, values)

    return write


def _same(_context: Any, _builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
    return values[0]


def _raise_if(
    context: Any, builder: Any, condition: Any, error: type[Exception], text: str
) -> None:
    """Raises an error where `condition` holds."""
    with builder.if_then(condition, likely=False):
        context.call_conv.return_user_exc(builder, error, (text,))


def _bounded(name: str) -> Instructions:
    """An instruction that gives a whole number and whether it has overflowed."""

    def write(context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
        pair = getattr(builder, name)(*values)
        _raise_if(context, builder, builder.extract_value(pair, 1), OverflowError, BEYOND)
        return builder.extract_value(pair, 0)

    return write


# Whole numbers


def _negative(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
    zero = ir.Constant(values[0].type, 0)
    return _bounded("ssub_with_overflow")(context, builder, signature, (zero, *values))


def _absolute(context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
    (value,) = values
    zero, least = (ir.Constant(value.type, number) for number in (0, -LIMIT))
    least_given = builder.icmp_signed("==", value, least)
    _raise_if(context, builder, least_given, OverflowError, BEYOND)
    return builder.select(builder.icmp_signed("<", value, zero), builder.neg(value), value)


def _whole(rounding: str | None) -> Instructions:
    """A float as a whole number, after one of LLVM's roundings, or with its fraction left out."""

    def write(context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
        value = values[0] if rounding is None else _intrinsic(builder, rounding, values[0])
        least, beyond = (ir.Constant(value.type, bound) for bound in (-float(LIMIT), float(LIMIT)))
        fits = builder.and_(
            builder.fcmp_ordered(">=", value, least), builder.fcmp_ordered("<", value, beyond)
        )
        _raise_if(context, builder, builder.not_(fits), OverflowError, BEYOND)
        return builder.fptosi(value, ir.IntType(64))

    return write


# Floats


def _divide(context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
    zero = ir.Constant(values[1].type, 0.0)
    by_zero = builder.fcmp_ordered("==", values[1], zero)
    _raise_if(context, builder, by_zero, ZeroDivisionError, "division by zero")
    return builder.fdiv(*values)


def _root(context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
    negative = builder.fcmp_ordered("<", values[0], ir.Constant(values[0].type, 0.0))
    _raise_if(context, builder, negative, ValueError, "math domain error")
    return _intrinsic(builder, "sqrt", *values)


def _size(relation: str) -> Instructions:
    """Compares the size of a float with infinity."""

    def write(_context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
        size = _intrinsic(builder, "fabs", *values)
        return builder.fcmp_ordered(relation, size, ir.Constant(size.type, float("inf")))

    return write


def _not_a_number(_context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
    return builder.fcmp_unordered("uno", values[0], values[0])


# Comparisons


def _relation(relation: str, kind: Any) -> Instructions:
    """Compares two whole numbers or two floats; what is not a number is unequal to all."""

    def write(_context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
        if kind is INT:
            return builder.icmp_signed(relation, *values)
        compare = builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered
        return compare(relation, *values)

    return write


def _chosen(relation: str, kind: Any) -> Instructions:
    """The second of two values where it stands in a relation to the first, as `min` and `max`."""

    def write(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        first, second = values
        better = _relation(relation, kind)(context, builder, signature, (second, first))
        return builder.select(better, second, first)

    return write


# The table of all operations


def _numbers(whole: Instructions, real: Instructions, of: int = 1) -> tuple[Any, ...]:
    """Signatures of an operation that keeps the kind of its `of` values."""
    return (INT(*[INT] * of), whole), (FLOAT(*[FLOAT] * of), real)


def _define_arithmetic() -> None:
    for node, whole, real in (
        (ast.Add, _bounded("sadd_with_overflow"), _instruction("fadd")),
        (ast.Sub, _bounded("ssub_with_overflow"), _instruction("fsub")),
        (ast.Mult, _bounded("smul_with_overflow"), _instruction("fmul")),
        (ast.FloorDiv, _python(exact.floor_quotient), _python(exact.float_floor_quotient)),
        (ast.Mod, _python(exact.remainder), _python(exact.float_remainder)),
    ):
        _define(BINARY[node], *_numbers(whole, real, of=2), mixed=True)
    divisions = (FLOAT(INT, INT), _python(exact.quotient)), (FLOAT(FLOAT, FLOAT), _divide)
    _define(BINARY[ast.Div], *divisions, mixed=True)
    _define(BINARY[ast.LShift], (INT(INT, INT), _python(exact.left_shift)))
    _define(BINARY[ast.RShift], (INT(INT, INT), _python(exact.right_shift)))
    for bits, name in ((ast.BitAnd, "and_"), (ast.BitOr, "or_"), (ast.BitXor, "xor")):
        _define(BINARY[bits], (INT(INT, INT), _instruction(name)))
    _define(UNARY[ast.USub], *_numbers(_negative, _instruction("fneg")))
    _define(UNARY[ast.UAdd], *_numbers(_same, _same))
    _define(UNARY[ast.Invert], (INT(INT), _instruction("not_")))


def _define_comparisons() -> None:
    for node, relation in (
        (ast.Lt, "<"),
        (ast.LtE, "<="),
        (ast.Gt, ">"),
        (ast.GtE, ">="),
        (ast.Eq, "=="),
        (ast.NotEq, "!="),
    ):
        signatures = ((TRUTH(kind, kind), _relation(relation, kind)) for kind in (INT, FLOAT))
        _define(COMPARISONS[node], *signatures)


def _define_functions() -> None:
    for name, relation in (("min", "<"), ("max", ">")):
        whole, real = _chosen(relation, INT), _chosen(relation, FLOAT)
        _define(BUILTINS[name], *_numbers(whole, real, of=2))
    _define(BUILTINS["abs"], *_numbers(_absolute, _float_function("fabs")))
    for operation, rounding in (
        (BUILTINS["int"], None),
        (BUILTINS["round"], "rint"),
        (MATH["floor"], "floor"),
        (MATH["ceil"], "ceil"),
        (MATH["trunc"], None),
    ):
        _define(operation, (INT(INT), _same), (INT(FLOAT), _whole(rounding)))
    for name, kind, instructions in (
        ("sqrt", FLOAT, _root),
        ("fabs", FLOAT, _float_function("fabs")),
        ("isnan", TRUTH, _not_a_number),
        ("isinf", TRUTH, _size("==")),
        ("isfinite", TRUTH, _size("<")),
    ):
        _define(MATH[name], (kind(FLOAT), instructions), mixed=True)
    copied = FLOAT(FLOAT, FLOAT), _float_function("copysign")
    _define(MATH["copysign"], copied, mixed=True)
    for name, kind in (("float", FLOAT), ("int", INT), ("bool", TRUTH)):
        _define(KEPT[f"keep {name}"], (kind(kind), _same))


_define_arithmetic()
_define_comparisons()
_define_functions()
