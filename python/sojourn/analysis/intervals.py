"""95 % intervals of means and of quantiles; of ratios of either in `ratio_intervals`.

Jobs of a queue are not independent: an estimate and the estimate of its error rise and fall
together, so that an ordinary interval is too short exactly where the estimate is too low. The
intervals here are wider upwards. Whether one may be printed is another question, decided without
the data that it is made from (`sojourn.analysis.run_length`).

Observations stand in batches of consecutive ones, a list of batches an independent run; runs that
have no order among their observations are one batch each. The constants were fitted on simulated
queues and tried with fresh seeds; tests/analysis/test_intervals.py and `make coverage` hold them to
their coverage.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil, inf, sqrt
from typing import Literal, TypeAlias

import numpy as np

from sojourn.analysis.statistics import Interval, Values, student_t

BATCHES = 20
"""How many batches all runs have together, at least; each of several runs has two or more."""

# The most that neighbouring batches are taken to be correlated.
_MOST_CORRELATED = 0.95
BY_CHANCE = 0.1
"""Twenty independent values look correlated by -0.05 +- 0.22; a mean takes so much for chance."""


Side: TypeAlias = Literal["left", "right"]


class Batches:
    """Observations of independent runs in batches, with what intervals ask of them again and again.

    Args:
        runs: of each run its batches, of each batch its observations; every run has as many.
    """

    def __init__(self, runs: Sequence[Sequence[Values]]) -> None:
        if not runs or len({len(run) for run in runs}) != 1:
            raise ValueError(f"runs of {[len(run) for run in runs]} batches, expected as many each")
        self.runs = len(runs)
        self.each = len(runs[0])
        self.parts = [batch for run in runs for batch in run]
        self.counts = self._shaped([batch.size for batch in self.parts])
        if not self.counts.all():
            raise ValueError("a batch without an observation")

    @staticmethod
    def cut(runs: Sequence[Values], most: int = BATCHES) -> "Batches":
        """Runs in order of occurrence, each in batches of one size; the rest goes at the front.

        Args:
            runs: of each its observations.
            most: how many batches a run has at most, where that is fewer than it takes to have
                `BATCHES` of all runs; two or more.
        """
        each = min(max(2, ceil(BATCHES / max(len(runs), 1))), max(most, 2))
        for run in runs:
            if run.size < each:
                raise ValueError(f"{run.size} observations have no {each} batches")
        sizes = [run.size // each for run in runs]
        return Batches(
            [
                list(run[run.size - each * size :].reshape(each, size))
                for run, size in zip(runs, sizes, strict=True)
            ]
        )

    @cached_property
    def ranked(self) -> list[Values]:
        """Each batch in rising order."""
        return [np.sort(batch) for batch in self.parts]

    @cached_property
    def pooled(self) -> Values:
        """All observations in rising order."""
        return np.sort(np.concatenate(self.ranked))

    @cached_property
    def sums(self) -> Values:
        """The sum of each batch, a row a run."""
        return self._shaped([batch.sum() for batch in self.parts])

    @property
    def mean(self) -> float:
        """Of all observations."""
        return float(self.sums.sum() / self.counts.sum())

    def quantile(self, share: float) -> float:
        """The observation that a share of all observations does not pass."""
        return float(self.pooled[_place(share, self.pooled.size)])

    def deviations(self) -> Values:
        """How far each batch is off the mean, a row a run, for `half_width`."""
        return self._deviations(self.sums)

    def above(self, x: float, side: Side = "right") -> Values:
        """How many observations of each batch are above `x`, with side `left` from it on."""
        found = [batch.size - int(np.searchsorted(batch, x, side)) for batch in self.ranked]
        return self._shaped(found)

    def tail(self, x: float, side: Side = "right") -> tuple[float, Values]:
        """The share of observations that are `above`, and its deviations."""
        return self._share(self.above(x, side))

    def single(self) -> tuple[float, Values]:
        """The share, and its deviations, of one observation, which is in the first batch."""
        one = np.zeros(self.runs * self.each)
        one[0] = 1
        return self._share(self._shaped(list(one)))

    def _share(self, over: Values) -> tuple[float, Values]:
        return float(over.sum() / self.counts.sum()), self._deviations(over)

    def _deviations(self, sums: Values) -> Values:
        off: Values = sums - sums.sum() / self.counts.sum() * self.counts
        return off / float(self.counts.mean())

    def _shaped(self, of_parts: Sequence[float]) -> Values:
        return np.array(of_parts, dtype=np.float64).reshape(self.runs, self.each)


def half_width(deviations: Values, by_chance: float = 0.0) -> float:
    """Half the width of an interval of a mean, by what batches are off it; Student's t.

    Args:
        deviations: a row a run.
        by_chance: how much correlation of neighbouring batches is taken for chance.

    Source: the adjustment for correlated batches of Tafazzoli, Steiger and Wilson, "N-Skart", IEEE
    Transactions on Automatic Control 56, 2011; that a negative correlation counts as none is ours.
    """
    number = deviations.size
    phi = min(max(correlation(deviations) - by_chance, 0.0), _MOST_CORRELATED)
    error = sqrt(float((deviations**2).sum()) / (number - 1) / number)
    return student_t(number - 1) * error * sqrt((1 + phi) / (1 - phi))


def correlation(deviations: Values) -> float:
    """Of neighbouring batches of the same run."""
    squares = float((deviations**2).sum())
    return float((deviations[:, 1:] * deviations[:, :-1]).sum()) / squares if squares else 0.0


def mean_interval(of: Batches) -> Interval | None:
    """The interval of the mean over all observations; None where all are alike.

    Of a queue, `r`, the half-width over `E`, what the smallest observation leaves of the mean, does
    not depend on the mean, as the standard error grows with it: the ends are `E / (1 + r)` and
    `E (1 + r + 3 r^2 + 6 r^3)`. As `r` falls it is the ordinary interval of Student's t.

    Source: a variance-stabilising transformation for the heavy-traffic law (Whitt, "Planning
    queueing simulations", Management Science 35, 1989); the higher orders of `r` are fitted.
    """
    least, most = min(float(b.min()) for b in of.parts), max(float(b.max()) for b in of.parts)
    if of.counts.size < 2 or least == most or not np.isfinite([least, most]).all():
        return None
    above = of.mean - least
    r = half_width(of.deviations(), BY_CHANCE) / above
    return least + above / (1 + r), least + above * (1 + r + 3 * r**2 + 6 * r**3)


def quantile_interval(of: Batches, share: float) -> Interval | None:
    """The interval of the quantile that a share of all observations lies below, such as 0.99.

    All `x` that are neither too low nor too high, by the interval of the mean of "exceeds x". Where
    many observations share the largest value, that is the upper end if even one observation above
    it would be too few. None where the interval has no upper end in the sample, or all are alike.

    Source: inversion, Heidelberger and Lewis, "Quantile estimation in dependent sequences",
    Operations Research 32, 1984.
    """
    beyond(share)
    if of.counts.size < 2:
        return None
    pooled = of.pooled

    def too_low(x: float) -> bool:
        tail, deviations = of.tail(x, "right")
        r = half_width(deviations) / tail if tail else inf
        return tail / (1 + r + r**2 / 2) > 1 - share

    def too_few(tail: float, deviations: Values) -> bool:
        r = half_width(deviations) / tail if tail else inf
        return tail * (1 + r + r**2) < 1 - share

    def too_high(x: float) -> bool:
        return too_few(*of.tail(x, "left"))

    middle = _place(share, pooled.size)
    first = _first(lambda i: not too_low(float(pooled[i])), 0, middle)
    last = _first(lambda i: too_high(float(pooled[i])), middle + 1, pooled.size)
    if last == pooled.size:
        ends = pooled[0] < pooled[-1] < inf and too_few(*of.single())
        return (float(pooled[first]), float(pooled[-1])) if ends else None
    return float(pooled[first]), float(pooled[last - 1])


def beyond(share: float | None) -> float:
    """The share of observations on the thinner side of a quantile; half of them for a mean."""
    if share is None:
        return 0.5
    if not 0 < share < 1:
        raise ValueError(f"a share of {share}, expected one between 0 and 1")
    return round(min(share, 1 - share), 9)


def sectioned_interval(value: float, own: Values) -> Interval | None:
    """The interval of a statistic, out of its values in replications; Student's t.

    None below two replications.

    Source: Asmussen and Glynn, Stochastic Simulation, chapter III: sectioning.
    """
    if own.size < 2:
        return None
    half = half_width((own - value).reshape(-1, 1))
    return value - half, value + half


def _place(share: float, number: int) -> int:
    """Where a quantile is among so many observations in rising order."""
    return max(ceil(share * number) - 1, 0)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first of a range from which on something holds; its end if none."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
