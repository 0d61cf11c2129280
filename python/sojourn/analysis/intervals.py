"""95 % intervals of means, of quantiles and of ratios of either.

Jobs of a queue are not independent: an estimate and the estimate of its error rise and fall
together, so that an ordinary interval is too short exactly where the estimate is too low. The
intervals here are wider upwards. Whether one may be printed is another question, decided without
the data that it is made from (`sojourn.analysis.run_length`).

Observations stand in batches of consecutive ones, a list of batches an independent run; runs that
have no order among their observations are one batch each. The constants were fitted on simulated
queues and tried with fresh seeds; tests/test_intervals.py and `make coverage` hold them to their
coverage.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil, exp, inf, log, sqrt
from typing import Literal, TypeAlias

import numpy as np

from sojourn.analysis.statistics import Interval, Values, student_t

BATCHES = 20
"""How many batches all runs have together, at least; each of several runs has two or more."""

# The most that neighbouring batches are taken to be correlated.
_MOST_CORRELATED = 0.95
# Twenty independent values look correlated by -0.05 +- 0.22; a mean takes so much for chance.
_BY_CHANCE = 0.1
_STEPS = 50

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
        over = self.above(x, side)
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
    r = half_width(of.deviations(), _BY_CHANCE) / above
    return least + above / (1 + r), least + above * (1 + r + 3 * r**2 + 6 * r**3)


def quantile_interval(of: Batches, share: float) -> Interval | None:
    """The interval of the quantile that a share of all observations lies below, such as 0.99.

    All `x` that are neither too low nor too high, by the interval of the mean of "exceeds x". None
    where it has no upper end in the sample.

    Source: inversion, Heidelberger and Lewis, "Quantile estimation in dependent sequences",
    Operations Research 32, 1984.
    """
    beyond(share)
    if of.counts.size < 2:
        return None
    pooled = of.pooled

    def exceeds(x: float, side: Side) -> tuple[float, float]:
        tail, deviations = of.tail(x, side)
        return tail, half_width(deviations) / tail if tail else inf

    def too_low(x: float) -> bool:
        tail, r = exceeds(x, "right")
        return tail / (1 + r + r**2 / 2) > 1 - share

    def too_high(x: float) -> bool:
        tail, r = exceeds(x, "left")
        return tail * (1 + r + r**2) < 1 - share

    middle = _place(share, pooled.size)
    first = _first(lambda i: not too_low(float(pooled[i])), 0, middle)
    last = _first(lambda i: too_high(float(pooled[i])), middle + 1, pooled.size)
    if last == pooled.size:
        return None
    return float(pooled[first]), float(pooled[last - 1])


def beyond(share: float | None) -> float:
    """The share of observations on the thinner side of a quantile; half of them for a mean."""
    if share is None:
        return 0.5
    if not 0 < share < 1:
        raise ValueError(f"a share of {share}, expected one between 0 and 1")
    return round(min(share, 1 - share), 9)


def mean_ratio_interval(over: Batches, under: Batches) -> Interval | None:
    """The interval of the mean of one sample over that of another, batch by batch in pairs.

    What moves both batches of a pair, such as the same arrivals, moves the ratio little. Where
    the ratio rises with congestion, which the correlation of its batches with both samples' says,
    its interval is wider upwards, as a mean's is, and where it falls, wider downwards. It does not
    reach below 0. None where one of the means is no positive number.

    Source: the ratio by its linear part (delta method); the widening is fitted.
    """
    if over.counts.shape != under.counts.shape or over.counts.size < 2:
        return None
    if not (0 < over.mean < inf and 0 < under.mean < inf):
        return None
    above, below = over.deviations() / over.mean, under.deviations() / under.mean
    ratio = over.mean / under.mean
    r = half_width(above - below)
    level = max(half_width(above, _BY_CHANCE), half_width(below, _BY_CHANCE))
    rising = _alike(above - below, above + below)
    wider, narrower = 5 * level + 10 * level**2, level
    up = r * (1 + max(rising, 0) * wider) / (1 + max(-rising, 0) * narrower)
    down = r * (1 + max(-rising, 0) * wider) / (1 + max(rising, 0) * narrower)
    return ratio * max(1 - down, 0.0), ratio * (1 + up)


def quantile_ratio_interval(over: Batches, under: Batches, share: float) -> Interval | None:
    """The interval of a quantile of one sample over that of another, batch by batch in pairs.

    All ratios by which the one sample may be divided, so that no more and no fewer of its
    observations than of the other's lie above the quantile of both together; wider as
    `mean_ratio_interval`. None where a quantile is not positive, or the ratio has no end.

    Source: inversion, as `quantile_interval`; the weights are the linear part of a ratio of
    quantiles (delta method).
    """
    if over.counts.shape != under.counts.shape or over.counts.size < 2:
        return None
    above, below = over.quantile(share), under.quantile(share)
    if not (0 < above < inf and 0 < below < inf):
        return None
    centre = above / below
    of_over, of_under = _weights(over, under, centre, share)

    def refused(ratio: float, side: int) -> bool:
        x = _joint_quantile(over, under, ratio, share)
        # An observation that is as large as that counts against refusing.
        (above, of_above), (below, of_below) = (
            over.tail(x * ratio * (1 - side * _NEARLY)),
            under.tail(x * (1 + side * _NEARLY)),
        )
        apart = of_over * of_above - of_under * of_below
        width = half_width(apart) or 1e-12
        levels = [
            half_width(deviations) / tail
            for tail, deviations in ((above, of_above), (below, of_below))
            if tail
        ]
        rising = side * _alike(apart, of_above + of_below)
        wider = 1 + 2 * max(rising, 0) * max(levels, default=0)
        return side * (above - below) + width * wider < 0

    low, high = (_edge(refused, centre, side) for side in (-1, 1))
    return None if low is None or high is None else (low, high)


def paired_differences(over: Batches, under: Batches, share: float | None) -> Values:
    """By how much each batch of one sample differs from its partner in the other.

    In its mean, or in the share of its observations above the quantile of both samples together,
    with the weights of a ratio.
    """
    if share is None:
        return over.sums / over.counts - under.sums / under.counts
    x = _joint_quantile(over, under, 1.0, share)
    of_over, of_under = _weights(over, under, 1.0, share)
    above, below = over.above(x) / over.counts, under.above(x) / under.counts
    return of_over * (above - (1 - share)) - of_under * (below - (1 - share))


def independent_ratio_interval(
    over: tuple[float, Interval], under: tuple[float, Interval]
) -> Interval | None:
    """The interval of a number over another that is independent of it, each with its own interval.

    The distances to the ends of the two intervals, of their logarithms, add as squares. None where
    an end is not positive.

    Source: G. Zou, A. Donner, "Construction of confidence limits about effect measures", Statistics
    in Medicine 27, 2008.
    """
    ends = [over[0], *over[1], under[0], *under[1]]
    if not all(0 < end < inf for end in ends):
        return None
    above, above_low, above_high, below, below_low, below_high = map(log, ends)
    down = sqrt((above - above_low) ** 2 + (below_high - below) ** 2)
    up = sqrt((above_high - above) ** 2 + (below - below_low) ** 2)
    return exp(above - below - down), exp(above - below + up)


def total_interval(over: Values, under: Values) -> Interval | None:
    """The interval of `over.sum() / under.sum()`, a pair of sums a replication; Student's t.

    None below two replications.

    Source: the ratio estimator of the regenerative method, Law, Simulation Modeling and Analysis,
    chapter 9.
    """
    if over.size < 2:
        return None
    ratio = float(over.sum() / under.sum())
    deviations = (over - ratio * under) / under.mean()
    half = half_width(deviations.reshape(-1, 1))
    return ratio - half, ratio + half


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


def _alike(a: Values, b: Values) -> float:
    """The correlation of deviations."""
    squares = float((a**2).sum() * (b**2).sum())
    return float((a * b).sum()) / sqrt(squares) if squares else 0.0


def _joint_quantile(over: Batches, under: Batches, ratio: float, share: float) -> float:
    """Of `under` together with `over` divided by the ratio."""
    above, below = over.pooled, under.pooled
    low = min(float(below[0]), float(above[0]) / ratio)
    high = max(float(below[-1]), float(above[-1]) / ratio)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        upto = np.searchsorted(below, middle, "right") / below.size
        upto += np.searchsorted(above, middle * ratio, "right") / above.size
        low, high = (middle, high) if upto / 2 < share else (low, middle)
    return high


def _weights(over: Batches, under: Batches, ratio: float, share: float) -> tuple[float, float]:
    """How much the shares of two samples above their joint quantile count where they are compared.

    What moves the quantile moves the share of a sample by as much as that is dense there: it counts
    by how far its own quantiles nearby are apart, which are of one value in a sample of few values.
    Both count 1 where they are equally dense: only then does what is common to both cancel.
    """
    x = _joint_quantile(over, under, ratio, share)
    both = over.tail(x * ratio)[1] + under.tail(x)[1]
    near = min(half_width(both / 2), beyond(share) / 2)
    of_over, of_under = (
        (sample.quantile(share + near) - sample.quantile(share - near)) / by
        for sample, by in ((over, ratio), (under, 1.0))
    )
    both_apart = of_over + of_under
    return (2 * of_over / both_apart, 2 * of_under / both_apart) if both_apart else (1.0, 1.0)


def _edge(refused: Callable[[float, int], bool], centre: float, side: int) -> float | None:
    """Where ratios begin to be refused, away from the centre; None where that is nowhere near."""
    inner, step = 0.0, 0.01
    while not refused(centre * exp(side * step), side):
        inner, step = step, 2 * step
        if step > _FARTHEST:
            return None
    outer = step
    for _ in range(_STEPS // 4):
        middle = (inner + outer) / 2
        inner, outer = (
            (inner, middle) if refused(centre * exp(side * middle), side) else (middle, outer)
        )
    return centre * exp(side * outer)


# By what share numbers differ that are one but for rounding.
_NEARLY = 1e-9
# A ratio whose interval has no end within a factor of e^6 of it is not known.
_FARTHEST = 6.0


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first of a range from which on something holds; its end if none."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
