"""A summary as a table for people, on a terminal and in a notebook."""

from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from html import escape
from io import StringIO
from itertools import chain, groupby

from sojourn.summary import Estimate, Summary, incomplete
from sojourn.terminal import print_lines, print_table
from sojourn.units import number
from sojourn.vocabulary import ALL_SIZES, GOODPUT, MISSED, JobKind, Metric, kind_of, order


def notes(summary: Summary) -> list[str]:
    """What the numbers of the table mean, a line each; cautions last."""
    kinds = [kind_of(name) for name in _kinds(summary)]
    shown = {metric.column for kind in kinds for metric in kind.shown}
    lines = []
    if "slowdown" in shown:
        times = dict.fromkeys(kind.time.name for kind in kinds if kind.time)
        lines.append(f"slowdown: {' or '.join(times)} / ideal; " + "; or ".join(summary.ideals))
    lines += dict.fromkeys(kind.note for kind in kinds if kind.note)
    if GOODPUT in shown:
        lines.append("Jain: fairness index, 1 where all flows get the same, 1/n where one gets all")
    methods = {e.ci_method for e in summary if e.ci_method}
    lines += summary.told
    lines += summary.analysis
    lines += [f"±: 95 % interval of the mean, {method}" for method in sorted(methods)]
    if summary.warmup and shown - {GOODPUT}:
        by = "by MSER-5 on the slowdown, the median of a case's replications"
        if isinstance(summary.warmup, str):
            by = f"that arrived before {summary.warmup}"
        lines.append(f"warm-up: finished jobs left out, {by}")
    if any(estimate.unfinished for estimate in summary):
        lines.append("unfinished: jobs not done by the end of their run; n leaves them out")
    if any(estimate.metric == MISSED for estimate in summary):
        lines.append("missed: jobs with a deadline that were not done by then, unfinished ones too")
    if summary.missing:
        lines.append(incomplete(summary.missing))
    return [*lines, *(f"caution: {line}" for line in summary.cautions)]


def show(summary: Summary) -> None:
    """Print the tables and notes; bins without any job are left out."""
    for table in tables(summary):
        print_table(table.groups, table.heads, title=summary.title, numbers=table.numbers)
    print_lines(f"  {line}" for line in notes(summary))


def text(summary: Summary) -> str:
    """What `show` prints."""
    out = StringIO()
    with redirect_stdout(out):
        show(summary)
    return out.getvalue().rstrip()


def html(summary: Summary) -> str:
    """Tables and notes as HTML."""

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    written = []
    for table in tables(summary):
        body = "".join(row("td", line) for line in chain.from_iterable(table.groups))
        caption = f"<caption>{escape(summary.title)}</caption>"
        written.append(f"<table>{caption}{row('th', table.heads)}{body}</table>")
    said = "".join(f"<p>{escape(line)}</p>" for line in notes(summary))
    return "".join(written) + said


@dataclass(frozen=True)
class Table:
    """Heads, how many of the last columns are numbers, and for each group its lines of cells.

    Labels stand on a group's first line.
    """

    heads: list[str]
    numbers: int
    groups: list[list[list[str]]]


def tables(summary: Summary) -> list[Table]:
    """A table for all kinds of job of which the same is asked, the most important kinds first."""
    together: dict[tuple[Metric, ...], list[JobKind]] = {}
    for kind in map(kind_of, _kinds(summary)):
        together.setdefault(kind.shown, []).append(kind)
    return [
        (_goodputs if metrics[0].column == GOODPUT else _times)(summary, metrics, kinds)
        for metrics, kinds in together.items()
    ]


def _kinds(summary: Summary) -> list[str]:
    return order(estimate.kind for estimate in summary)


def _of(summary: Summary, kinds: Sequence[JobKind]) -> list[Estimate]:
    """The estimates of jobs of these kinds, case by case, in the order of the kinds."""
    names = [kind.name for kind in kinds]
    own = [estimate for estimate in summary if estimate.kind in names]
    cases = [*dict.fromkeys(tuple(estimate.case.items()) for estimate in own)]
    place = {case: number for number, case in enumerate(cases)}
    return sorted(own, key=lambda e: (place[tuple(e.case.items())], names.index(e.kind)))


def _case(estimate: Estimate) -> list[str]:
    return ["" if value is None else str(value) for value in estimate.case.values()]


def _times(summary: Summary, metrics: Sequence[Metric], kinds: Sequence[JobKind]) -> Table:
    """The first metric with all percentiles, of the others the mean and the last percentile."""
    first, *others = metrics
    named = len(_kinds(summary)) > 1
    estimates = _of(summary, kinds)
    last = summary.percentiles[-1:]
    deadlines = any(e.metric == MISSED for e in estimates)
    sizes = any(e.bin != ALL_SIZES for e in estimates)
    groups: list[list[list[str]]] = []
    before: tuple[list[str], str] | None = None
    for _, own in groupby(estimates, lambda e: (e.case, e.kind, e.bin)):
        found = {estimate.metric: estimate for estimate in own}
        main, missed = found.get(first.column), found.get(MISSED)
        if main is None or not main.n + main.unfinished + main.warmup:
            continue
        case = _case(main)
        kind = kind_of(main.kind).label
        cells = [
            *([kind if (case, kind) != before else ""] if named else []),
            *([main.bin] if sizes else []),
            *(f"{count:,}" for count in (main.n, main.unfinished, main.warmup)),
            _mean(main, first),
            *(_cell(quantile, first) for quantile in main.quantiles.values()),
            _cell(main.max, first),
        ]
        for metric in others:
            cells.append(_mean(found[metric.column], metric))
            cells += [_cell(found[metric.column].quantiles[name], metric) for name in last]
        cells += [_mean(missed, kinds[0].metric(MISSED)) if missed else "-"] if deadlines else []
        if before and case == before[0]:
            groups[-1].append([*("" for _ in case), *cells])
        else:
            groups.append([[*case, *cells]])
        before = case, kind
    numbers = [
        *("n", "unfinished", "warm-up", f"{first.name} mean{first.bracketed}"),
        *(*summary.percentiles, "max"),
        *(
            name
            for metric in others
            for name in (
                f"{metric.name} mean{metric.bracketed}",
                *(f"{percentile}{metric.bracketed}" for percentile in last),
            )
        ),
        *(["missed [%]"] if deadlines else []),
    ]
    texts = [*summary.by, *(["kind"] if named else []), *(["size"] if sizes else [])]
    return Table([*texts, *numbers], len(numbers), groups)


def _goodputs(summary: Summary, metrics: Sequence[Metric], kinds: Sequence[JobKind]) -> Table:
    (metric, *_) = metrics
    named = len(_kinds(summary)) > 1
    names = [*dict.fromkeys(["min", "p5", "p50", *summary.percentiles, "p95", "max"])]
    names.sort(key=lambda name: {"min": -1.0, "max": 101.0}.get(name) or float(name[1:]))
    lines = []
    for estimate in _of(summary, kinds):
        known = {**estimate.shares, **estimate.quantiles, "max": estimate.max}
        cells = [
            f"{estimate.n:,}",
            _mean(estimate, metric),
            *(_cell(known[name], metric) for name in names),
            *("-" if v is None else number(v) for v in map(known.get, ("spread", "jain"))),
        ]
        kind = [kind_of(estimate.kind).label] if named else []
        lines.append([[*_case(estimate), *kind, *cells]])
    heads = [*summary.by, *(["kind"] if named else []), "n"]
    heads += [f"{metric.name} mean{metric.bracketed}", *names, "p95/p5", "Jain"]
    return Table(heads, len(names) + 4, lines)


def _mean(estimate: Estimate, metric: Metric) -> str:
    text = _cell(estimate.mean, metric)
    if estimate.mean is None or estimate.ci95 is None:
        return text
    low, high = estimate.ci95
    return f"{text} ± {number((high - low) / 2 / metric.per_unit, 2)}"


def _cell(value: float | None, metric: Metric) -> str:
    return "-" if value is None else number(value / metric.per_unit)
