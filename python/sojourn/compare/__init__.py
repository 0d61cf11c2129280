"""Two runs beside each other: which cases they share, and how far their distributions are apart.

Either run may be measured or simulated. Every comparison is of one kind of job in one case that
both runs have, one size bin and one metric.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sojourn.compare.matching import Pair, pairs
from sojourn.errors import InputError, did_you_mean
from sojourn.ledger import Value
from sojourn.runs import Run
from sojourn.sample import GOODPUT, Sample
from sojourn.statistics import Values, ks_distance
from sojourn.summary import BINS, PERCENTILES, Estimate, check_percentiles, estimate

SIDES = ("a", "b")
_OF_BOTH = ("case", "kind", "bin", "metric")


@dataclass(frozen=True)
class Comparison:
    """One metric of one kind of job in one case, in both runs.

    `differences` are per cent of run A, by the names of the numbers: `mean`, `p50`, ..., `max`;
    None where one of the runs has no such number, or A's is zero. `ks` is the Kolmogorov-Smirnov
    distance: the largest vertical distance between the two distribution functions, in which a
    job that did not finish took longer than any that did; None where a run has no such job.
    """

    a: Estimate
    b: Estimate
    differences: dict[str, float | None]
    ks: float | None
    values: tuple[Values, Values]

    @property
    def case(self) -> dict[str, Value | None]:
        """The swept parameters that both runs agree in."""
        return self.a.case

    def beyond(self, per_cent: float) -> list[str]:
        """The names of the numbers that are further apart than that; the maximum may be."""
        return [
            name
            for name, difference in self.differences.items()
            if name != "max" and not (difference is not None and abs(difference) <= per_cent)
        ]

    def flat(self) -> dict[str, object]:
        """The comparison as a JSON object."""
        a, b = self.a.flat(), self.b.flat()
        return {
            **{name: a[name] for name in _OF_BOTH},
            **{
                side: {name: value for name, value in flat.items() if name not in _OF_BOTH}
                for side, flat in zip(SIDES, (a, b), strict=True)
            },
            "difference_percent": self.differences,
            "ks": self.ks,
        }


@dataclass(frozen=True)
class Comparisons:
    """All that two runs can be compared in; `unmatched` counts each run's other cases."""

    runs: tuple[Run, Run]
    percentiles: tuple[str, ...]
    unmatched: tuple[int, int]
    comparisons: tuple[Comparison, ...]

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.comparisons)

    def beyond(self, per_cent: float) -> list[tuple[Comparison, list[str]]]:
        """The comparisons with numbers further apart than that, and those numbers."""
        return [(c, names) for c in self for names in [c.beyond(per_cent)] if names]

    def to_dict(self, within: float | None = None) -> dict[str, object]:
        """What `sojourn compare --json` prints; `within` is the check that was asked for."""
        runs = {
            side: {"run": str(run.path), "title": run.title, "unmatched_cases": unmatched}
            for side, run, unmatched in zip(SIDES, self.runs, self.unmatched, strict=True)
        }
        return {
            **runs,
            "within_percent": within,
            "holds": None if within is None else not self.beyond(within),
            "comparisons": [comparison.flat() for comparison in self],
        }


def compare(
    a: Run,
    b: Run,
    *,
    metrics: Sequence[str] = (),
    percentiles: Sequence[float] = PERCENTILES,
    warmup: bool = True,
) -> Comparisons:
    """Compare two runs, case by case.

    Args:
        a: one run; differences are in per cent of it.
        b: the other.
        metrics: only these; all that both runs have where none is named.
        percentiles: which ones, in per cent.
        warmup: leave each run's own warm-up (MSER-5) out.

    Raises:
        InputError: the runs share nothing; an unknown metric; a percentile out of range; a file
            that cannot be read.
    """
    check_percentiles(percentiles)
    chosen = [*dict.fromkeys(percentiles)]
    matched, unmatched = pairs(a, b)
    found = [one for pair in matched for one in _of_pair(pair, chosen, warmup)]
    if not found:
        raise InputError(f"{a.path} and {b.path} share no kind of job; there is nothing to compare")
    known = dict.fromkeys(one.a.metric for one in found)
    for metric in metrics:
        if metric not in known:
            raise InputError(f"no metric {metric!r} in both runs{did_you_mean(metric, known)}")
    return Comparisons(
        runs=(a, b),
        percentiles=tuple(found[0].a.quantiles),
        unmatched=unmatched,
        comparisons=tuple(one for one in found if not metrics or one.a.metric in metrics),
    )


def _of_pair(pair: Pair, percentiles: Sequence[float], warmup: bool) -> Iterator[Comparison]:
    """The comparisons of a case; size bins only where its jobs fall into more than one."""
    of_a, of_b = pair.groups(warmup=warmup)
    for kind in of_a:
        if kind not in of_b:
            continue
        both = of_a[kind], of_b[kind]
        bins = _occupied([group.sample for group in both])
        metrics = [m for m in both[0].sample.metrics() if m in both[1].sample.metrics()]
        for size_bin, metric in product(bins, metrics):
            samples = [group.sample.between(*BINS[size_bin]) for group in both]
            first, second = (
                estimate(group, size_bin, metric, sample, percentiles)
                for group, sample in zip(both, samples, strict=True)
            )
            if first.n or second.n:
                values = samples[0].values(metric), samples[1].values(metric)
                yield Comparison(
                    a=first,
                    b=second,
                    differences=_differences(first, second),
                    ks=ks_distance(*values) if all(v.size for v in values) else None,
                    values=values,
                )


def _occupied(samples: Sequence[Sample]) -> list[str]:
    """All sizes together, and the bins with jobs where that says more: not of jobs without end."""
    whole, *parts = BINS
    there = [
        name
        for name in parts
        if any(part.size_bytes.size for s in samples for part in s.between(*BINS[name]).parts)
    ]
    sized = all(sample.metrics() != (GOODPUT,) for sample in samples)
    return [whole, *(there if sized and len(there) > 1 else [])]


def _differences(a: Estimate, b: Estimate) -> dict[str, float | None]:
    def numbers(of: Estimate) -> dict[str, float | None]:
        return {"mean": of.mean, **of.quantiles, "max": of.max}

    def per_cent(there: float | None, here: float | None) -> float | None:
        return None if here is None or not there else float(np.divide(here - there, there) * 100)

    other = numbers(b)
    return {name: per_cent(there, other[name]) for name, there in numbers(a).items()}
