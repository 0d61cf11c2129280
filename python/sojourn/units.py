"""Quantities as people read them."""


def duration(picoseconds: float) -> str:
    """A time with the unit that suits it: `1.2 ms`."""
    for scale, unit in ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns")):
        if abs(picoseconds) >= scale:
            return f"{number(picoseconds / scale)} {unit}"
    return f"{number(picoseconds)} ps"


def number(value: float, digits: int = 4) -> str:
    """A number with the digits worth reading; above a thousand all whole ones, set apart."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def count(many: int, thing: str) -> str:
    """So many things: `1 case`, `12,000 jobs`."""
    return f"{many:,} {thing}" if many == 1 else f"{many:,} {thing}s"
