"""95 % intervals of ratios of means, of quantiles and of totals: how far two runs are apart.

They are made as those of `intervals`; a ratio of two runs with the same arrivals is paired, batch
by batch.
"""

from collections.abc import Callable
from math import exp, inf, log, sqrt

import numpy as np

from sojourn.analysis.intervals import BY_CHANCE, Batches, beyond, half_width
from sojourn.analysis.statistics import Interval, Values

_STEPS = 50


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
    level = max(half_width(above, BY_CHANCE), half_width(below, BY_CHANCE))
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
