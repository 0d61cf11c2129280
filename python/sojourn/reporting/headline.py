"""What came out of a run, in one sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sojourn._internal.parameter_labels import label_of
from sojourn._internal.units import bracketed, count, number, numbers
from sojourn._internal.vocabulary import (
    ALL_SIZES,
    GOODPUT,
    JobKind,
    Metric,
    phrase_of,
    whole,
    worded,
)
from sojourn.analysis.comparison import between
from sojourn.analysis.comparison.verdict import Outcome
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.analysis.summary import Summary
from sojourn.presentation.axes import Layout
from sojourn.store.columns import Column
from sojourn.store.ledger import Ledger, Value, written
from sojourn.store.stored_run import StoredRun


def headline(run: StoredRun, summary: Summary) -> str:
    """The sentence; empty where no job is finished.

    It is about what is asked first of the most important kind of job: which of several names is the
    best and by how much, else from where to where it goes along the axis, else how large it is.
    Cases without a steady state are counted and have no part in it.

    Args:
        run: the run.
        summary: its summary by what is swept.

    Raises:
        InputError: rows cannot be read.
    """
    kinds = whole(e.kind for e in summary if e.n)
    if not kinds:
        return ""
    metric = kinds[0].main
    found = [
        e
        for e in summary
        if (e.kind, e.bin, e.metric) == (kinds[0].name, ALL_SIZES, metric.column) and e.n
    ]
    steady = [e for e in found if e.steady]
    if found and not steady:
        return "No case has a steady state, so no number describes it."
    said = _of_steady(run, steady, kinds[0])
    others = len(found) - len(steady)
    if said and others:
        said += (
            f" {count(others, 'other case')} {'has' if others == 1 else 'have'} no steady state."
        )
    return said


def _of_steady(run: StoredRun, found: Sequence[MetricSummary], kind: JobKind) -> str:
    layout = Layout.of(run, None, None)
    names = _names(run, layout)
    if names and (said := _best(run, layout, names, found, kind.main)):
        return said
    if layout.x and layout.numeric and len(found) > 1:
        return _along(layout, found, kind.main)
    return f"{_sized(found[0], kind.main)} ({found[0].n:,} {kind.plural})." if found else ""


def _names(run: StoredRun, layout: Layout) -> Column | None:
    """The first swept column of names."""
    swept = [*([layout.x] if layout.x else []), *layout.by]
    for column in swept:
        values = [record.columns.get(column.name) for record in run.ledger]
        if len(set(values)) > 1 and not column.in_rows and not numbers(values):
            return column
    return None


def _best(
    run: StoredRun, layout: Layout, names: Column, found: Sequence[MetricSummary], metric: Metric
) -> str:
    """Which name is the best, at the largest number along the axis, and how far the next is.

    Of what else is swept the first case alone: it is one comparison.
    """
    fixed: dict[str, Value | None] = {}
    if layout.x and layout.numeric:
        fixed[layout.x.label] = layout.values[-1]
        found = [e for e in found if e.case[layout.x.label] == layout.values[-1]]
    if not found:
        return ""
    others, found = _first_series(found, names.label)
    fixed |= others
    if len(found) < 2:
        return ""
    swept = [*([layout.x] if layout.x else []), *layout.by]
    alike = {c.name: fixed[c.label] for c in swept if c.label in fixed and not c.in_rows}
    run = replace(run, ledger=Ledger(r for r in run.ledger if alike.items() <= r.columns.items()))
    more_is_better = metric.column == GOODPUT
    best, second, *_ = sorted(found, key=lambda e: e.mean or 0, reverse=more_is_better)
    values = written(second.case[names.label]), written(best.case[names.label])
    verdicts = between(run, names.label, values, metrics=[metric.column]).verdicts
    verdict = next((v for v in verdicts if v.kind == best.kind), None)
    if verdict is None:
        return ""
    where = _where(fixed)
    phrase = phrase_of(names.label)
    called = [phrase.of(value) if phrase else value for value in values]
    said = verdict.sentence.partition(": ")[2]
    if verdict.outcome in (Outcome.CHANCE, Outcome.UNKNOWN):
        means = sorted(e.mean or 0 for e in found)
        low, high = (number(end / metric.per_unit) for end in (means[0], means[-1]))
        return (
            f"{where}mean {metric.name} is {low} to {high} {metric.unit}".rstrip()
            + f"; of the two best, {called[1]} and {called[0]}: {said}."
        )
    ends = "highest" if more_is_better else "lowest"
    return (
        f"{where}{called[1]} has the {ends} mean {_sized(best, metric, name=True)}."
        f" Against the next, {called[0]}: {said}."
    )


def _along(layout: Layout, found: Sequence[MetricSummary], metric: Metric) -> str:
    x = layout.x.label if layout.x else ""
    fixed, found = _first_series(found, x)
    ordered = sorted(found, key=lambda e: layout.place(e.case))
    first, last = ordered[0], ordered[-1]
    where = f"{_where(fixed)}from" if fixed else "From"
    return (
        f"{where} {label_of(x)} {first.case[x]} to {last.case[x]} the mean {metric.name} goes from"
        f" {_value(first, metric)} to {_value(last, metric)}."
    )


def _first_series(
    found: Sequence[MetricSummary], along: str
) -> tuple[dict[str, Value | None], list[MetricSummary]]:
    """What else is swept at its first values, and the estimates that have these."""
    fixed = {name: value for name, value in found[0].case.items() if name != along}
    return fixed, [e for e in found if all(e.case[n] == v for n, v in fixed.items())]


def _where(fixed: Mapping[str, Value | None]) -> str:
    start = "With" if any(map(phrase_of, fixed)) else "At"
    return f"{start} {worded(fixed.items())}, " if fixed else ""


def _sized(e: MetricSummary, metric: Metric, *, name: bool = False) -> str:
    called = f"{metric.name}, " if name else f"Mean {metric.name} "
    tail = next(reversed(e.quantiles.items()), None)
    more = f", {tail[0]} {number(tail[1] / metric.per_unit)}" if tail and tail[1] else ""
    return f"{called}{_value(e, metric)}{more}{f' {metric.unit}' if more and metric.unit else ''}"


def _value(e: MetricSummary, metric: Metric) -> str:
    text = number((e.mean or 0) / metric.per_unit)
    if e.ci95 is not None:
        text += f" {bracketed(e.ci95, metric.per_unit)}"
    return f"{text} {metric.unit}".rstrip()
