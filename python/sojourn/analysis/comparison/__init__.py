"""Two runs beside each other: which cases they share, and how far their distributions are apart.

Either run may be measured or simulated. Every comparison is of one kind of job in one case that
both runs have, one size bin and one metric.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from sojourn._internal.errors import InputError, did_you_mean
from sojourn._internal.vocabulary import MISSED, JobKind, kind_of, of_kinds, order, worded
from sojourn.analysis import algorithms, cautions
from sojourn.analysis.comparison.difference import (
    differences,
    ks_by_chance,
    same_jobs,
    same_replications,
)
from sojourn.analysis.comparison.matching import Pair, pairs
from sojourn.analysis.comparison.metric_comparison import SIDES, MetricComparison
from sojourn.analysis.comparison.verdict import Verdict, verdicts
from sojourn.analysis.metric_summary import (
    bins_of,
    check_percentiles,
    metric_summary,
)
from sojourn.analysis.sample import Group, Sample, Warmup
from sojourn.analysis.statistics import ks_distance
from sojourn.analysis.steadiness import is_steady
from sojourn.analysis.summary import ideals
from sojourn.store.columns import Column, Columns
from sojourn.store.ledger import Ledger, Value, written
from sojourn.store.stored_run import StoredRun


@dataclass(frozen=True)
class Comparisons:
    """All that two runs can be compared in.

    `names` are what the runs are called; `unmatched` counts each run's other cases; `cautions` are
    what to know before trusting the numbers.
    """

    runs: tuple[StoredRun, StoredRun]
    names: tuple[str, str]
    percentiles: tuple[str, ...]
    unmatched: tuple[int, int]
    cautions: tuple[str, ...]
    comparisons: tuple[MetricComparison, ...]

    @property
    def verdicts(self) -> list[Verdict]:
        """Which run is better, for each case, kind of job and metric."""
        measured = ["measured" in run.meta for run in self.runs]
        return [*verdicts(self.comparisons, self.names, rivals=measured[0] == measured[1])]

    @property
    def algorithms(self) -> tuple[list[algorithms.Algorithm], list[algorithms.Algorithm]]:
        """The users' classes that each run was simulated with."""
        a, b = self.runs
        return algorithms.algorithms(a.ledger), algorithms.algorithms(b.ledger)

    def __iter__(self) -> Iterator[MetricComparison]:
        return iter(self.comparisons)

    def beyond(self, per_cent: float) -> list[tuple[MetricComparison, list[str]]]:
        """The comparisons with numbers further apart than that, and those numbers."""
        return [(c, names) for c in self for names in [c.beyond(per_cent)] if names]

    def to_dict(self, within: float | None = None) -> dict[str, object]:
        """What `sojourn compare --json` prints; `within` is the check that was asked for."""
        runs = {
            side: {
                "run": name,
                "title": run.title,
                "unmatched_cases": unmatched,
                "algorithms": used,
            }
            for side, run, name, unmatched, used in zip(
                SIDES, self.runs, self.names, self.unmatched, self.algorithms, strict=True
            )
        }
        return {
            **runs,
            "within_percent": within,
            "holds": None if within is None else not self.beyond(within),
            "algorithms_differ_in": algorithms.differing(*self.algorithms),
            "cautions": list(self.cautions),
            "verdicts": [verdict.flat() for verdict in self.verdicts],
            "comparisons": [comparison.flat() for comparison in self],
        }


def between(
    run: StoredRun,
    column: str,
    values: tuple[str, str],
    *,
    metrics: Sequence[str] = (),
    percentiles: Sequence[float] = (),
    warmup: Warmup = True,
) -> Comparisons:
    """Compare two values of a column within a run, such as two schemes of a sweep.

    Args:
        run: the run.
        column: an axis or a parameter.
        values: the two, as text; differences are in per cent of the first.
        metrics: as of `compare`.
        percentiles: as of `compare`.
        warmup: as of `compare`.

    Raises:
        InputError: as `compare`; there is no such column or value.
    """
    found = Columns.of(run.directory, run.ledger).find(column)
    first, second = (_where(run, found, value) for value in values)
    names = worded([(column, values[0])]), worded([(column, values[1])])
    return compare(
        first,
        second,
        metrics=metrics,
        percentiles=percentiles,
        warmup=warmup,
        names=names,
        apart_in=found,
    )


def values_of(run: StoredRun, column: str) -> list[str]:
    """What there is in a column of the cases of a run, as text.

    Raises:
        InputError: there is no such column, or it is one of the rows.
    """
    found = Columns.of(run.directory, run.ledger).find(column)
    return list(dict.fromkeys(_texts(run, found).values()))


def _texts(run: StoredRun, column: Column) -> dict[tuple[int, int], str]:
    """What each case has in a column, as text."""
    if column.in_rows:
        raise InputError(f"{column.label!r} differs from job to job, not from case to case")
    return {record.key: written(record.columns.get(column.name)) for record in run.ledger}


def _where(run: StoredRun, column: Column, value: str) -> StoredRun:
    """The cases of a run with that value."""
    texts = _texts(run, column)
    if value not in texts.values():
        there = dict.fromkeys(texts.values())
        raise InputError(f"no case with {column.label} {value!r}{did_you_mean(value, there)}")
    return replace(run, ledger=Ledger(r for r in run.ledger if texts[r.key] == value))


def compare(
    a: StoredRun,
    b: StoredRun,
    *,
    metrics: Sequence[str] = (),
    percentiles: Sequence[float] = (),
    warmup: Warmup = True,
    names: tuple[str, str] | None = None,
    apart_in: Column | None = None,
) -> Comparisons:
    """Compare two runs, case by case.

    Of runs with the same seed only replications that both have are compared, pair by pair.

    Args:
        a: one run; differences are in per cent of it.
        b: the other.
        metrics: only these; what is shown of each kind of job where none is named.
        percentiles: which ones, in per cent; by default those that are shown of such jobs.
        warmup: the time to leave out at the start of each run, such as `"10ms"`; True for
            the first 5 % of its jobs, False for nothing.
        names: what the runs are called; their directories if nothing is said.
        apart_in: a column in which cases that are compared may differ.

    Raises:
        InputError: the runs share nothing; an unknown metric; a percentile out of range; a file
            that cannot be read.
    """
    check_percentiles(percentiles)
    matched, unmatched = pairs(a, b, apart_in)
    same_seed = _same_chance(a, b)
    wanted = _Wanted([*dict.fromkeys(percentiles)], frozenset(metrics), warmup, same_seed)
    of_pairs = [_of_pair(pair, wanted) for pair in matched]
    found = [one for part in of_pairs for one in part.comparisons]
    known = dict.fromkeys(metric for part in of_pairs for metric in part.metrics)
    for metric in metrics:
        if metric not in known:
            raise InputError(f"no metric {metric!r} in both runs{did_you_mean(metric, known)}")
        if not any(one.a.metric == metric for one in found):
            raise InputError(f"{metric} cannot be compared: {_IDEALS}")
    if not found:
        raise InputError(f"{a.path} and {b.path} share no kind of job; there is nothing to compare")
    own = [(a, names[0] if names else str(a.path)), (b, names[1] if names else str(b.path))]
    said = [f"{name}: {line}" for run, name in own for line in cautions.of_run(run)]
    said += dict.fromkeys(line for part in of_pairs for line in part.cautions)
    return Comparisons(
        runs=(a, b),
        names=names or (str(a.path), str(b.path)),
        percentiles=tuple(dict.fromkeys(name for one in found for name in one.a.quantiles)),
        unmatched=unmatched,
        cautions=tuple(dict.fromkeys(said)),
        comparisons=tuple(found),
    )


_IDEALS = "the runs mean different things by the ideal, so that their slowdowns differ by that too"


def _same_chance(a: StoredRun, b: StoredRun) -> bool:
    """Whether both runs drew the same random numbers: simulated, with one seed."""
    seeds = {run.meta.get("seed") for run in (a, b)}
    return len(seeds) == 1 and None not in seeds and not any("measured" in r.meta for r in (a, b))


@dataclass(frozen=True)
class _Wanted:
    """What is to be compared, and whether both runs drew the same random numbers."""

    percentiles: Sequence[float]
    metrics: frozenset[str]
    warmup: Warmup
    same_seed: bool

    def is_wanted(self, kind: JobKind, metric: str) -> bool:
        """Whether a metric of such jobs is."""
        return metric in self.metrics if self.metrics else kind.metric(metric).shown


@dataclass
class _Part:
    """What came of one case: the metrics that both runs have, too, and what to be aware of."""

    metrics: list[str] = field(default_factory=list)
    comparisons: list[MetricComparison] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)


def _of_pair(pair: Pair, wanted: _Wanted) -> _Part:
    """The comparisons of a case; size bins only where its jobs fall into more than one.

    Jobs of the same arrivals and sizes on both sides, such as a measurement and its simulation, are
    compared in pairs of batches, which hold the same jobs.
    """
    of_a, of_b = pair.groups(warmup=wanted.warmup)
    part = _Part()
    definitions = [ideals(Ledger(records)) for records in pair.records]
    for name in order(kind for kind in of_a if kind in of_b):
        kind, both = kind_of(name), (of_a[name], of_b[name])
        whole = both[0].sample, both[1].sample
        if wanted.same_seed:
            whole = same_replications(*whole)
        alike = same_jobs(*whole)
        if not all(map(is_steady, whole)):
            part.cautions.append(_without_steady_state(pair.case))
        metrics = [m for m in whole[0].metrics() if m in whole[1].metrics()]
        part.metrics += metrics
        percentiles = wanted.percentiles or of_kinds([name]).percentiles
        for (size_bin, ends), metric in product(bins_of(kind, whole).items(), metrics):
            if not wanted.is_wanted(kind, metric):
                continue
            if metric == "slowdown" and definitions[0] != definitions[1]:
                part.cautions.append(f"slowdown is not compared: {_IDEALS}")
                continue
            samples = whole[0].between(*ends), whole[1].between(*ends)
            one = _comparison(
                both, samples, size_bin, metric, percentiles, paired=wanted.same_seed or alike
            )
            if one.a.n or one.b.n:
                part.comparisons.append(one)
    return part


def _without_steady_state(case: dict[str, Value | None]) -> str:
    where = f" ({worded(case.items())})" if case else ""
    return f"a case has no steady state{where}: the difference grows with the length of the runs"


def _comparison(
    groups: tuple[Group, Group],
    samples: tuple[Sample, Sample],
    size_bin: str,
    metric: str,
    percentiles: Sequence[float],
    *,
    paired: bool,
) -> MetricComparison:
    due = [sample.due() if metric == MISSED else sample for sample in samples]
    observed = due[0].observed(metric), due[1].observed(metric)
    first, second = (
        metric_summary(group, size_bin, metric, sample, percentiles, observed=own)
        for group, sample, own in zip(groups, samples, observed, strict=True)
    )
    apart, method = differences(first, second, observed, paired=paired)
    values = samples[0].values(metric), samples[1].values(metric)
    return MetricComparison(
        a=first,
        b=second,
        differences=apart,
        method=method,
        ks=ks_distance(*values) if all(v.size for v in values) else None,
        ks_by_chance=ks_by_chance(samples, metric, observed, paired=paired),
        values=values,
    )
