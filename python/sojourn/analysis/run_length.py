"""Whether runs are long enough for an interval: what decides that, and how much more it would take.

A rule that looks at the data which the interval is made from prints the lucky runs. So it is the
model that decides, where load and variability are known before the run (`Queue.withholds`); or the
first quarter of each run, with the interval from the rest (`by_the_pilot`); or, where nothing
within a run is independent, how many runs there are (`by_replications`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.analysis.intervals import BATCHES, Batches, beyond, correlation, half_width
from sojourn.analysis.statistics import Values
from sojourn.store.ledger import Value

Runs: TypeAlias = Sequence[Values]

WARM_UP = 0.05
"""The share of a run's jobs that is left out, always and never more.

A run that is long enough to have an interval is then four relaxation times in, and what remains of
the bias is a tenth of the standard error.
"""

FEWEST_REPLICATIONS = 5
"""How many runs an interval needs where nothing within a run is independent, up to p95."""

_PILOT = 0.25


def warmup(arrived_ps: npt.NDArray[np.int64]) -> tuple[int, int]:
    """How many of a run's jobs are left out, and the arrival of the first one after them.

    Jobs that arrive together stay together, so a run whose jobs all arrive at once has no warm-up.
    It depends on nothing but arrivals: schemes that see the same ones leave out the same jobs.
    """
    if not arrived_ps.size:
        return 0, 0
    place = int(WARM_UP * arrived_ps.size)
    start = int(np.partition(arrived_ps, place)[place])
    early = int(np.count_nonzero(arrived_ps < start))
    return early, start if early else 0


def instants(arrived_ps: npt.NDArray[np.int64]) -> int:
    """How many different times of arrival there are."""
    if np.any(arrived_ps[1:] < arrived_ps[:-1]):
        arrived_ps = np.sort(arrived_ps)
    return int(np.count_nonzero(arrived_ps[1:] != arrived_ps[:-1])) + (arrived_ps.size > 0)


@dataclass(frozen=True)
class Withheld:
    """No interval is printed: `times` as many jobs it takes; infinite: none are enough."""

    times: float
    why: str


@dataclass(frozen=True)
class Queue:
    """What is known of the queues that jobs pass, in order of arrival.

    Attributes:
        load: the busy share of each server.
        arrivals: the index of dispersion of counts over a long time: 1 of a Poisson stream.
        services: the squared coefficient of variation of service times.
        fourth: their fourth moment over the fourth power of their mean.
        number: how many alike queues share the jobs, so that each sees as small a part.
        decides: whether that alone says that a run is long enough. Of a fabric, whose flows are not
            served one after the other, the first quarter of the run has to say so too.
        side_by_side: whether jobs in order of arrival are a mixture of those of several queues, as
            flows to several hosts are.
    """

    load: float
    arrivals: float
    services: float
    fourth: float
    number: float = 1.0
    decides: bool = True
    side_by_side: bool = False

    @staticmethod
    def of(figures: Sequence[Mapping[str, Value]]) -> "Queue | None":
        """Those of a case, out of its replications' figures; None where they say nothing of it."""

        def mean(name: str) -> float | None:
            found = [float(own[name]) for own in figures if name in own]
            return sum(found) / len(found) if found and len(found) == len(figures) else None

        load, offered = mean("queue_utilisation"), mean("queue_utilisation_offered")
        names = ("dispersion_of_arrivals", "squared_cv_of_services", "fourth_moment_of_services")
        varies = [mean(f"queue_{name}") for name in names]
        known = offered if load is None else load
        if known is None or None in varies:
            return None
        arrivals, services, fourth = (value or 0.0 for value in varies)
        number, fabric = mean("queues") or 1.0, load is None
        return Queue(known, arrivals, services, fourth, number, not fabric, fabric and number > 1)

    def length(self, jobs: int) -> float:
        """How long so many jobs are: the relative error of their mean is `sqrt(2 / length)`.

        Source: the first term by Whitt 1989 and Asmussen, "Queueing simulation in heavy traffic",
        Mathematics of Operations Research 17, 1992; the second, of single long services, is ours.
        """
        varies = self.arrivals + self.services
        if not (self.load < _STEADY and 0 < varies < inf and self.fourth < inf):
            return 0.0
        return jobs / (varies / (1 - self.load) ** 2 + self.fourth / (2 * varies**2))

    @property
    def busy(self) -> str:
        """How busy they are, in words."""
        return f"queues that are {100 * self.load:.3g} % busy"

    def withholds(self, share: float | None, runs: int, jobs: int) -> Withheld | None:
        """What an interval is withheld for; None where runs of so many jobs each are long enough.

        What a run begins with is common to all runs, and to all queues of one: each queue in each
        run has to be long by itself.

        Args:
            share: of the quantile, such as 0.95, between 0 and 1; None for the mean.
            runs: how many there are.
            jobs: of each, with their warm-up.
        """
        length = self.length(runs * jobs)
        if not length:
            return Withheld(
                inf, f"queues that are {100 * self.load:.3g} % busy have no steady state"
            )
        parallel = runs * self.number
        each = max(20.0, parallel) if parallel > 1 else 0.0
        if self.side_by_side:
            each = max(each, _BATCH * ceil(FEWEST_BATCHES / runs))
        times = max(needed(share) / length, each * parallel / length)
        if times <= 1:
            return None
        return Withheld(times, f"runs too short for {self.busy}")

    def batches(self, jobs: int) -> int:
        """Into how many batches a run of so many jobs may be cut.

        Jobs of several queues side by side vary less than those of one, and follow each other as
        closely as those of one queue with its part of them. Batches are so long that each queue
        sees as much of them as of a batch of a single queue that is barely long enough. Of flows in
        a fabric of eight hosts nine in ten intervals of a mean held where there were always twenty.
        """
        if not self.side_by_side:
            return BATCHES
        return int(self.length(jobs) / self.number / _BATCH)


FEWEST_BATCHES = 5
"""How few batches are enough where jobs of a run go to several queues."""

# The length of one of the twenty batches of a single queue that is barely long enough.
_BATCH = 150 / BATCHES
# Busier queues settle in no run of a length that is ever simulated.
_STEADY = 0.999


def needed(share: float | None) -> float:
    """The length (`Queue.length`) from which on the interval of a mean or a quantile covers.

    Tried up to the 99th percentile; beyond, as much longer as fewer observations are. The lower
    half is taken to be as the upper one.
    """
    rare = beyond(share)
    if rare >= 0.5:  # the mean and the median
        return 150.0
    return 300.0 if rare >= 0.05 else 2000.0 * max(1.0, 0.01 / rare)


def too_few(share: float | None, number: int) -> Withheld | None:
    """Whether there are fewer than eighty observations, or so few of them beyond a quantile."""
    rare = 1.0 if share is None else beyond(share)
    times = _FEWEST / (rare * max(number, 1))
    where = "" if share is None else " beyond the quantile"
    return Withheld(times, f"too few jobs{where}") if times > 1 else None


def too_few_services(share: float, number: int) -> Withheld | None:
    """Whether a list has too few service times to know a quantile by; no run makes it longer."""
    needed = ceil(FEWEST_BEYOND / beyond(share))
    if number >= needed:
        return None
    return Withheld(inf, f"the disk's list has {number:,} service times, and {needed:,} are needed")


_FEWEST = 80

FEWEST_BEYOND = 10
"""Independent observations beyond a quantile, below which it hangs on a handful of them."""


def fewest_replications(share: float | None) -> int:
    """How many runs an interval needs where each counts as one observation.

    What lies beyond the 99th percentile may all come from a few of the runs, and their number has
    to be known: beyond the 95th it takes as many runs as jobs of which one lies beyond. Measured on
    a list server: of p99 by 20 runs 85 % of the intervals cover, by 100 runs 94 %.
    """
    rare = beyond(share)
    return FEWEST_REPLICATIONS if rare >= 0.05 else ceil(1 / rare)


def by_replications(share: float | None, runs: int) -> Withheld | None:
    """Whether there are too few runs, where each counts as one observation."""
    fewest = fewest_replications(share)
    if runs >= fewest:
        return None
    why = f"jobs of one run hang together: {fewest} replications or more are needed"
    return Withheld(fewest / runs, why)


def after_pilot(run: Values) -> Values:
    """The last three quarters of a run, of which its interval is made."""
    return run[int(_PILOT * run.size) :]


def by_the_pilot(runs: Runs, share: float | None, *, length_known: bool = False) -> Withheld | None:
    """Whether the first quarters of runs allow an interval of the rest of them.

    None where they do. Nothing of the first quarter enters the interval. A run that drifts, or
    whose batches follow each other too closely, is in no steady state.

    What jobs bring themselves, such as their own services, says nothing of how long a run is: the
    error is judged by the part of the variation that neighbours share, unless it is known
    otherwise that the run is long enough.
    """
    each = max(2, ceil(BATCHES / len(runs)))
    least = 2 * each / _PILOT
    shortest = min(run.size for run in runs)
    if all(run.size and run.min() == runs[0].min() == run.max() for run in runs):
        return None  # nothing varies, and there is nothing to withhold
    if shortest < least:
        return Withheld(max(2.0, least / max(shortest, 1)), "too few jobs")
    pilot = [run[: int(_PILOT * run.size)] for run in runs]
    batches = Batches.cut(pilot)
    scale = batches.mean - min(float(run.min()) for run in pilot)
    if not length_known:
        scale = min(scale, _slow(pilot) or scale)
    r = half_width(batches.deviations()) / scale if scale > 0 else inf
    most = _pilot_most(share)
    tail = 0.0 if share is None or share == 0.5 else _tail(pilot, share)
    if r > most or tail > _TAIL_MOST:
        times = max(2.0, (min(r, _MOST_TOLD) / most) ** 2 * 1.5)
        return Withheld(times, "the first quarter of the run varies too much")
    if _drifts([after_pilot(run) for run in runs]):
        return Withheld(2.0, "no steady state is seen: batches follow each other closely, or drift")
    return None


def _pilot_most(share: float | None) -> float:
    """How large the pilot's relative half-width may be; tried up to the 99th percentile."""
    rare = beyond(share)
    return 0.28 if rare >= 0.05 else 0.12 * sqrt(min(1.0, rare / 0.01))


# How large the relative half-width of the share beyond a quantile may be.
_TAIL_MOST = 1.1
# A pilot that varies more than that says no more than that it is much too short.
_MOST_TOLD = 3.0
# Neighbouring batches of a steady state are not so correlated, nor are batches with their place in
# time: of a single run, and of the averages of several.
_NEIGHBOURS_MOST = 0.45
_TREND_MOST, _TREND_MOST_OF_SEVERAL, _BLOCKS = 0.6, 0.9, 8


def _tail(pilot: Runs, share: float) -> float:
    """The relative half-width of the share beyond the pilot's own quantile."""
    pooled = np.sort(np.concatenate(pilot))
    x = pooled[ceil(share * pooled.size) - 1]
    rare = [(run > x) if share > 0.5 else (run < x) for run in pilot]
    batches = Batches.cut([run.astype(np.float64) for run in rare])
    return half_width(batches.deviations()) / batches.mean if batches.mean else inf


def _drifts(main: Runs) -> bool:
    batches = Batches.cut(main)
    if correlation(batches.deviations()) >= _NEIGHBOURS_MOST:
        return True
    means = batches.sums / batches.counts
    if len(main) == 1:
        return abs(_spearman(means[0])) > _TREND_MOST
    blocks = [[block.mean() for block in np.array_split(run, _BLOCKS)] for run in main]
    return abs(_spearman(np.mean(blocks, axis=0))) > _TREND_MOST_OF_SEVERAL


def _spearman(series: Values) -> float:
    """The rank correlation of a series with time."""
    _, place, count = np.unique(series, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    alike = count.size == 1
    return 0.0 if alike else float(np.corrcoef(ranks, np.arange(series.size))[0, 1])


def _slow(runs: Runs) -> float | None:
    """The standard deviation of the part that neighbouring observations share; None without one."""
    everything = np.concatenate(runs)
    mean = everything.mean()
    pairs = np.concatenate([(run[1:] - mean) * (run[:-1] - mean) for run in runs])
    shared = float(pairs.mean())
    return sqrt(shared) if shared > 0 else None
