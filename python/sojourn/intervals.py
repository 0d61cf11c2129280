"""95 % intervals of a mean and of quantiles that cover, or are withheld.

Jobs of a queue are not independent: an estimate and the estimate of its error rise and fall
together, so that an ordinary interval is too short exactly where the estimate is too low. The
intervals here are wider upwards, and whether one is printed is decided without the data that it is
made from: by the model where load and variability are known (`Model.withholds`), by the first
quarter of each run where they are not (`by_the_pilot`). A rule that looks at the same data twice
prints the lucky runs.

`runs` are observations in order of occurrence, one array an independent run, all of one length,
and without their warm-up (`warmup`). The constants were fitted on simulated queues and tried with
fresh seeds; tests/test_intervals.py holds them to their coverage. `summary` and all that compares
still have the intervals of `statistics`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from sojourn._core import student_t_quantile
from sojourn.statistics import BATCHES, CONFIDENCE, Interval, Values

Runs: TypeAlias = Sequence[Values]

WARM_UP = 0.05
"""The share of a run that is left out, always and never more.

A run that is long enough to have an interval is then four relaxation times in, and what remains of
the bias is a tenth of the standard error.
"""

_PILOT = 0.25
# The most that neighbouring batches are taken to be correlated.
_MOST_CORRELATED = 0.95
# Twenty independent values look correlated by -0.05 +- 0.22; a mean takes so much for chance.
_BY_CHANCE = 0.1


def warmup(number: int) -> int:
    """How many of a run's first observations are left out."""
    return int(WARM_UP * number)


def mean_interval(runs: Runs) -> Interval | None:
    """The interval of the mean over all observations; None where all are alike.

    Of a queue, `r`, the half-width over `E`, what the smallest observation leaves of the mean, does
    not depend on the mean, as the standard error grows with it: the ends are `E / (1 + r)` and
    `E (1 + r + 3 r^2 + 6 r^3)`. As `r` falls it is the ordinary interval of Student's t.

    Source: a variance-stabilising transformation for the heavy-traffic law (Whitt, "Planning
    queueing simulations", Management Science 35, 1989); the higher orders of `r` are fitted.
    """
    batches = _means(runs)
    least, mean = _least(runs), float(batches.mean())
    if max(float(run.max()) for run in runs) == least:
        return None
    above = mean - least
    r = _half_width(batches, _BY_CHANCE) / above
    return least + above / (1 + r), least + above * (1 + r + 3 * r**2 + 6 * r**3)


def quantile_interval(runs: Runs, share: float) -> Interval | None:
    """The interval of the quantile that a share of all observations lies below, such as 0.99.

    All `x` that are neither too low nor too high, by the interval of the mean of "exceeds x". None
    where it has no upper end in the sample.

    Source: inversion, Heidelberger and Lewis, "Quantile estimation in dependent sequences",
    Operations Research 32, 1984.
    """
    _beyond(share)
    batches = [np.sort(batch) for batch in _batches(runs)]
    pooled = np.sort(np.concatenate(batches))
    size = batches[0].size
    shape = (len(runs), -1)

    def exceeds(x: float, side: Literal["left", "right"]) -> tuple[float, float]:
        over = [1 - int(np.searchsorted(batch, x, side)) / size for batch in batches]
        return _relative(np.array(over).reshape(shape))

    def too_low(x: float) -> bool:
        tail, r = exceeds(x, "right")
        return tail / (1 + r + r**2 / 2) > 1 - share

    def too_high(x: float) -> bool:
        tail, r = exceeds(x, "left")
        return tail * (1 + r + r**2) < 1 - share

    middle = ceil(share * pooled.size) - 1
    first = _first(lambda i: not too_low(float(pooled[i])), 0, middle)
    last = _first(lambda i: too_high(float(pooled[i])), middle + 1, pooled.size)
    if last == pooled.size:
        return None
    return float(pooled[first]), float(pooled[last - 1])


class Withheld(NamedTuple):
    """No interval is printed: `times` as long the runs have to be; infinite: none is enough."""

    times: float


@dataclass(frozen=True)
class Model:
    """What a model knows of its queue, in order of arrival.

    Of an open network it is the station that needs the longest run.

    Attributes:
        load: the busy share of each of its servers.
        arrivals: the index of dispersion of counts over a long time: 1 of a Poisson stream.
        services: the squared coefficient of variation of service times.
        fourth: their fourth moment over the fourth power of their mean.
    """

    load: float
    arrivals: float
    services: float
    fourth: float

    def length(self, number: int) -> float:
        """How long so many jobs are: the relative error of their mean is `sqrt(2 / length)`.

        Source: the first term by Whitt 1989 and Asmussen, "Queueing simulation in heavy traffic",
        Mathematics of Operations Research 17, 1992; the second, of single long services, is ours.
        """
        varies = self.arrivals + self.services
        if not (self.load < 1 and 0 < varies < inf and self.fourth < inf):
            return 0.0
        return number / (varies / (1 - self.load) ** 2 + self.fourth / (2 * varies**2))

    def withholds(self, share: float | None, runs: int, jobs: int) -> Withheld | None:
        """What an interval is withheld for; None where runs of so many jobs each are long enough.

        Args:
            share: of the quantile, such as 0.95, between 0 and 1; None for the mean.
            runs: how many there are.
            jobs: of each, with their warm-up.
        """
        length = self.length(runs * jobs)
        if not length:
            return Withheld(inf)
        each = max(20.0, float(runs)) if runs > 1 else 0.0
        times = max(_needed(share) / length, each * runs / length, _few(share, runs * jobs))
        return Withheld(times) if times > 1 else None


def _needed(share: float | None) -> float:
    """The length from which on the interval of a mean covers, or of a quantile.

    Tried up to the 99th percentile; beyond, as much longer as fewer observations are. The lower
    half is taken to be as the upper one.
    """
    beyond = _beyond(share)
    if beyond >= 0.5:
        return 150.0
    return 300.0 if beyond >= 0.05 else 2000.0 * max(1.0, 0.01 / beyond)


def _beyond(share: float | None) -> float:
    """The share of observations on the thinner side of a quantile; half of them for a mean."""
    if share is None:
        return 0.5
    if not 0 < share < 1:
        raise ValueError(f"a share of {share}, expected one between 0 and 1")
    return round(min(share, 1 - share), 9)


def _few(share: float | None, number: int) -> float:
    """How many times as many observations have to lie beyond a quantile: eighty."""
    beyond = _beyond(share)
    return 80 / (beyond * number * (1 - WARM_UP)) if beyond < 0.5 else 0.0


def by_the_pilot(runs: Runs, share: float | None) -> tuple[Runs, Withheld | None]:
    """The last three quarters of each run, for an interval, and whether the first allow it.

    None where they do. Nothing of the first quarter enters the interval.
    A run that drifts, or whose batches follow each other too closely, is of no steady state.
    """
    cuts = [int(_PILOT * run.size) for run in runs]
    pilot = [run[:cut] for run, cut in zip(runs, cuts, strict=True)]
    main = [run[cut:] for run, cut in zip(runs, cuts, strict=True)]
    batches = _means(pilot)
    above, slow = float(batches.mean()) - _least(pilot), _slow(pilot)
    scale = above if slow is None else min(above, slow)
    r = _half_width(batches, 0.0) / scale if scale > 0 else inf
    most = _pilot_most(share)
    tail = 0.0 if share is None or share == 0.5 else _tail(pilot, share)
    if r <= most and tail <= _TAIL_MOST and not _drifts(main):
        return main, None
    times = max(2.0, (r / most) ** 2 * 1.5)
    return main, Withheld(times)


def _pilot_most(share: float | None) -> float:
    """How large the pilot's relative half-width may be; tried up to the 99th percentile."""
    beyond = _beyond(share)
    return 0.28 if beyond >= 0.05 else 0.12 * sqrt(min(1.0, beyond / 0.01))


# How large the relative half-width of the share beyond a quantile may be.
_TAIL_MOST = 1.1
# Neighbouring batches of a steady state are not so correlated, nor are batches with their place in
# time: of a single run, and of the averages of several.
_NEIGHBOURS_MOST = 0.45
_TREND_MOST, _TREND_MOST_OF_SEVERAL, _BLOCKS = 0.6, 0.9, 8


def _tail(pilot: Runs, share: float) -> float:
    """The relative half-width of the share beyond the pilot's own quantile."""
    pooled = np.sort(np.concatenate(pilot))
    x = pooled[ceil(share * pooled.size) - 1]
    rare = [(run > x) if share > 0.5 else (run < x) for run in pilot]
    return _relative(_means([run.astype(np.float64) for run in rare]))[1]


def _drifts(main: Runs) -> bool:
    batches = _means(main)
    if _correlation(batches) >= _NEIGHBOURS_MOST:
        return True
    if len(main) == 1:
        return abs(_spearman(batches[0])) > _TREND_MOST
    blocks = [[block.mean() for block in np.array_split(run, _BLOCKS)] for run in main]
    return abs(_spearman(np.mean(blocks, axis=0))) > _TREND_MOST_OF_SEVERAL


def _spearman(series: Values) -> float:
    """The rank correlation of a series with time."""
    _, place, count = np.unique(series, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    alike = count.size == 1
    return 0.0 if alike else float(np.corrcoef(ranks, np.arange(series.size))[0, 1])


def _batches(runs: Runs) -> list[Values]:
    """Batches of equal size: twenty in all, at least two a run, the rest dropped at the front."""
    each = max(2, ceil(BATCHES / max(len(runs), 1)))
    if len({run.size for run in runs}) != 1:
        raise ValueError(f"runs of {sorted({run.size for run in runs})}, expected one length")
    size = runs[0].size // each
    if size == 0:
        raise ValueError(f"runs of {runs[0].size} observations have no {each} batches")
    return [batch for run in runs for batch in run[run.size - each * size :].reshape(each, size)]


def _means(runs: Runs) -> Values:
    """The means of the batches, a row a run."""
    return np.array([batch.mean() for batch in _batches(runs)]).reshape(len(runs), -1)


def _least(runs: Runs) -> float:
    return min(float(run.min()) for run in runs)


def _correlation(batches: Values) -> float:
    """Of neighbouring batches of the same run."""
    off = batches - batches.mean()
    return float((off[:, 1:] * off[:, :-1]).sum() / ((off**2).sum() or 1.0))


def _slow(runs: Runs) -> float | None:
    """The standard deviation of the part that neighbouring observations share.

    None where they are not correlated beyond chance: what is independent has no such part.
    """
    everything = np.concatenate(runs)
    mean = everything.mean()
    pairs = np.concatenate([(run[1:] - mean) * (run[:-1] - mean) for run in runs])
    shared = float(pairs.mean())
    if shared <= 2 * float(everything.var()) / sqrt(everything.size):
        return None
    return sqrt(shared)


def _half_width(batches: Values, by_chance: float) -> float:
    """Half the width of an interval of the grand mean of batch means, a row a run; Student's t.

    Source: the adjustment for correlated batches of Tafazzoli, Steiger and Wilson, "N-Skart", IEEE
    Transactions on Automatic Control 56, 2011; that a negative correlation counts as none is ours.
    """
    phi = min(max(_correlation(batches) - by_chance, 0.0), _MOST_CORRELATED)
    error = float(batches.std(ddof=1)) / sqrt(batches.size)
    correlated = sqrt((1 + phi) / (1 - phi))
    return student_t_quantile(batches.size - 1, (1 + CONFIDENCE) / 2) * error * correlated


def _relative(batches: Values) -> tuple[float, float]:
    """The mean of batches and its half-width over it."""
    mean = float(batches.mean())
    return mean, _half_width(batches, 0.0) / mean if mean else inf


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first of a range from which on something holds; its end if none."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
