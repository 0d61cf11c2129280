"""When a prediction is near enough: a rule about an interval, fixed before any is seen.

A number is near enough where its whole 95 % interval lies within the tolerance, and too far off
where the whole interval lies outside of it. Anything else cannot be told from so few requests. To
accept takes every number, so that a wrong model passes in at most 2.5 % of the measurements; to
refuse takes one.

Source: confidence intervals included in a tolerance, D. Schuirmann, "A comparison of the two
one-sided tests procedure", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.
"""

from collections.abc import Iterable
from enum import Enum
from math import hypot, inf

from sojourn.analysis.statistics import Interval


class Outcome(Enum):
    """What can be said of a prediction, or of a device by all of its predictions."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    CANNOT_TELL = "cannot tell"


def of_interval(ends: Interval | None, most: float) -> Outcome:
    """What the interval of a difference says, with at most so much of it tolerated.

    Args:
        ends: of the difference, in the unit of `most`; None where it has no interval.
        most: how far off a prediction may be, to either side.
    """
    if ends is None:
        return Outcome.CANNOT_TELL
    low, high = ends
    if -most <= low and high <= most:
        return Outcome.ACCEPTED
    return Outcome.REFUSED if low > most or high < -most else Outcome.CANNOT_TELL


def of_all(outcomes: Iterable[Outcome]) -> Outcome:
    """What several say together: one refuses, and all have to accept."""
    found = {*outcomes}
    if Outcome.REFUSED in found:
        return Outcome.REFUSED
    return Outcome.ACCEPTED if found == {Outcome.ACCEPTED} else Outcome.CANNOT_TELL


def times_needed(value: float, ends: Interval, most: float) -> float:
    """How many times as many requests would tell, if the difference stays the same.

    An interval's width falls with the root of their number. Infinite where the difference is the
    tolerance itself.
    """
    down, up = value - ends[0], ends[1] - value
    if abs(value) == most:
        return inf
    if abs(value) < most:
        return max(up / (most - value), down / (most + value)) ** 2
    return float(((down if value > 0 else up) / (abs(value) - most)) ** 2)


def wider(value: float, ends: Interval, by: float) -> Interval:
    """An interval with a second, independent error of this half-width."""
    return value - hypot(value - ends[0], by), value + hypot(ends[1] - value, by)
