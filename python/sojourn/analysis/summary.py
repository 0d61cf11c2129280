"""The summary of a run: groups of cases, size bins, and the numbers of each."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sojourn._internal import vocabulary
from sojourn._internal.errors import InputError
from sojourn._internal.units import count, duration
from sojourn._internal.vocabulary import ALL_SIZES, GOODPUT, MISSED, JobKind
from sojourn.analysis import cautions, exact
from sojourn.analysis.observed import UNSTEADY, Needs, Observed
from sojourn.analysis.sample import Group, Sample, Warmup, groups_of
from sojourn.analysis.statistics import Interval, Values, jain
from sojourn.store.columns import Columns
from sojourn.store.ledger import Ledger, Value

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.runs import Run


@dataclass(frozen=True)
class Estimate:
    """What one group of jobs says about one metric.

    `n` counts the finished jobs behind the numbers, `unfinished` those that were not done by
    the end of their run, `warmup` those left out because they finished but arrived during the
    warm-up: together, all jobs of the group. Numbers are None where no job finished, intervals
    where there are too few jobs for one.

    The metric `missed_deadline` is there where jobs have deadlines, and about those that have: 1
    for one that was not done by then, 0 for one that was, so that the mean is the share that
    missed theirs. One that did not finish missed its own, so that here `n` counts it too.

    The metric `goodput_bps`, in bits a second, is about flows that never end, and there is no
    other about them. `shares` says how evenly they share: `min`, `p5`, `p50` and `p95`, `spread`
    (p95 over p5; None where p5 is zero) and `jain`, Jain's fairness index. For other metrics it
    is empty.
    """

    case: dict[str, Value | None]
    kind: str
    bin: str
    metric: str
    n: int
    unfinished: int
    warmup: int
    mean: float | None
    ci95: Interval | None
    ci_method: str | None
    quantiles: dict[str, float | None]
    quantiles_ci95: dict[str, Interval | None]
    max: float | None
    needs: dict[str, Needs] = field(default_factory=dict)
    shares: dict[str, float | None] = field(default_factory=dict)

    def numbers(self) -> Iterator[tuple[str, float | None, Interval | None]]:
        """The name, the value and the interval of each number that says where jobs lie."""
        yield "mean", self.mean, self.ci95
        for name, value in self.quantiles.items():
            yield name, value, self.quantiles_ci95[name]
        yield "max", self.max, None

    def flat(self) -> dict[str, object]:
        """The estimate as the contract's JSON object: `case`, `kind`, `bin`, `metric`, ..."""
        return {
            "case": self.case,
            "kind": self.kind,
            "bin": self.bin,
            "metric": self.metric,
            "n": self.n,
            "unfinished": self.unfinished,
            "warmup": self.warmup,
            "mean": self.mean,
            "ci95": self.ci95 and list(self.ci95),
            "ci95_needs": _needed(self.needs, MEAN),
            "ci_method": self.ci_method,
            **self.shares,
            **self.quantiles,
            **{
                f"{name}_ci95": interval and list(interval)
                for name, interval in self.quantiles_ci95.items()
            },
            **{f"{name}_ci95_needs": _needed(self.needs, name) for name in self.quantiles},
            "max": self.max,
        }


@dataclass(frozen=True, repr=False)
class Summary:
    """Estimates of a run: for each group and kind of job, each bin, each metric.

    It shows itself as the table that `sojourn show` prints.

    `ideals` are the definitions of the best possible time that the slowdowns refer to; `told` are
    totals of the cases in words; `analysis` says what is known of the cases without simulating
    them; `cautions` what to know before trusting the numbers;
    `longer` is the command that makes the runs `TIMES` as long, or what to do in its place, and
    `repeated` that for `TIMES` replications in all;
    `missing` counts the cases of the study that are not finished yet, and so are in no estimate.
    """

    title: str
    longer: str
    repeated: str
    by: tuple[str, ...]
    percentiles: tuple[str, ...]
    ideals: tuple[str, ...]
    told: tuple[str, ...]
    analysis: tuple[str, ...]
    cautions: tuple[str, ...]
    warmup: Warmup
    missing: int
    estimates: tuple[Estimate, ...]

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def to_list(self) -> list[dict[str, object]]:
        """What `sojourn show --json` prints: each estimate with what to know before trusting it."""
        return [{**e.flat(), "cautions": list(self.cautions)} for e in self.estimates]

    def tidy(self) -> "pd.DataFrame":
        """A data frame with a number a row, as plotting libraries want it.

        Columns: those of the group, `kind`, `bin`, `metric` with its unit as tables show it
        (`response time [ms]`), `statistic` (`mean`, `p99`, `max`, ...), `value`, `ci_low` and
        `ci_high` (missing where there is no interval), and `n`, how many jobs it is of.

        Raises:
            InputError: pandas is not installed.
        """
        numbers = []
        for estimate in self.estimates:
            metric = vocabulary.kind_of(estimate.kind).metric(estimate.metric)
            of = {"kind": estimate.kind, "bin": estimate.bin, "metric": metric.title}
            for statistic, value, interval in estimate.numbers():
                low, high = interval or (None, None)
                ends = {"value": value, "ci_low": low, "ci_high": high}
                shown = {k: None if v is None else v / metric.per_unit for k, v in ends.items()}
                own = {**of, "statistic": statistic, **shown, "n": estimate.n}
                numbers.append({**_beside(own, estimate.case), **own})
        return _frame(numbers, [*self.by, *_TIDY])

    def to_pandas(self) -> "pd.DataFrame":
        """A data frame of `to_records`.

        Raises:
            InputError: pandas is not installed.
        """
        return _frame(self.to_records())

    def to_records(self) -> list[dict[str, object]]:
        """A row an estimate: the group's columns in front, the ends of intervals in two columns.

        Where an interval is withheld, `..._needs_jobs` says how many jobs a run needs for it, and
        `..._needs_replications` how many replications would do.

        A column of the group that is called as one of the others has `case_` before its name.

        Numbers are in the units of the rows, which stand in the metric's name: `sojourn_ps` is in
        picoseconds.
        """
        records = []
        for estimate in self.estimates:
            flat = {k: v for k, v in estimate.flat().items() if k != "case"}
            record: dict[str, object] = _beside(flat, estimate.case)
            for name, value in flat.items():
                if name.endswith("ci95"):
                    low, high = value if isinstance(value, list) else (None, None)
                    record |= {f"{name}_low": low, f"{name}_high": high}
                elif name.endswith("ci95_needs"):
                    needs = value if isinstance(value, dict) else {}
                    record |= {f"{name}_{of}": needs.get(of) for of in ("jobs", "replications")}
                else:
                    record[name] = value
            records.append(record)
        return records

    def __repr__(self) -> str:
        from sojourn.presentation.tables import text

        return text(self)

    def _repr_html_(self) -> str:
        from sojourn.presentation.tables import html

        return html(self)


def _beside(own: Mapping[str, object], case: Mapping[str, object]) -> dict[str, object]:
    """The columns of a group: those that are called as others have `case_` before their name."""
    return {f"case_{name}" if name in own else name: value for name, value in case.items()}


_TIDY = ("kind", "bin", "metric", "statistic", "value", "ci_low", "ci_high", "n")


def _frame(records: list[dict[str, object]], columns: list[str] | None = None) -> "pd.DataFrame":
    """A data frame; `columns` are those of one without rows."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise InputError("data frames need pandas: pip install 'sojourn[pandas]'") from None
    frame = pd.DataFrame(records, columns=None if records else columns)
    ends = [n for n in map(str, frame.columns) if n.endswith(("_low", "_high")) or n == "value"]
    return frame.astype(dict.fromkeys(ends, float))


def summarise(
    run: "Run",
    *,
    by: Sequence[str] | None = None,
    percentiles: Sequence[float] | None = None,
    warmup: Warmup = True,
) -> Summary:
    """Summarise a run.

    Args:
        run: the run.
        by: columns to group by: axes, parameters, dictionary columns of the rows; by default
            the axes, and the part of the workload where it has two.
        percentiles: which ones, in per cent; by default those that the model's users ask for.
        warmup: what to leave out at the start.

    Raises:
        InputError: an unknown column, a percentile out of range, a file that cannot be read.
    """
    check_percentiles(percentiles or ())
    columns = Columns.of(run.directory, run.ledger)
    chosen = [columns.find(name) for name in dict.fromkeys(columns.apart if by is None else by)]
    chosen_percentiles = [*dict.fromkeys(round(p, _DIGITS) for p in percentiles or ())]
    estimates: list[Estimate] = []
    growing, together = [], []
    for group in groups_of(run.directory, run.ledger, chosen, warmup=warmup):
        if not chosen_percentiles:
            chosen_percentiles = [*vocabulary.of_kinds([group.kind]).percentiles]
        found = [*_of_group(group, chosen_percentiles)]
        together.append({part.case for part in group.sample.parts})
        if cautions.grows(group.sample):
            growing.append(group.case)
            found = [replace(e, needs=dict.fromkeys(e.needs, UNSTEADY)) for e in found]
        estimates += found
    timed = [e.n for e in estimates if e.metric == "slowdown"]
    kinds = {e.kind for e in estimates}
    return Summary(
        title=run.title,
        longer=_longer(run),
        repeated=_repeated(run),
        by=tuple(column.label for column in chosen),
        percentiles=tuple(_name(percentile) for percentile in chosen_percentiles),
        ideals=ideals(run.ledger),
        told=tuple(_told(run.ledger, kinds)),
        analysis=exact.lines(run.ledger, estimates),
        cautions=(
            *cautions.of_run(run),
            *cautions.pooled(together, run.ledger),
            *cautions.unsteady(growing),
            *cautions.thin(timed, chosen_percentiles),
        ),
        warmup=warmup,
        missing=run.missing,
        estimates=tuple(estimates),
    )


def _longer(run: "Run") -> str:
    """How the runs are made `TIMES` as long."""
    records = [*run.ledger]
    known = {name for record in records for name in record.parameters}
    paths = [path for m in vocabulary.models().values() for path in m.lengths if path in known]
    if "measured" in run.meta or not paths:
        return "a longer trace or measurement"
    if any(len({record.parameters.get(path) for record in records}) > 1 for path in paths):
        return f"larger {paths[0]} in the sweep"
    often = max(Counter(record.case for record in records).values())
    replications = f" --replications {often}" if often > 1 else ""
    return f"sojourn run {shlex.quote(str(run.directory.study))}{replications} --more {TIMES}"


def _repeated(run: "Run") -> str:
    """How there are `TIMES` replications."""
    if "measured" in run.meta:
        return "more measurements"
    verb = "estimate" if "estimated" in run.meta else "run"
    study, out = shlex.quote(str(run.directory.study)), shlex.quote(f"{run.path}-{TIMES}")
    return f"sojourn {verb} {study} --replications {TIMES} --out {out}"


def _of_group(group: Group, percentiles: Sequence[float]) -> Iterator[Estimate]:
    """The estimates of a group: each size bin, each metric."""
    kind = vocabulary.kind_of(group.kind)
    for size_bin, ends in bins_of(kind, [group.sample]).items():
        jobs = group.sample.between(*ends)
        for metric in group.sample.metrics():
            yield estimate(group, size_bin, metric, jobs, percentiles)


def bins_of(kind: JobKind, samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """All sizes together, and those bins with jobs of any sample, where that says more."""
    there = {
        name: ends
        for name, ends in kind.bins.items()
        if any(part.size_bytes.size for s in samples for part in s.between(*ends).parts)
    }
    return {ALL_SIZES: (-np.inf, np.inf), **(there if len(there) > 1 else {})}


def bins_of_groups(groups: Sequence[Group]) -> dict[str, tuple[float, float]]:
    """The bins that are told apart of any kind of job in these groups."""
    found: dict[str, tuple[float, float]] = {}
    for kind in dict.fromkeys(group.kind for group in groups):
        samples = [group.sample for group in groups if group.kind == kind]
        found |= bins_of(vocabulary.kind_of(kind), samples)
    return found


def _told(ledger: Ledger, kinds: Iterable[str]) -> Iterator[str]:
    """The totals of each case that its model's users ask for, the mean of its replications."""
    for names in vocabulary.of_kinds(kinds).told:
        found: dict[tuple[int, str], list[float]] = {}
        for record in ledger:
            if name := next((name for name in names if name in record.figures), None):
                found.setdefault((record.case, name), []).append(float(record.figures[name]))
        axes = {record.case: record.axes for record in ledger}
        for (case, name), values in found.items():
            where = ", ".join(f"{axis} {value}" for axis, value in axes[case].items())
            mean = float(np.mean(values))
            number = duration(mean) if name.endswith("_ps") else f"{mean:,.0f}"
            often = f" (mean of {count(len(values), 'replication')})" if len(values) > 1 else ""
            yield f"{where}: {names[name]} {number}{often}" if where else f"{names[name]} {number}"


def check_percentiles(percentiles: Sequence[float]) -> None:
    """Refuse what is no percentile.

    Raises:
        InputError: one is out of range.
    """
    for percentile in percentiles:
        if not 0 <= percentile <= 100 or (percentile < 100) != (round(percentile, _DIGITS) < 100):
            expected = f"0 to 100, with at most {_DIGITS} digits after the point"
            raise InputError(f"percentile {percentile:.15g}: expected {expected}")


_DIGITS = 6


def ideals(ledger: Ledger) -> tuple[str, ...]:
    """The definitions of the ideal time that the cases refer to; mostly one."""
    said = dict.fromkeys(str(record.figures["ideal"]) for record in ledger)
    return tuple(said)


def incomplete(missing: int) -> str:
    """What is to be said of a run that is not finished."""
    return f"{count(missing, 'case')} of the study not run yet; `sojourn run` resumes it"


MEAN = "mean"
TIMES = "TIMES"
"""Where in `Summary.longer` and `repeated` it says how many times."""


def estimate(
    group: Group,
    size_bin: str,
    metric: str,
    sample: Sample,
    percentiles: Sequence[float],
    *,
    observed: Observed | None = None,
) -> Estimate:
    """What the jobs of a group in one size bin say about one metric; percentiles in per cent.

    `observed` is what the sample has of it, where that was asked for before.
    """
    sample = sample.due() if metric == MISSED else sample
    observed = sample.observed(metric) if observed is None else observed
    values = np.concatenate([np.empty(0), *(run for case in observed.cases for run in case.runs)])
    quantiles: list[float | None] = [None] * len(percentiles)
    if values.size:
        quantiles = [*np.percentile(values, percentiles).tolist()]
    shares = [None, *(percentile / 100 for percentile in percentiles)]
    found = [observed.interval(share) if share not in (0, 1) else (None, None) for share in shares]
    names = [MEAN, *(_name(percentile) for percentile in percentiles)]
    intervals = {name: interval for name, (interval, _) in zip(names, found, strict=True)}
    ci95 = intervals.pop(MEAN)
    _, unfinished, early = sample.counts()
    return Estimate(
        case=group.case,
        kind=group.kind,
        bin=size_bin,
        metric=metric,
        n=values.size,
        unfinished=unfinished,
        warmup=early,
        mean=float(values.mean()) if values.size else None,
        ci95=ci95,
        ci_method=observed.method() if ci95 or any(intervals.values()) else None,
        quantiles=dict(zip(intervals, quantiles, strict=True)),
        quantiles_ci95=intervals,
        needs={name: needs for name, (_, needs) in zip(names, found, strict=True) if needs},
        max=float(values.max()) if values.size else None,
        shares=_shares(values) if metric == GOODPUT and values.size else {},
    )


def _needed(needs: dict[str, Needs], name: str) -> dict[str, object] | None:
    return needs[name].to_dict() if name in needs else None


def _shares(values: Values) -> dict[str, float | None]:
    low, middle, high = np.percentile(values, [5, 50, 95]).tolist()
    return {
        "min": float(values.min()),
        "p5": low,
        "p50": middle,
        "p95": high,
        "spread": high / low if low > 0 else None,
        "jain": jain(values),
    }


def _name(percentile: float) -> str:
    return f"p{percentile:.10g}"
