"""The finished runs of a paper, asked for slowdowns by scheme, load and size."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sojourn.columns import Columns
from sojourn.errors import InputError
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
    """The slowdowns of one size bin under one scheme at one place: a run and a load.

    `sections` are as good as independent (`Sample.sections`), warm-up left out.
    """

    place: str
    scheme: str
    sections: list[Values]
    unfinished: int

    def point(self, statistic: str) -> Point | None:
        """The mean, or a percentile such as `p99`; None where no job finished."""
        values = np.concatenate(self.sections)
        where = f"{self.place}: {self.scheme}"
        if not values.size:
            return None
        if statistic == MEAN:
            return Point(float(values.mean()), mean_interval(self.sections), where)
        percentile = _percentile(statistic)
        centre = float(np.percentile(values, percentile))
        (ci95,) = quantile_intervals(self.sections, [percentile], [centre])
        return Point(centre, ci95, where)

    def over(self, other: "Cell", statistic: str) -> Point | None:
        """A statistic of this one divided by that of another; None where either has none."""
        above, below = self.point(statistic), other.point(statistic)
        if above is None or below is None:
            return None
        ci95 = (
            mean_ratio_interval(self.sections, other.sections)
            if statistic == MEAN
            else quantile_ratio_interval(self.sections, other.sections, _percentile(statistic))
        )
        return Point(above.value / below.value, ci95, f"{above.where} / {other.scheme}")


class Result:
    """One finished run. Its rows are read when they are first asked for."""

    def __init__(self, name: str, run: Run) -> None:
        self.name = name
        self.run = run

    @cached_property
    def _samples(self) -> dict[tuple[str, float], Sample]:
        columns = Columns.of(self.run.directory, self.run.ledger)
        by = [columns.find("scheme"), columns.find("load")]
        groups = groups_of(self.run.directory, self.run.ledger, by, warmup=True)
        found = ((group.case["scheme"], group.case["load"], group.sample) for group in groups)
        return {(str(scheme), float(load or 0)): sample for scheme, load, sample in found}

    @property
    def schemes(self) -> list[str]:
        """In the study's order."""
        return list(dict.fromkeys(scheme for scheme, _ in self._samples))

    @property
    def loads(self) -> list[float]:
        """From low to high."""
        return sorted({load for _, load in self._samples})

    def cell(self, scheme: str, load: float, size_bin: str) -> Cell:
        """The slowdowns of one scheme at one load, of one bin of `summary.BINS`.

        Raises:
            InputError: the run has no such case.
        """
        sample = self._samples.get((scheme, load))
        if sample is None:
            raise InputError(f"{self.run.path}: no case of {scheme} at load {load:g}")
        part = sample.between(*BINS[size_bin])
        place = f"{self.name} at load {load:g}"
        return Cell(place, scheme, part.sections("slowdown")[0], part.counts()[1])

    def sizes(self) -> list[Values]:
        """The sizes of all flows that arrived, in bytes, in sections as in `Sample.sections`.

        Those of one case: the same flows arrive in every case.
        """
        sample = next(iter(self._samples.values()))
        parts = [part.size_bytes.astype(np.float64) for part in sample.parts]
        return parts if len(parts) > 1 else batches(parts[0])


def _percentile(statistic: str) -> float:
    return float(statistic.removeprefix("p"))
