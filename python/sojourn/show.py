"""A summary as a table for people, on a terminal and in a notebook."""

from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from html import escape
from io import StringIO
from itertools import chain, groupby

from sojourn.sample import GOODPUT, MISSED
from sojourn.summary import Estimate, Summary, incomplete
from sojourn.terminal import print_lines, print_table
from sojourn.units import number, shown_in

_PS_PER_MS = 1e9
_PER_CENT = 0.01


def notes(summary: Summary) -> list[str]:
    """What the numbers of the table mean, a line each."""
    timed = any(estimate.metric != GOODPUT for estimate in summary)
    lines = ["slowdown: sojourn time / ideal; " + "; or ".join(summary.ideals)] if timed else []
    if any(estimate.metric == GOODPUT for estimate in summary):
        lines.append(
            "goodput: new bytes acknowledged in the measuring window, a flow that never ends"
        )
        lines.append("Jain: fairness index, 1 where all flows get the same, 1/n where one gets all")
    if any(estimate.kind == "query" for estimate in summary):
        lines.append("QCT: query completion time, until the last byte of the last answer has come")
    methods = {e.ci_method for e in summary if e.ci_method}
    lines += summary.analysis
    lines += [f"±: 95 % interval of the mean, {method}" for method in sorted(methods)]
    if summary.warmup and timed:
        by = "by MSER-5 on the slowdown, the median of a case's replications"
        if isinstance(summary.warmup, str):
            by = f"that arrived before {summary.warmup}"
        lines.append(f"warm-up: finished jobs left out, {by}")
    if any(estimate.unfinished for estimate in summary):
        lines.append("unfinished: jobs not done by the end of their run; n leaves them out")
    if _deadlines(summary):
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


def _deadlines(summary: Summary) -> bool:
    """Whether any job has a deadline."""
    return any(estimate.metric == MISSED for estimate in summary)


@dataclass(frozen=True)
class Table:
    """Heads, how many of the last columns are numbers, and for each group its lines of cells.

    Labels stand on a group's first line.
    """

    heads: list[str]
    numbers: int
    groups: list[list[list[str]]]


def tables(summary: Summary) -> list[Table]:
    """A table of times, one of queries' completion times, one of goodputs, where there are such."""
    goodputs = [estimate for estimate in summary if estimate.metric == GOODPUT]
    times = [estimate for estimate in summary if estimate.metric != GOODPUT]
    queries = [e for e in times if e.kind == "query" and e.bin == "all"]
    found = [_times(summary, times)] if times else []
    found += [_queries(summary, queries)] if queries else []
    return [*found, _goodputs(summary, goodputs)] if goodputs else found


def _labels(estimate: Estimate, kinds: set[str]) -> list[str]:
    labels = ["" if v is None else str(v) for v in estimate.case.values()]
    return [*labels, estimate.kind] if len(kinds) > 1 else labels


def _queries(summary: Summary, estimates: Sequence[Estimate]) -> Table:
    scale, unit = shown_in("sojourn_ps")
    lines = [
        [
            [
                *_labels(e, set()),
                *(f"{count:,}" for count in (e.n, e.unfinished, e.warmup)),
                _mean(e, scale),
                *("-" if v is None else number(v / scale) for v in (*e.quantiles.values(), e.max)),
            ]
        ]
        for e in estimates
        if e.metric == "sojourn_ps"
    ]
    heads = [*summary.by, "n", "unfinished", "warm-up", f"QCT mean{unit}"]
    return Table([*heads, *summary.percentiles, "max"], 5 + len(summary.percentiles), lines)


def _goodputs(summary: Summary, estimates: Sequence[Estimate]) -> Table:
    kinds = {estimate.kind for estimate in summary}
    scale, unit = shown_in(GOODPUT)
    names = [*dict.fromkeys(["min", "p5", "p50", *summary.percentiles, "p95", "max"])]
    names.sort(key=lambda name: {"min": -1.0, "max": 101.0}.get(name) or float(name[1:]))
    lines = []
    for estimate in estimates:
        known = {**estimate.shares, **estimate.quantiles, "max": estimate.max}
        spread, jain = estimate.shares.get("spread"), estimate.shares.get("jain")
        cells = [
            f"{estimate.n:,}",
            _mean(estimate, scale),
            *("-" if v is None else number(v / scale) for v in map(known.__getitem__, names)),
            _or_dash(spread),
            _or_dash(jain),
        ]
        lines.append([[*_labels(estimate, kinds), *cells]])
    heads = [*summary.by, *(["kind"] if len(kinds) > 1 else []), "n", f"goodput mean{unit}"]
    heads += [*names, "p95/p5", "Jain"]
    return Table(heads, len(names) + 4, lines)


def _times(summary: Summary, of: Iterable[Estimate]) -> Table:
    kinds = {estimate.kind for estimate in summary}
    deadlines = _deadlines(summary)
    groups: list[list[list[str]]] = []
    last: list[str] | None = None
    for _, estimates in groupby(of, lambda e: (e.case, e.kind, e.bin)):
        metrics = {estimate.metric: estimate for estimate in estimates}
        slowdown, missed = metrics["slowdown"], metrics.get(MISSED)
        if not slowdown.n + slowdown.unfinished + slowdown.warmup:
            continue
        labels = _labels(slowdown, kinds)
        cells = [
            slowdown.bin,
            *(f"{count:,}" for count in (slowdown.n, slowdown.unfinished, slowdown.warmup)),
            _mean(slowdown),
            *(_or_dash(quantile) for quantile in slowdown.quantiles.values()),
            _or_dash(slowdown.max),
            _mean(metrics["sojourn_ps"], _PS_PER_MS),
            *([_mean(missed, _PER_CENT) if missed else "-"] if deadlines else []),
        ]
        if labels == last:
            groups[-1].append([*("" for _ in labels), *cells])
        else:
            groups.append([[*labels, *cells]])
        last = labels
    heads = [
        *summary.by,
        *(["kind"] if len(kinds) > 1 else []),
        "size",
        "n",
        "unfinished",
        "warm-up",
        "slowdown mean",
        *summary.percentiles,
        "max",
        "sojourn mean [ms]",
        *(["missed [%]"] if deadlines else []),
    ]
    return Table(heads, 6 + len(summary.percentiles) + deadlines, groups)


def _mean(estimate: Estimate, scale: float = 1) -> str:
    if estimate.mean is None:
        return "-"
    text = number(estimate.mean / scale)
    if estimate.ci95 is None:
        return text
    low, high = estimate.ci95
    return f"{text} ± {number((high - low) / 2 / scale, 2)}"


def _or_dash(value: float | None) -> str:
    return "-" if value is None else number(value)
