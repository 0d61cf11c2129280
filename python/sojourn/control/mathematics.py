"""Functions whose results are the same on all machines, plain and compiled.

The functions of `math` and NumPy differ in the last digit from machine to machine, and from
compiled code; these do not. They raise nothing: where there is no result it is NaN or infinite, by
IEEE 754.
"""

from sojourn._core import cbrt, exp, log, power

__all__ = ["cbrt", "exp", "log", "power"]
