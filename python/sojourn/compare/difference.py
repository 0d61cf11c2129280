"""How far two samples are apart, and how much of that may be chance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sojourn.sample import Sample
from sojourn.statistics import (
    Interval,
    Values,
    independent_ratio_interval,
    ks_probability,
    mean_ratio_interval,
    probability_by_chance,
    quantile_ratio_interval,
    welch_degrees,
)
from sojourn.summary import Estimate
from sojourn.units import number
from sojourn.vocabulary import MISSED

MEAN, MAX = "mean", "max"


@dataclass(frozen=True)
class Difference:
    """How far B's number is from A's, in per cent of A's.

    `ci95` is the 95 % interval of that, None where one of the two numbers has none; `by_chance` how
    probable it is to be so far apart by chance, 1 where there is no interval.
    """

    per_cent: float
    ci95: Interval | None
    by_chance: float = 1.0

    def __str__(self) -> str:
        if self.ci95 is None:
            return f"{abs(self.per_cent):.1f} %"
        low, high = self.ci95
        return f"{abs(self.per_cent):.1f} % ± {number((high - low) / 2, 2)} %"


@dataclass(frozen=True)
class Pairs:
    """Two samples of one metric in sections.

    Section `i` of the one was under the same chance as that of the other. `method` says what a
    section is.
    """

    a: Sequence[Values]
    b: Sequence[Values]
    method: str

    @staticmethod
    def of(a: Sample, b: Sample, metric: str) -> "Pairs | None":
        """The pairs of two samples of the same seed and replications.

        Of one replication, the same consecutive parts. None where there are no two pairs.
        """
        (ours, _), (theirs, _) = a.sections(metric), b.sections(metric)
        if len(ours) != len(theirs) or len(ours) < 2:
            return None
        several = len(a.replications(metric)) > 1
        what = "pairs of replications" if several else "pairs of batches in order of arrival"
        return Pairs(ours, theirs, f"over {len(ours)} {what}")


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


def same_warmup(a: Sample, b: Sample) -> tuple[Sample, Sample]:
    """Two samples of the same jobs, without those that are of the warm-up of either."""
    early = [p.early | q.early for p, q in zip(a.parts, b.parts, strict=True)]
    first, second = (
        Sample(tuple(replace(p, early=e) for p, e in zip(sample.parts, early, strict=True)))
        for sample in (a, b)
    )
    return first, second


def same_replications(a: Sample, b: Sample) -> tuple[Sample, Sample]:
    """Two samples in the replications that both have; as they are where they have none."""
    own = [{part.replication for part in sample.parts} for sample in (a, b)]
    both = own[0] & own[1]
    return (a.only(both), b.only(both)) if both else (a, b)


def differences(
    a: Estimate, b: Estimate, samples: tuple[Sample, Sample], *, paired: bool
) -> tuple[dict[str, Difference | None], str | None]:
    """How far each number of B is from A's, and how the intervals were made.

    With common random numbers (`paired`) what moves both samples moves their ratio little, and
    the interval is that of the pairs. Otherwise the samples are taken as independent. The maximum
    has no interval.

    Returns:
        By the names of the numbers, `mean`, `p50`, ..., `max`: None where one of the samples has
        no such number, or A's is zero. And the method, None where no number has an interval.

    Source: Law, Simulation Modeling and Analysis, sections 10.2 and 11.2.
    """
    pairs = Pairs.of(*samples, a.metric) if paired else None
    sections = [len(sample.sections(a.metric)[0]) for sample in samples]
    found: dict[str, Difference | None] = {}
    for name, there in _numbers(a).items():
        here = _numbers(b)[name]
        if here is None or there is None or (here != there and not there):
            found[name] = None
            continue
        if here == there == 0:
            found[name] = Difference(0.0, None)
            continue
        interval, degrees = None, float(sections[0] - 1)
        if pairs is not None:
            interval = _finite(_paired(pairs, name))
        elif (own := _intervals(a).get(name)) and (other := _intervals(b).get(name)) and here:
            both = (here, other, sections[1]), (there, own, sections[0])
            interval, degrees = independent_ratio_interval(*both), welch_degrees(*both)
        per_cent = float(np.divide(here - there, there) * 100)
        if interval is None:
            found[name] = Difference(per_cent, None)
            continue
        low, high = ((end - 1) * 100 for end in interval)
        chance = probability_by_chance(per_cent, (high - low) / 2, degrees)
        found[name] = Difference(per_cent, (low, high), chance)
    if not any(difference and difference.ci95 for difference in found.values()):
        return found, None
    return found, pairs.method if pairs else "of independent runs (Welch)"


def ks_by_chance(samples: tuple[Sample, Sample], metric: str, *, paired: bool) -> float | None:
    """How probable it is that their distribution functions are so far apart by chance.

    A job that did not finish took longer than any that did. None where there is too little to tell.
    """
    a, b = (sample.with_unfinished(metric).sections(metric)[0] for sample in samples)
    return ks_probability(a, b, paired=paired and len(a) == len(b))


def _finite(interval: Interval | None) -> Interval | None:
    """None where a section's number is zero, so that its ratio says nothing."""
    return interval if interval and np.isfinite(interval).all() else None


def _paired(pairs: Pairs, name: str) -> Interval | None:
    if name == MAX:
        return None
    if name == MEAN:
        return mean_ratio_interval(pairs.b, pairs.a)
    return quantile_ratio_interval(pairs.b, pairs.a, float(name.removeprefix("p")))


def _numbers(of: Estimate) -> dict[str, float | None]:
    if of.metric == MISSED:  # of zeros and ones the mean says all
        return {MEAN: of.mean}
    return {MEAN: of.mean, **of.quantiles, MAX: of.max}


def _intervals(of: Estimate) -> dict[str, Interval | None]:
    return {MEAN: of.ci95, **of.quantiles_ci95}
