"""How far two samples are apart, and how much of that may be chance."""

from dataclasses import dataclass
from math import inf

import numpy as np

from sojourn._internal.units import bracketed, number
from sojourn._internal.vocabulary import MISSED
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.analysis.observed import Observed
from sojourn.analysis.sample import Sample
from sojourn.analysis.statistics import Interval, ks_probability, probability_by_chance

MEAN, MAX = "mean", "max"

_TEN_TIMES, _A_HUNDREDTH = 900.0, -99.0
"""Differences in per cent from which on a factor is said in their place."""


@dataclass(frozen=True)
class Difference:
    """How far B's number is from A's, in per cent of A's.

    `ci95` is the 95 % interval of that, None where one of the two numbers has none. `by_chance` is
    how probable it is to be so far apart by chance, None where that cannot be told. Of pairs it can
    be even without an interval: runs that are too short to say how far apart two schemes are in the
    long run may well show that they are.
    """

    per_cent: float
    ci95: Interval | None
    by_chance: float | None = None

    @property
    def is_factor(self) -> bool:
        """Whether B's number is at least ten times A's, or at most a hundredth of it but not 0."""
        return _TEN_TIMES <= self.per_cent < inf or -100 < self.per_cent <= _A_HUNDREDTH

    @property
    def signed(self) -> str:
        """The difference in a table: `-12.5 %`, `x 49,000`, `/ 120`, with its interval."""
        if self.is_factor:
            return f"{'x' if self.per_cent > 0 else '/'} {self._factor()}"
        ends = f" {bracketed(self.ci95)}" if self.ci95 else ""
        return f"{self.per_cent:+.1f} %{ends}"

    def _factor(self) -> str:
        """How many times the smaller number the larger one is, with the interval of that."""
        ratio = 1 + self.per_cent / 100
        ends = [1 + end / 100 for end in self.ci95] if self.ci95 else []
        if self.per_cent < 0:
            ends = [1 / end for end in reversed(ends) if end > 0]
            ratio = 1 / ratio
        said = bracketed((ends[0], ends[1])) if len(ends) == 2 else ""
        return f"{number(ratio)} {said}".rstrip()

    def __str__(self) -> str:
        if self.is_factor:
            return f"a factor of {self._factor()}"
        if self.ci95 is None:
            return f"{abs(self.per_cent):.1f} %"
        low, high = sorted(end if self.per_cent >= 0 else -end for end in self.ci95)
        return f"{abs(self.per_cent):.1f} % {bracketed((low, high))}"


def same_jobs(a: Sample, b: Sample) -> bool:
    """Whether both are about the same jobs: of equal arrival and size in every replication."""
    own, other = ({part.replication: part for part in sample.parts} for sample in (a, b))
    once = len(own) == len(a.parts) and len(other) == len(b.parts)
    return (
        once
        and own.keys() == other.keys()
        and all(
            np.array_equal(p.arrived_ps, q.arrived_ps)
            and np.array_equal(p.size_bytes, q.size_bytes)
            for p, q in zip(own.values(), other.values(), strict=True)
        )
    )


def same_replications(a: Sample, b: Sample) -> tuple[Sample, Sample]:
    """Two samples in the replications that both have; as they are where they have none."""
    own = [{part.replication for part in sample.parts} for sample in (a, b)]
    both = own[0] & own[1]
    return (a.only(both), b.only(both)) if both else (a, b)


def differences(
    a: MetricSummary, b: MetricSummary, observed: tuple[Observed, Observed], *, paired: bool
) -> tuple[dict[str, Difference | None], str | None]:
    """How far each number of B is from A's, and how the intervals were made.

    With common random numbers (`paired`) what moves both samples moves their ratio little, and
    the interval is that of the pairs. Otherwise the samples are taken as independent. The maximum
    has no interval.

    Returns:
        By the names of the numbers, `mean`, `p50`, ..., `max`: None where one of the samples has
        no such number, or A's is zero. And the method, None where no number has an interval.

    Source: Law, Simulation Modeling and Analysis, section 11.2: common random numbers.
    """
    found: dict[str, Difference | None] = {}
    methods: dict[str, None] = {}
    for name, there in _numbers(a).items():
        here = _numbers(b)[name]
        if here is None or there is None or (here != there and not there):
            found[name] = None
            continue
        if here == there == 0:
            found[name] = Difference(0.0, None)
            continue
        per_cent = float(np.divide(here - there, there) * 100)
        if name == MAX or (share := _share(name)) in (0, 1):
            found[name] = Difference(per_cent, None)
            continue
        judged = all(_interval(own, name) for own in (a, b))
        ratio = None
        if judged or (paired and all(own.can_be_tested(share) for own in observed)):
            ratio = observed[1].ratio(observed[0], share, paired=paired)
        if ratio is None:
            found[name] = Difference(per_cent, None)
            continue
        ends = ratio.ends and ((ratio.ends[0] - 1) * 100, (ratio.ends[1] - 1) * 100)
        chance = ratio.by_chance
        if chance is None and ends:
            centre = (ratio.value - 1) * 100
            half = centre - ends[0] if centre > 0 else ends[1] - centre
            chance = probability_by_chance(centre, half, ratio.degrees)
        found[name] = Difference(per_cent, ends if judged else None, chance)
        if judged and ends:
            methods[ratio.method] = None
    return found, ", ".join(methods) or None


def _interval(of: MetricSummary, name: str) -> Interval | None:
    return of.ci95 if name == MEAN else of.quantiles_ci95[name]


def _share(name: str) -> float | None:
    return None if name == MEAN else float(name.removeprefix("p")) / 100


def ks_by_chance(
    samples: tuple[Sample, Sample],
    metric: str,
    observed: tuple[Observed, Observed],
    *,
    paired: bool,
) -> float | None:
    """How probable it is that their distribution functions are so far apart by chance.

    A job that did not finish took longer than any that did. None where there is too little to tell:
    where the medians have no interval.
    """
    if any(own.withholds(0.5) for own in observed):
        return None
    a, b = (sample.with_unfinished(metric).observed(metric).own for sample in samples)
    if a is None or b is None:
        return None
    return ks_probability(a.parts, b.parts, paired=paired and len(a.parts) == len(b.parts))


def _numbers(of: MetricSummary) -> dict[str, float | None]:
    if of.metric == MISSED:  # of zeros and ones the mean says all
        return {MEAN: of.mean}
    return {MEAN: of.mean, **of.quantiles, MAX: of.max}
