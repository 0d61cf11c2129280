"""Functions whose results are the same on all machines, plain and compiled.

The functions of `math` and NumPy differ in the last digit from machine to machine, and from
compiled code; these do not.
"""

import math
import struct

# What a third of the exponent lacks of the bias, in the place of the exponent.
_BIAS = (1023 - 341) << 52


def cbrt(value: float) -> float:
    """The real cube root, by Newton's method, with the sign of `value`."""
    if value == 0.0:
        return 0.0
    size = abs(value)
    (bits,) = struct.unpack("<q", struct.pack("<d", size))
    # A third of the exponent: within a factor of two.
    (root,) = struct.unpack("<d", struct.pack("<q", bits // 3 + _BIAS))
    for _ in range(6):
        root = (2.0 * root + size / (root * root)) / 3.0
    return math.copysign(root, value)


def power(base: float, exponent: float) -> float:
    """`base` to the power of `exponent`."""
    return math.pow(base, exponent)


def exp(value: float) -> float:
    """The exponential function."""
    return math.exp(value)


def log(value: float) -> float:
    """The natural logarithm of a number above 0."""
    return math.log(value)
