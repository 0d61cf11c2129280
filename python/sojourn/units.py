"""Quantities as people read and write them."""

from datetime import timedelta

from sojourn._core import quantity
from sojourn.errors import InputError


def duration(picoseconds: float) -> str:
    """A time with the unit that suits it: `1.2 ms`."""
    for scale, unit in ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns")):
        if abs(picoseconds) >= scale:
            return f"{number(picoseconds / scale)} {unit}"
    return f"{number(picoseconds)} ps"


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
    raise InputError(f"{what} {text!r}: expected a time like 10ms")


def number(value: float, digits: int = 4) -> str:
    """A number with the digits worth reading; large ones with all their whole ones, set apart."""
    return f"{value:,.0f}" if abs(value) >= min(10**digits, 1000) else f"{value:.{digits}g}"


def shown_in(metric: str) -> tuple[float, str]:
    """What a metric's numbers are divided by to be read, and how that unit is written behind it."""
    for suffix, shown in _SHOWN_IN.items():
        if metric.endswith(suffix):
            return shown
    return 1, ""


_SHOWN_IN = {"_ps": (1e9, " [ms]"), "_bps": (1e6, " [Mb/s]")}


def count(many: int, thing: str) -> str:
    """So many things: `1 case`, `12,000 jobs`."""
    return f"{many:,} {thing}" if many == 1 else f"{many:,} {thing}s"
