"""What plain Python does with numbers and one instruction cannot, for Numba to compile.

Whole numbers here have 64 bits: no step of these functions leaves them.
"""

_LEAST = -(2**63)
_SURE = 2**53
"""Whole numbers up to this size are floats without a loss."""


def quotient(above: int, below: int) -> float:
    """`above / below`, rounded once, to the nearest float.

    Where a float cannot hold both, by long division: 55 binary digits or more, and whether there
    is a rest.
    """
    if below == 0:
        raise ZeroDivisionError("division by zero")
    if -_SURE <= above <= _SURE and -_SURE <= below <= _SURE:
        return float(above) / float(below)
    scale = 1.0
    if above < 0:
        scale = -scale
        if above == _LEAST:
            above, scale = above // 2, scale * 2.0
        above = -above
    if below < 0:
        scale = -scale
        if below == _LEAST:
            below, scale = below // 2, scale * 0.5
        below = -below
    if above == 0:
        return scale * 0.0
    digits = above // below
    rest = above - digits * below
    while digits < 2**54:
        scale *= 0.5
        digits += digits
        if rest >= below - rest:
            digits += 1
            rest -= below - rest
        else:
            rest += rest
    if rest > 0:
        digits |= 1
    return scale * float(digits)


def floor_quotient(above: int, below: int) -> int:
    """`above // below`; a machine's division traps where the least number is divided by -1."""
    if -below == 1:
        if above == _LEAST:
            raise OverflowError("a whole number beyond 64 bits")
        return -above
    return above // below


def remainder(above: int, below: int) -> int:
    """`above % below`, which has the sign of `below`."""
    return 0 if -below == 1 else above % below


def float_floor_quotient(above: float, below: float) -> float:
    """`above // below`."""
    return above // below


def float_remainder(above: float, below: float) -> float:
    """`above % below`, which has the sign of `below`."""
    return above % below


def left_shift(value: int, count: int) -> int:
    """`value << count`."""
    if count < 0:
        raise ValueError("negative shift count")
    if value == 0:
        return 0
    if count > 63:
        raise OverflowError("a whole number beyond 64 bits")
    shifted = value << count
    if shifted >> count != value:
        raise OverflowError("a whole number beyond 64 bits")
    return shifted


def right_shift(value: int, count: int) -> int:
    """`value >> count`."""
    if count < 0:
        raise ValueError("negative shift count")
    return value >> min(count, 63)
