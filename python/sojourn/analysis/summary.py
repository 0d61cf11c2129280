"""The summary of a run: groups of cases, size bins, and the numbers of each."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from sojourn._internal import vocabulary
from sojourn._internal.errors import InputError
from sojourn._internal.units import count
from sojourn.analysis import cautions, exact, thresholds
from sojourn.analysis.metric_summary import (
    DIGITS,
    MetricSummary,
    bins_of,
    check_percentiles,
    metric_summary,
    percentile_name,
)
from sojourn.analysis.observed import UNSTEADY
from sojourn.analysis.pauses import Stopped, of_group
from sojourn.analysis.sample import Group, Warmup, groups_of
from sojourn.analysis.steadiness import is_steady
from sojourn.analysis.totals import Totals, background, totals
from sojourn.analysis.totals.split import Part, parts
from sojourn.analysis.totals.unfinished import Unfinished, unfinished
from sojourn.store import traces
from sojourn.store.columns import Columns
from sojourn.store.ledger import Ledger, Value
from sojourn.store.stored_run import StoredRun

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Summary:
    """Estimates of a run: for each group and kind of job, each bin, each metric.

    `ideals` are the definitions of the best possible time that the slowdowns refer to; `told` are
    totals of the cases in words; `analysis` says what is known of the cases without simulating
    them; `cautions` what to know before trusting the numbers;
    `longer` is the command that makes the runs `TIMES` as long, or what to do in its place, and
    `repeated` that for `TIMES` replications in all;
    `missing` counts the cases of the study that are not finished yet, and so are in no estimate;
    `thresholds` say whether the run keeps those of its study;
    `totals` are those of each group's cases, `stopped` who stopped whom in them, `split` says how
    the jobs of groups differ by the values of one column, `received` what came of unfinished jobs.
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
    thresholds: tuple[thresholds.Verdict, ...]
    totals: tuple[Totals, ...]
    stopped: tuple[Stopped, ...]
    split: tuple[Part, ...]
    received: tuple[Unfinished, ...]
    estimates: tuple[MetricSummary, ...]

    def __iter__(self) -> Iterator[MetricSummary]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def to_list(self) -> list[dict[str, object]]:
        """What `sojourn show --json` prints: each estimate with what to know before trusting it."""
        return [{**e.flat(), **self._beside(e)} for e in self.estimates]

    def _beside(self, estimate: MetricSummary) -> dict[str, object]:
        """What stands beside an estimate: totals, what came of unfinished jobs, cautions."""
        of = estimate.case, estimate.kind
        received = [own.flat() for own in self.received if (own.case, own.kind) == of]
        beside: dict[str, Any] = {"totals": self.totals_of(estimate.case)}
        if received:
            beside["received_of_unfinished"] = received[0]
        for part in self._parts_of(estimate):
            beside.setdefault(f"by_{part.column}", {})[part.value] = part.flat()
        if self.thresholds:
            beside["thresholds"] = [verdict.to_dict() for verdict in self.thresholds]
        return {**beside, "cautions": list(self.cautions)}

    def _parts_of(self, estimate: MetricSummary) -> list[Part]:
        """How the jobs of an estimate differ by a column: beside what is asked first of them."""
        of = estimate.case, estimate.kind, estimate.bin, estimate.metric
        own = [(part, part.estimate) for part in self.split]
        return [part for part, e in own if (part.case, e.kind, e.bin, e.metric) == of]

    def totals_of(self, case: Mapping[str, Value | None]) -> dict[str, float]:
        """The totals of a group's cases, by name."""
        return next((own.values for own in self.totals if own.case == case), {})

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
                    record |= {f"{name}{end}": of for end, of in _ends(value).items()}
                elif name.endswith("ci95_needs"):
                    needs = value if isinstance(value, dict) else {}
                    record |= {f"{name}_{of}": needs.get(of) for of in ("jobs", "replications")}
                elif name == "fairness_needs":
                    needs = value if isinstance(value, dict) else {}
                    record["fairness_needs_window_s"] = needs.get("window_s")
                else:
                    record[name] = value
            for part in self._parts_of(estimate):
                for name, value in part.flat().items():
                    ends = {"": value} if not name.endswith("ci95") else _ends(value)
                    record |= {f"{part.value}_{name}{end}": of for end, of in ends.items()}
            records.append(record | self.totals_of(estimate.case))
        return records


def _ends(interval: object) -> dict[str, object]:
    """The ends of an interval by what stands behind its name, None where there is none."""
    low, high = interval if isinstance(interval, list) else (None, None)
    return {"_low": low, "_high": high}


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
    run: StoredRun,
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
    chosen_percentiles = [*dict.fromkeys(round(p, DIGITS) for p in percentiles or ())]
    estimates: list[MetricSummary] = []
    growing, together, received = [], [], []
    found_totals: dict[tuple[object, ...], Totals] = {}
    found_stopped: dict[tuple[object, ...], list[Stopped]] = {}
    for group in groups_of(run.directory, run.ledger, chosen, warmup=warmup):
        if not chosen_percentiles:
            chosen_percentiles = [*vocabulary.of_kinds([group.kind]).percentiles]
        found = [*_of_group(group, chosen_percentiles)]
        received.append(unfinished(group))
        together.append({part.case for part in group.sample.parts})
        found_totals[tuple(group.case.values())] = totals(group)
        found_stopped[tuple(group.case.values())] = of_group(group, run.directory)
        if grows := cautions.grows(group.sample):
            growing.append(group.case)
            found = [replace(e, needs=dict.fromkeys(e.needs, UNSTEADY)) for e in found]
        steady = is_steady(group.sample, grows=grows)
        estimates += [replace(e, steady=steady) for e in found]
    timed = [e.n for e in estimates if e.metric == "slowdown"]
    kinds = {e.kind for e in estimates}
    return Summary(
        title=run.title,
        longer=longer(run),
        repeated=_repeated(run),
        by=tuple(column.label for column in chosen),
        percentiles=tuple(percentile_name(percentile) for percentile in chosen_percentiles),
        ideals=ideals(run.ledger),
        told=tuple(background.lines(run.ledger, kinds)),
        analysis=exact.lines(run.ledger, estimates),
        cautions=(
            *cautions.of_run(run),
            *cautions.pooled(together, run.ledger),
            *cautions.unsteady(growing),
            *cautions.thin(timed, chosen_percentiles),
        ),
        warmup=warmup,
        missing=run.missing,
        thresholds=thresholds.judge(run, warmup=warmup),
        totals=tuple(own for own in found_totals.values() if own.values),
        stopped=tuple(chain.from_iterable(found_stopped.values())),
        split=tuple(parts(run, chosen, chosen_percentiles, warmup)),
        received=tuple(own for own in received if own),
        estimates=tuple(estimates),
    )


def longer(run: StoredRun) -> str:
    """How the runs are made `TIMES` as long: a command, or what to do in its place."""
    if words := traces.length(run.ledger):
        return words
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


def _repeated(run: StoredRun) -> str:
    """How there are `TIMES` replications."""
    if "measured" in run.meta:
        return "more measurements"
    verb = "estimate" if "estimated" in run.meta else "run"
    study, out = shlex.quote(str(run.directory.study)), shlex.quote(f"{run.path}-{TIMES}")
    return f"sojourn {verb} {study} --replications {TIMES} --out {out}"


def _of_group(group: Group, percentiles: Sequence[float]) -> Iterator[MetricSummary]:
    """The estimates of a group: each size bin, each metric."""
    kind = vocabulary.kind_of(group.kind)
    for size_bin, ends in bins_of(kind, [group.sample]).items():
        jobs = group.sample.between(*ends)
        for metric in kind.ordered(group.sample.metrics()):
            yield metric_summary(group, size_bin, metric, jobs, percentiles)


def bins_of_groups(groups: Sequence[Group]) -> dict[str, tuple[float, float]]:
    """The size bins that are kept apart of any kind of job in these groups."""
    found: dict[str, tuple[float, float]] = {}
    for kind in dict.fromkeys(group.kind for group in groups):
        samples = [group.sample for group in groups if group.kind == kind]
        found |= bins_of(vocabulary.kind_of(kind), samples)
    return found


def ideals(ledger: Ledger) -> tuple[str, ...]:
    """The definitions of the ideal time that the cases refer to; mostly one."""
    said = dict.fromkeys(str(record.figures["ideal"]) for record in ledger)
    return tuple(said)


def incomplete(missing: int) -> str:
    """The note under a run that is not finished."""
    return f"{count(missing, 'case')} of the study not run yet; `sojourn run` resumes it"


TIMES = "TIMES"
"""Where in `Summary.longer` and `repeated` it says how many times."""
