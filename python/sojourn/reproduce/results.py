"""The finished runs of a paper, asked for slowdowns by scheme, load or another axis, and size."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sojourn.columns import Columns
from sojourn.ledger import Value
from sojourn.runs import Run
from sojourn.sample import Sample, groups_of
from sojourn.statistics import (
    Interval,
    Values,
    batches,
    mean_interval,
    mean_ratio_interval,
    quantile_intervals,
    quantile_ratio_interval,
)
from sojourn.summary import BINS

MEAN = "mean"


@dataclass(frozen=True)
class Point:
    """A value with its 95 % interval, None where there is too little for one, and whose it is."""

    value: float
    ci95: Interval | None
    where: str = ""


@dataclass(frozen=True)
class Cell:
    """The flows of one size bin in a run under one scheme, `at` a value along its axis.

    `sample` has one part a replication; none where the case is not run yet. `late` is the share of
    the case's bytes, of all sizes, in flows that were not done when the last one arrived.
    """

    run: str
    at: str
    scheme: str
    sample: Sample
    late: float

    @property
    def unfinished(self) -> int:
        """How many of the flows did not finish."""
        return self.sample.counts()[1]

    def point(self, statistic: str) -> Point | None:
        """The mean, or a percentile such as `p99`; None where no job finished."""
        if not self.sample.parts:
            return None
        sections = _slowdowns(self.sample)
        values = np.concatenate(sections)
        where = f"{self.run} at {self.at}: {self.scheme}"
        if not values.size:
            return None
        if statistic == MEAN:
            return Point(float(values.mean()), mean_interval(sections), where)
        percentile = _percentile(statistic)
        centre = float(np.percentile(values, percentile))
        (ci95,) = quantile_intervals(sections, [percentile], [centre])
        return Point(centre, ci95, where)

    def over(self, other: "Cell", statistic: str) -> Point | None:
        """A statistic of this one divided by that of another, over the flows that both measure.

        The two are of one workload. None where no flow is left.
        """
        mine, others = _alike(self.sample, other.sample)
        above = replace(self, sample=mine).point(statistic)
        below = replace(other, sample=others).point(statistic)
        if above is None or below is None:
            return None
        ours, theirs = _slowdowns(mine), _slowdowns(others)
        ci95 = (
            mean_ratio_interval(ours, theirs)
            if statistic == MEAN
            else quantile_ratio_interval(ours, theirs, _percentile(statistic))
        )
        than = other.scheme if other.at == self.at else other.at
        return Point(above.value / below.value, ci95, f"{above.where} / {than}")


class Result:
    """One finished run, `x` being the column along its axis. Its rows are read when asked for."""

    def __init__(self, name: str, run: Run, x: str) -> None:
        self.name = name
        self.run = run
        self.x = x

    @cached_property
    def _samples(self) -> dict[tuple[str, Value], Sample]:
        columns = Columns.of(self.run.directory, self.run.ledger)
        by = [columns.find("scheme"), columns.find(self.x)]
        groups = groups_of(self.run.directory, self.run.ledger, by, warmup=True)
        found = ((group.case["scheme"], group.case[self.x], group.sample) for group in groups)
        return {(str(scheme), x or 0): sample for scheme, x, sample in found}

    @property
    def schemes(self) -> list[str]:
        """In the study's order."""
        return list(dict.fromkeys(scheme for scheme, _ in self._samples))

    @property
    def values(self) -> list[Value]:
        """Along the axis, in the study's order."""
        return list(dict.fromkeys(x for _, x in self._samples))

    def cell(self, scheme: str, x: Value, size_bin: str) -> Cell:
        """The flows of one scheme at one value along the axis, of one bin of `summary.BINS`."""
        sample = self._samples.get((scheme, x), Sample(()))
        part = sample.between(*BINS[size_bin])
        return Cell(self.name, f"{self.x} {x}", scheme, part, _late(sample))

    def sizes(self) -> list[Values]:
        """The sizes of all flows that arrived, in bytes, in sections as in `Sample.sections`.

        Those of one case: the same flows arrive in every case.
        """
        sample = next(iter(self._samples.values()))
        parts = [part.size_bytes.astype(np.float64) for part in sample.parts]
        return parts if len(parts) > 1 else batches(parts[0])


def _alike(ours: Sample, theirs: Sample) -> tuple[Sample, Sample]:
    """Two samples of the same flows, without the flows that one of them does not measure."""
    other = {part.replication: part for part in theirs.parts}
    pairs = [
        (part.where(both), other[part.replication].where(both))
        for part in ours.parts
        if part.replication in other
        for both in [part.kept() & other[part.replication].kept()]
    ]
    return Sample(tuple(pair[0] for pair in pairs)), Sample(tuple(pair[1] for pair in pairs))


def _late(sample: Sample) -> float:
    """The share of bytes in flows that were not done when the last one arrived."""
    late = sum(int(part.size_bytes[part.late].sum()) for part in sample.parts)
    return late / max(sum(int(part.size_bytes.sum()) for part in sample.parts), 1)


def _slowdowns(sample: Sample) -> list[Values]:
    """In sections that are as good as independent, warm-up left out."""
    return sample.sections("slowdown")[0]


def _percentile(statistic: str) -> float:
    return float(statistic.removeprefix("p"))
