"""The finished runs of a paper, asked for numbers by line, load or another axis, and jobs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from sojourn._core import Case, quantity
from sojourn._internal.vocabulary import ALL_SIZES, GOODPUT, JobKind, Metric, kind_of
from sojourn.analysis.exact import Distribution, Known, distribution, known
from sojourn.analysis.fairness import Fairness, TooShort, of_records
from sojourn.analysis.intervals import BATCHES, sectioned_interval
from sojourn.analysis.observed import Observed
from sojourn.analysis.sample import Sample, groups_of
from sojourn.analysis.statistics import Interval, Values, jain
from sojourn.execution import inputs
from sojourn.store.columns import Column, Columns
from sojourn.store.ledger import Record, Value
from sojourn.store.stored_run import StoredRun

MEAN = "mean"


@dataclass(frozen=True)
class Quantity:
    """What is asked of a run: a statistic of a metric of some of its jobs.

    `jobs` are those of a kind, of the sizes of `bin`, one of that kind's. The statistic is
    `mean`, a percentile such as `p99`, or one of `SPREADS`. A metric is a column of the rows; times
    come in milliseconds or in the `unit` given, rates in megabits a second.
    """

    bin: str = ALL_SIZES
    statistic: str = MEAN
    metric: str = "slowdown"
    jobs: str = "flow"
    unit: str = ""

    @property
    def of(self) -> JobKind:
        """The kind of job that it is about."""
        return kind_of(self.jobs)

    @property
    def words(self) -> Metric:
        """What the metric is called."""
        return self.of.metric(self.metric)

    @property
    def ends(self) -> tuple[float, float]:
        """The sizes that it is about: above the one, up to the other."""
        return (-inf, inf) if self.bin == ALL_SIZES else self.of.bins[self.bin]

    @property
    def percentile(self) -> float | None:
        """The percentile that is asked for; None for the mean."""
        return None if self.statistic == MEAN else float(self.statistic.removeprefix("p"))

    @property
    def share(self) -> float | None:
        """The same as a share of the jobs."""
        return None if self.percentile is None else self.percentile / 100

    @property
    def scale(self) -> float:
        """What the metric's numbers are divided by."""
        return quantity(f"1{self.unit}") if self.unit else self.words.per_unit

    @property
    def shown_unit(self) -> str:
        """How that unit is written behind the metric's name."""
        return f" [{self.unit}]" if self.unit else self.words.bracketed

    @staticmethod
    def taken_from(table: dict[str, Any]) -> "Quantity":
        """The one that a table of data describes; its keys are taken out."""
        names = [field.name for field in fields(Quantity)]
        return Quantity(**{name: table.pop(name) for name in names if name in table})


def _quotient(above: float, below: float) -> float:
    return float(above / below) if below else inf


# How far values lie apart: other statistics than the mean and percentiles.
SPREADS: dict[str, Callable[[Values], float]] = {
    "jain": jain,
    "p95/p5": lambda values: _quotient(*np.percentile(values, [95, 5])),
    "p1/mean": lambda values: float(np.percentile(values, 1) / values.mean()),
    "p5/mean": lambda values: float(np.percentile(values, 5) / values.mean()),
    "above mean": lambda values: float(np.mean(values > values.mean())),
    "sd/mean": lambda values: float(values.std() / values.mean()),
    # Of a normal distribution 0.683.
    "within one sd": lambda values: float(np.mean(abs(values - values.mean()) <= values.std())),
}


@dataclass(frozen=True)
class Point:
    """A value with its 95 % interval, None where there is too little for one, and whose it is."""

    value: float
    ci95: Interval | None
    where: str = ""


@dataclass(frozen=True)
class Cell:
    """The jobs that a quantity is about in one line of a run, `at` a value along its axis.

    `sample` has one part a replication; none where the case is not run yet. `late` is the share of
    the case's bytes, of all sizes, in jobs that were not done when the last one arrived.
    """

    run: str
    at: str
    line: str
    what: Quantity
    sample: Sample
    late: float

    @property
    def unfinished(self) -> int:
        """How many of the jobs did not finish."""
        return self.sample.counts()[1]

    @property
    def unfinished_share(self) -> float:
        """What share of those that are not left out as warm-up."""
        kept, unfinished, _ = self.sample.counts()
        return unfinished / max(kept + unfinished, 1)

    def values(self) -> Values:
        """The metric in rising order, warm-up left out; infinite for times of unfinished jobs."""
        return self.sample.values(self.what.metric) / self.what.scale

    @cached_property
    def observed(self) -> Observed:
        """The metric of the jobs that have it, in the units of the rows."""
        return self.sample.observed(self.what.metric)

    def replications(self) -> list[Values]:
        """The metric of the jobs that have it, by replication."""
        runs = [run for case in self.observed.cases for run in case.runs]
        return [run / self.what.scale for run in runs]

    @property
    def too_short(self) -> TooShort | None:
        """Why the statistic is withheld, if it says how evenly long flows share."""
        if self.what.metric != GOODPUT or self.what.statistic not in SPREADS:
            return None
        return TooShort.of(part.record.figures for part in self.sample.parts)

    def point(self) -> Point | None:
        """The statistic; None where no job has the metric, or it is withheld (`too_short`)."""
        if not self.sample.parts or self.too_short:
            return None
        replications = self.replications()
        values = np.concatenate(replications)
        if not values.size:
            return None
        where = f"{self.run} at {self.at}: {self.line}"
        if spread := SPREADS.get(self.what.statistic):
            # Of a few flows of one replication no spread can be told.
            each = np.array([spread(own) for own in replications if len(replications) > 1])
            centre = spread(values)
            return Point(centre, sectioned_interval(centre, each), where)
        percentile, scale = self.what.percentile, self.what.scale
        centre = float(values.mean() if percentile is None else np.percentile(values, percentile))
        ends, _ = self.observed.interval(self.what.share)
        return Point(centre, ends and (ends[0] / scale, ends[1] / scale), where)

    def over(self, other: "Cell") -> Point | None:
        """The statistic divided by that of another, over the jobs that both measure.

        The two are of one workload. None where no job is left.
        """
        mine, others = _alike(self.sample, other.sample, self.what.metric)
        ours, theirs = replace(self, sample=mine), replace(other, sample=others)
        above, below = ours.point(), theirs.point()
        if above is None or below is None:
            return None
        ci95 = None
        if self.what.statistic not in SPREADS and above.ci95 and below.ci95:
            ratio = ours.observed.ratio(theirs.observed, self.what.share, paired=True)
            ci95 = ratio.ends if ratio else None
        than = other.line if other.at == self.at else other.at
        return Point(above.value / below.value, ci95, f"{above.where} / {than}")


class Result:
    """One finished run, `x` being the column along its axis, `lines` those that make a line.

    `axis` is what that column is called for people. Its rows are read when asked for.
    """

    def __init__(
        self, name: str, run: StoredRun, x: str, lines: Sequence[str] = ("scheme",), axis: str = ""
    ) -> None:
        self.name = name
        self.run = run
        self.x = x
        self.axis = axis or x
        self._lines = lines
        self._distributions: dict[int, Distribution | None] = {}

    @cached_property
    def _samples(self) -> dict[tuple[str, Value, str], Sample]:
        columns = Columns.of(self.run.directory, self.run.ledger)
        by: list[Column] = [columns.find(name) for name in (*self._lines, self.x)]
        groups = groups_of(self.run.directory, self.run.ledger, by, warmup=True)
        return {
            (", ".join(str(group.case[name]) for name in self._lines), x or 0, group.kind): sample
            for group in groups
            for x, sample in [(group.case[self.x], group.sample)]
        }

    @property
    def lines(self) -> list[str]:
        """In the study's order."""
        return list(dict.fromkeys(line for line, _, _ in self._samples))

    @property
    def values(self) -> list[Value]:
        """Along the axis, in the study's order."""
        return list(dict.fromkeys(x for _, x, _ in self._samples))

    def cell(self, line: str, x: Value, what: Quantity) -> Cell:
        """The jobs of one line at one value along the axis that a quantity is about."""
        sample = self._samples.get((line, x, what.jobs), Sample(()))
        part = sample.between(*what.ends)
        return Cell(self.name, f"{self.axis} {x}", line, what, part, _late(sample))

    def fairness(
        self, line: str, x: Value, jobs: str, over: Sequence[str] | None
    ) -> list[Fairness]:
        """How evenly the long flows of one line share, by averaging time; all times without any.

        Raises:
            NoAverageError: there is no average over such a time.
            InputError: a file cannot be read.
        """
        parts = self._samples.get((line, x, jobs), Sample(())).parts
        where: dict[str, Value | None] = {", ".join(self._lines): line, self.axis: x}
        return of_records(self.run, [part.record for part in parts], over, case=where)

    def known(self, line: str, x: Value, jobs: str) -> Known | None:
        """What is known of the mean sojourn time of all such jobs without simulating them.

        None where no formula applies, or where a case has other jobs too.
        """
        record = self._only_record(line, x, jobs)
        return None if record is None else known(record.figures)

    def distribution(self, line: str, x: Value, jobs: str) -> Distribution | None:
        """How the sojourn times of all such jobs are distributed without simulating them.

        None where no formula applies, or where a case has other jobs too.
        """
        record = self._only_record(line, x, jobs)
        if record is None or known(record.figures) is None:
            return None
        if record.case not in self._distributions:
            self._distributions[record.case] = distribution(self._cases[record.case])
        return self._distributions[record.case]

    def _only_record(self, line: str, x: Value, jobs: str) -> Record | None:
        """A record of the only case of those jobs, if that has no other jobs."""
        parts = self._samples.get((line, x, jobs), Sample(())).parts
        cases = {part.case for part in parts}
        kinds = [
            sample
            for sample in self._samples.values()
            if not cases.isdisjoint(part.case for part in sample.parts)
        ]
        return parts[0].record if len(cases) == len(kinds) == 1 else None

    @cached_property
    def _cases(self) -> list[Case]:
        directory = self.run.directory
        return inputs.study(directory.read_study(), str(directory.study), []).cases()

    def sizes(self) -> list[Values]:
        """The sizes of all jobs that arrived, in bytes, by replication, or the only one in parts.

        Those of one case: the same jobs arrive in every case.
        """
        sample = next(iter(self._samples.values()))
        parts = [part.size_bytes.astype(np.float64) for part in sample.parts]
        return parts if len(parts) > 1 else np.array_split(parts[0], BATCHES)


def _alike(ours: Sample, theirs: Sample, metric: str) -> tuple[Sample, Sample]:
    """Two samples of the same jobs, without those for which one of them has no such metric."""
    other = {part.replication: part for part in theirs.parts}
    pairs = [
        (part.where(both), other[part.replication].where(both))
        for part in ours.parts
        if part.replication in other
        for both in [part.kept(metric) & other[part.replication].kept(metric)]
    ]
    return Sample(tuple(pair[0] for pair in pairs)), Sample(tuple(pair[1] for pair in pairs))


def _late(sample: Sample) -> float:
    """The share of bytes in jobs that were not done when the last one arrived."""
    late = sum(int(part.size_bytes[part.late].sum()) for part in sample.parts)
    return late / max(sum(int(part.size_bytes.sum()) for part in sample.parts), 1)
