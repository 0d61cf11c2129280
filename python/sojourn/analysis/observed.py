"""What was observed of jobs in independent runs, and the intervals that this allows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from sojourn._internal.units import count
from sojourn.analysis.intervals import BATCHES, Batches, beyond, mean_interval, quantile_interval
from sojourn.analysis.ratio_intervals import (
    independent_ratio_interval,
    mean_ratio_interval,
    paired_differences,
    quantile_ratio_interval,
)
from sojourn.analysis.run_length import (
    Queue,
    Withheld,
    after_pilot,
    by_replications,
    by_the_pilot,
    fewest_replications,
    instants,
    too_few,
    too_few_services,
    warmup,
)
from sojourn.analysis.statistics import Interval, Values, sign_flip_probability
from sojourn.store.ledger import Value
from sojourn.store.service_list import fewest_services

FEWEST_INSTANTS = 8 * BATCHES
"""Different times of arrival in a run, below which it is no series: two a batch of its pilot."""


_FLIPPED_FROM = 15
"""Pairs, below which flipping signs gives no probability that is small enough to judge many by."""


class Basis(Enum):
    """What of runs an interval is made from."""

    WHOLE = "whole"
    """All of each run after its warm-up, as the model knows how long that is."""
    AFTER_PILOT = "after the first quarter"
    """The last three quarters of that, as the first decides."""
    REPLICATIONS = "replications"
    """Each run as one observation."""


@dataclass(frozen=True)
class Needs:
    """What an interval is withheld for.

    `times` as many jobs are needed, infinite where none are enough; that is runs of so many `jobs`
    each, or so many `replications` of runs as they are, each None where that does not help. `least`
    says that it may be more.
    """

    times: float
    jobs: int | None
    replications: int | None
    why: str
    least: bool = False

    def to_dict(self) -> dict[str, object]:
        """The contract's `ci95_needs`."""
        return {"jobs": self.jobs, "replications": self.replications, "why": self.why}


UNSTEADY = Needs(inf, None, None, "no steady state")
"""Of a run in which jobs take longer and longer: no length would do."""


@dataclass(frozen=True)
class Series:
    """A metric of the jobs of one case: an array a replication, in order of arrival.

    Attributes:
        runs: without their warm-up.
        jobs: of each run, of all kinds and with their warm-up.
        instants: how many different times of arrival each run has at least.
        unordered: whether jobs of one run hang together in no order, as flows that share a link do.
        queue: what is known of what they pass.
        services: how many service times were measured, where the jobs draw theirs from a list.
        used: which of the runs intervals are made from: those that all cases have, and of replays
            of the same arrivals one.
    """

    runs: tuple[Values, ...]
    jobs: int
    instants: int
    unordered: bool = False
    queue: Queue | None = None
    services: int | None = None
    used: tuple[int, ...] | None = None

    @staticmethod
    def of(
        runs: Sequence[tuple[npt.NDArray[np.int64], Values]],
        figures: Sequence[Mapping[str, Value]] = (),
    ) -> "Series":
        """That of whole runs, of which the warm-up is left out here.

        Args:
            runs: of each the arrivals of its jobs in picoseconds, in any order, and their metric.
            figures: what each run says of its queues.
        """
        kept = []
        for arrived_ps, values in runs:
            order = np.argsort(arrived_ps, kind="stable")
            kept.append(values[order][arrived_ps[order] >= warmup(arrived_ps)[1]])
        return Series(
            runs=tuple(kept),
            jobs=max(values.size for _, values in runs),
            instants=min(instants(arrived_ps) for arrived_ps, _ in runs),
            queue=Queue.of(figures),
            services=fewest_services(figures),
        )

    @property
    def own(self) -> tuple[Values, ...]:
        """The runs that intervals are made from."""
        return self.runs if self.used is None else tuple(self.runs[place] for place in self.used)

    @property
    def basis(self) -> Basis:
        """What its intervals are made from."""
        if self.unordered or self.instants < FEWEST_INSTANTS:
            return Basis.REPLICATIONS
        return Basis.WHOLE if self.queue and self.queue.decides else Basis.AFTER_PILOT

    def withholds(self, share: float | None) -> Withheld | None:
        """What an interval is withheld for, of a quantile or, without a share, of the mean."""
        number = sum(run.size for run in self.own)
        runs = len(self.own)
        if not runs:
            return Withheld(inf, "no replication that all cases have")
        if self.basis is Basis.REPLICATIONS:
            reasons = [by_replications(share, runs), too_few(share, number) if share else None]
        else:
            reasons = [too_few(share, number)]
        if share and self.services:
            reasons.append(too_few_services(share, self.services))
        if self.queue and not self.unordered:
            reasons.append(self.queue.withholds(share, runs, self.jobs))
        if self.basis is Basis.AFTER_PILOT and not any(reasons):
            known = self.queue is not None
            reasons.append(by_the_pilot(self.own, share, length_known=known))
        found = [reason for reason in reasons if reason]
        return max(found, key=lambda reason: reason.times, default=None)

    def replications_help(self, times: float) -> bool:
        """Whether `times` as many replications would do in place of longer runs."""
        if self.used is not None and len(self.used) == 1 < len(self.runs):
            return False
        if self.queue is None:
            return True
        return self.queue.withholds(None, ceil(times * len(self.own)), self.jobs) is None


class Observed:
    """A metric of the jobs of several cases together, of which all have the same replications.

    Batch by batch and replication by replication, jobs of all cases stand together.
    """

    def __init__(self, cases: Sequence[Series]) -> None:
        self.cases = cases

    @property
    def basis(self) -> Basis:
        """What intervals are made from: what the most doubtful of the cases allows."""
        found = {case.basis for case in self.cases}
        order = (Basis.REPLICATIONS, Basis.AFTER_PILOT)
        return next((basis for basis in order if basis in found), Basis.WHOLE)

    @property
    def most(self) -> int:
        """Into how many batches a run of any of the cases may be cut."""
        return min(
            (case.queue.batches(case.jobs) for case in self.cases if case.queue), default=BATCHES
        )

    def batches(self, basis: Basis, most: int = BATCHES) -> Batches | None:
        """Batches on a basis, at most so many a run; None where there are too few observations."""
        if not self.cases or len({len(case.own) for case in self.cases}) != 1:
            return None
        try:
            of_cases = [_batches(case.own, basis, most) for case in self.cases]
        except ValueError:
            return None
        if len(of_cases) == 1:
            return of_cases[0]
        parts = [np.concatenate(own) for own in zip(*(of.parts for of in of_cases), strict=True)]
        each = of_cases[0].each
        return Batches([parts[at : at + each] for at in range(0, len(parts), each)])

    @cached_property
    def own(self) -> Batches | None:
        """Batches on its own basis."""
        return self.batches(self.basis, self.most)

    def withholds(self, share: float | None) -> Needs | None:
        """What an interval is withheld for; None where there is one, if observations differ."""
        if not self.cases:
            return Needs(inf, None, None, "no job")
        worst: Needs | None = None
        for case in self.cases:
            if (reason := case.withholds(share)) and (worst is None or reason.times > worst.times):
                worst = _needs(case, reason)
        if worst is None and self.own is None:
            return Needs(2.0, None, None, "too few jobs, or not the same replications of all cases")
        return worst

    def interval(self, share: float | None) -> tuple[Interval | None, Needs | None]:
        """The interval of the mean, or of the quantile of a share; or what it would need."""
        if (needs := self.withholds(share)) or self.own is None:
            return None, needs
        found = self.unjudged(share)
        if found is None and share is not None and self._varies():
            return None, Needs(2.0, None, None, "the largest observation may lie below the end")
        return found, None

    def fewest_replications(self, share: float | None) -> int:
        """How many replications its interval takes at least."""
        return fewest_replications(share if self.basis is Basis.REPLICATIONS else None)

    def can_be_tested(self, share: float | None) -> bool:
        """Whether there are enough observations to tell in pairs that a number differs.

        That is possible long before an interval is: what pairs have in common has no part in it.
        """
        number = sum(run.size for case in self.cases for run in case.own)
        return beyond(share) * number >= BATCHES

    def unjudged(self, share: float | None) -> Interval | None:
        """The interval, whether it may be printed or not: for what is still to be run."""
        if self.own is None:
            return None
        return mean_interval(self.own) if share is None else quantile_interval(self.own, share)

    def _varies(self) -> bool:
        return any(run.min() < run.max() for case in self.cases for run in case.runs if run.size)

    def method(self) -> str:
        """Where its intervals come from, in words."""
        runs = len(self.cases[0].own) if self.cases else 0
        if self.basis is Basis.REPLICATIONS or self.own is None:
            return f"from {count(runs, 'replication')}"
        number = self.own.counts.size
        of = f" of {count(runs, 'replication')}" if runs > 1 else ""
        last = " in the last three quarters" if self.basis is Basis.AFTER_PILOT else ""
        return f"from {number} batches{of} in order of arrival{last}"

    def ratio(self, under: "Observed", share: float | None, *, paired: bool) -> "Ratio | None":
        """Its mean or quantile over that of another sample, whether that may be printed or not.

        None where there are too few observations. In pairs, batch `i` of the one was under the same
        chance as that of the other.
        """
        if self.own is None or under.own is None:
            return None
        if not paired:
            own, other = self.unjudged(share), under.unjudged(share)
            if own is None or other is None:
                return None
            above, below = (_number(batches, share) for batches in (self.own, under.own))
            ends = independent_ratio_interval((above, own), (below, other))
            fewest = min(self.own.counts.size, under.own.counts.size)
            return ends and Ratio(above / below, ends, "independent runs", fewest - 1)
        order = (Basis.REPLICATIONS, Basis.AFTER_PILOT, Basis.WHOLE)
        basis = min(self.basis, under.basis, key=order.index)
        most = min(self.most, under.most)
        mine, theirs = self.batches(basis, most), under.batches(basis, most)
        if mine is None or theirs is None or mine.counts.shape != theirs.counts.shape:
            return None
        what = "replications" if basis is Basis.REPLICATIONS else "batches in order of arrival"
        ends = (
            quantile_ratio_interval(mine, theirs, share)
            if share is not None
            else mean_ratio_interval(mine, theirs)
        )
        number = mine.counts.size
        said = f"over {number} pairs of {what}"
        centre = _number(mine, share) / (_number(theirs, share) or inf)
        flipped = self._flipped(under, share, basis)
        told = ends is not None or flipped is not None
        return Ratio(centre, ends, said, number - 1, flipped) if told else None

    def _flipped(self, under: "Observed", share: float | None, basis: Basis) -> float | None:
        """How probable it is that pairs differ so much by chance; None of too few pairs.

        Batches may be short here: samples that do not differ do not in any pair either. What each
        has alone must be over within a batch: flips of what lasts longer differ too often.
        """
        mine, theirs = (side.batches(basis) for side in (self, under))
        if mine is None or theirs is None or mine.counts.size < _FLIPPED_FROM:
            return None
        return sign_flip_probability(paired_differences(mine, theirs, share))


@dataclass(frozen=True)
class Ratio:
    """A ratio, its interval if it has two ends, what that was made from, its degrees of freedom.

    `by_chance` is how probable it is to be so far from 1 by chance, of many pairs; None of few, of
    which the interval has to say it.
    """

    value: float
    ends: Interval | None
    method: str
    degrees: int
    by_chance: float | None = None


def _batches(runs: Sequence[Values], basis: Basis, most: int) -> Batches:
    if basis is Basis.REPLICATIONS:
        return Batches([[run] for run in runs])
    if basis is Basis.AFTER_PILOT:
        return Batches.cut([after_pilot(run) for run in runs], most)
    return Batches.cut(runs, most)


def _number(of: Batches, share: float | None) -> float:
    return of.mean if share is None else of.quantile(share)


def _needs(case: Series, reason: Withheld) -> Needs:
    if reason.times == inf:
        return Needs(inf, None, None, reason.why)
    few = case.basis is Basis.REPLICATIONS and (case.unordered or case.queue is None)
    jobs = None if few else ceil(reason.times * case.jobs)
    runs = ceil(reason.times * len(case.own))
    helps = case.replications_help(reason.times)
    least = case.basis is Basis.AFTER_PILOT
    return Needs(reason.times, jobs, runs if helps else None, reason.why, least)
