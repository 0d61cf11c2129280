"""Quantities as people read and write them."""

import re
from collections.abc import Sequence
from datetime import timedelta
from math import ceil, floor, inf, log10

from sojourn._core import quantity
from sojourn._internal.errors import InputError

PS_PER_S = 10**12
PS_PER_MS = 10**9
PS_PER_US = 10**6
US_PER_S = 10**6
NS_PER_S = 10**9
PS_PER_NS = 10**3
BPS_PER_GBPS = 10**9
BPS_PER_MBPS = 10**6
BYTES_PER_MB = 10**6
BYTES_PER_GB = 10**9


def duration(picoseconds: float) -> str:
    """A time with the unit that suits it: `1.2 ms`."""
    for scale, unit in ((PS_PER_S, "s"), (PS_PER_MS, "ms"), (PS_PER_US, "us"), (10**3, "ns")):
        if abs(picoseconds) >= scale:
            return f"{number(picoseconds / scale)} {unit}"
    return f"{number(picoseconds)} ps"


def binary_size(size_bytes: float) -> str:
    """A size in powers of 1024, with the unit that suits it: `4 KiB`."""
    for scale, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= scale:
            return f"{number(size_bytes / scale)} {unit}"
    return f"{number(size_bytes)} B"


def rough_duration(seconds: float) -> str:
    """A long time in the unit that suits it, as exactly as a forecast is worth: `2.3 h`."""
    for scale, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * scale:
            return f"{number(seconds / scale, 2)} {unit}"
    return f"{number(seconds, 2)} s"


def clock(seconds: float) -> str:
    """A long time in hours, minutes and seconds: `0:02:05`."""
    return str(timedelta(seconds=round(seconds)))


def picoseconds(text: str, what: str) -> int:
    """A time as people and studies write it, `"10ms"`.

    Raises:
        InputError: it is none.
    """
    time = text.strip()
    if time.endswith(("s", "min", "h")) and not time.endswith("bps"):
        try:
            return quantity(time)
        except ValueError:
            pass
    raise InputError(f"{what} {text!r}: expected a time like 10ms, at most 2400h")


def per_cent(text: str, what: str, below: float = inf) -> float:
    """A percentage as people write it, `"5%"`: 0 or more, and below a limit.

    Raises:
        InputError: it is none.
    """
    try:
        found = float(text.strip().removesuffix("%"))
    except ValueError:
        found = -1.0
    if not (text.strip().endswith("%") and 0 <= found < below):
        limit = "" if below == inf else f", below {below:g}%"
        raise InputError(f"{what} {text!r}: expected a percentage like 5%{limit}")
    return found


def number(value: float, digits: int = 4) -> str:
    """A number with the digits worth reading; large ones with all their whole ones, set apart."""
    rounded = abs(float(f"{value:.{digits}g}"))
    return f"{value:,.0f}" if rounded >= min(10**digits, 1000) else f"{value:.{digits}g}"


def bracketed(ends: tuple[float, float], per_unit: float = 1.0) -> str:
    """The ends of an interval in a unit, as exactly as its width is worth: `[3.08, 3.44]`."""
    low, high = (end / per_unit for end in ends)
    if not 1e-9 < high - low < inf or 0 < low * _WIDE < high:
        return f"[{number(low)}, {number(high)}]"
    decimals = max(1 - floor(log10(high - low)), 0)
    return f"[{low:,.{decimals}f}, {high:,.{decimals}f}]"


_WIDE = 30
"""Ends that are so many times apart have digits of their own: one is no rounding of the other."""


def factor(times: float) -> str:
    """A number of times rounded up to two digits, as a command takes it."""
    scale = 10.0 ** (1 - floor(log10(times)))
    return f"{ceil(times * scale - 1e-9) / scale:.15g}"


def numbers(values: Sequence[object]) -> tuple[list[float], str] | None:
    """Values as numbers in one unit, that of the last of them; None if any is only a name.

    `["15KB", "1MB"]` are 0.015 and 1 in MB; plain numbers have no unit.
    """
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return [float(str(v)) for v in values], ""
    found = [_QUANTITY.fullmatch(v) if isinstance(v, str) else None for v in values]
    matches = [match for match in found if match]
    if len(matches) < len(values):
        return None
    unit = matches[-1][2]
    if all(match[2] == unit for match in matches):
        return [float(match[1]) for match in matches], unit
    if len({_dimension(match[2]) for match in matches}) > 1:
        return None
    try:
        one = quantity(f"1{unit}")
        return [quantity(match[0]) / one for match in matches], unit
    except ValueError:
        return None


def _dimension(unit: str) -> str:
    return next((end for end in ("bps", "B") if unit.endswith(end)), "time")


_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z%][A-Za-z/]*|/[a-z]+)")


def count(many: int, thing: str) -> str:
    """So many things: `1 case`, `12,000 jobs`."""
    return f"{many:,} {thing}" if many == 1 else f"{many:,} {thing}s"
