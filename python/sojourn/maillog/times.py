"""Times as they are given to the tools and shown by them."""

import re
from datetime import datetime, timedelta

from sojourn._internal.errors import InputError
from sojourn.maillog.source import now_us, wall_us

_AGO = re.compile(r"(\d+) ?(s|min|m|h|d)")
_SECONDS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}


def moment_us(option: str, given: str | None) -> int | None:
    """A time that an option was given, in microseconds from 1970 as logs have it.

    A date, a date with a time of day, or so long ago: `2026-11-22`, `2026-11-22 10:00`, `6h`.

    Raises:
        InputError: it is none of these.
    """
    if given is None:
        return None
    text = given.strip()
    if ago := _AGO.fullmatch(text):
        seconds = int(ago[1]) * _SECONDS[ago[2]]
        return now_us() - seconds * 10**6
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is not None:
        raise InputError(
            f"{option} {given!r}: expected a time of the log's own clock, like 2026-11-22, "
            "'2026-11-22 10:00' or, so long ago, 6h"
        )
    return wall_us(time)


def day_us(option: str, given: str) -> tuple[int, int]:
    """The beginning and end of a day that an option was given.

    Raises:
        InputError: it is none.
    """
    try:
        day = datetime.strptime(given.strip(), "%Y-%m-%d")  # noqa: DTZ007 - of the log's clock
    except ValueError:
        raise InputError(f"{option} {given!r}: expected a day like 2026-11-22") from None
    return wall_us(day), wall_us(day + timedelta(days=1))


def span(micros: float) -> str:
    """How long something took, in the unit that suits it: `61 s`, `1 h 5 min`."""
    seconds = micros / 1e6
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"
