"""A summary as a table for people, on a terminal and in a notebook."""

from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from itertools import chain, groupby
from math import inf

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import count, factor, number
from sojourn._internal.vocabulary import (
    ALL_SIZES,
    GOODPUT,
    MISSED,
    JobKind,
    Metric,
    kind_of,
    order,
    size,
)
from sojourn.analysis import thresholds
from sojourn.analysis.fairness import STATISTICS
from sojourn.analysis.metric_summary import MEAN, MetricSummary
from sojourn.analysis.observed import Needs
from sojourn.analysis.summary import TIMES, Summary, incomplete
from sojourn.presentation.table import INTERVAL, Table, cell, interval, labels, values
from sojourn.presentation.totals_tables import notes as notes_of_totals
from sojourn.presentation.totals_tables import received, split, stopped, totals


def notes(summary: Summary) -> list[str]:
    """What the numbers of the table mean, a line each; then thresholds; cautions last."""
    kinds = [kind_of(name) for name in _kinds(summary)]
    shown = {metric.column for kind in kinds for metric in kind.shown}
    lines = []
    if "slowdown" in shown:
        times = dict.fromkeys(kind.time.name for kind in kinds if kind.time)
        lines.append(f"slowdown: {' or '.join(times)} / ideal; " + "; or ".join(summary.ideals))
    lines += dict.fromkeys(kind.note for kind in kinds if kind.note)
    if GOODPUT in shown:
        lines.append(JAIN)
        lines += not_told(summary)
    own = [e for e in summary if e.ci95 and e.metric == kind_of(e.kind).main.column]
    methods = Counter(str(e.ci_method) for e in own)
    lines += summary.told
    lines += summary.analysis
    lines += [
        f"95 % interval of the mean, {method}" + (f" ({many} of them)" if len(methods) > 1 else "")
        for method, many in sorted(methods.items())
    ]
    lines += withheld(summary)
    if summary.warmup and shown - {GOODPUT}:
        by = "the first 5 % to arrive"
        if isinstance(summary.warmup, str):
            by = f"that arrived before {summary.warmup}"
        lines.append(f"warm-up: jobs left out, {by}")
    if any(estimate.unfinished for estimate in summary):
        lines.append("unfinished: jobs not done by the end of their run; n leaves them out")
    if any(estimate.metric == MISSED for estimate in summary):
        lines.append("missed: jobs with a deadline that were not done by then, unfinished ones too")
    lines += notes_of_totals(summary)
    if summary.missing:
        lines.append(incomplete(summary.missing))
    lines += thresholds.lines(summary.thresholds)
    return [*lines, *(f"caution: {line}" for line in summary.cautions)]


def withheld(summary: Summary) -> list[str]:
    """Which intervals there are not, and what would have to be run for them.

    Of jobs of all sizes first; sizes of which there are few need more, and that is said apart.
    """
    own = [e for e in summary if e.metric == kind_of(e.kind).main.column and e.n]
    said = []
    for name in (MEAN, *summary.percentiles):
        whole, sizes = (
            [e.needs[name] for e in own if name in e.needs and (e.bin == ALL_SIZES) is all_sizes]
            for all_sizes in (True, False)
        )
        # Of lines without a steady state a caution tells; the others have something to run.
        whole = [needs for needs in whole if needs.times < inf] or whole
        if not (whole or sizes):
            continue
        if not whole:
            said.append((f" of some sizes: {_more(sizes, summary)}", name))
            continue
        lines = sum(e.bin == ALL_SIZES for e in own)
        many = "" if len(whole) == lines else f" in {len(whole)} of {count(lines, 'line')}"
        words = _more(whole, summary)
        if sizes and _worst(sizes).times > _worst(whole).times:
            of_sizes = _more(sizes, summary)
            words += f"; of some sizes, {of_sizes}" if of_sizes != words else ""
        said.append((f"{many}: {words}", name))
    told: dict[str, list[str]] = {}
    for words, name in said:
        told.setdefault(words, []).append(name)
    return [f"no interval of {', '.join(names)}{words}" for words, names in told.items()]


def not_told(summary: Summary) -> list[str]:
    """Why the fairness of some flows is withheld, and what would have to be run for it."""
    found = [e.too_short for e in summary if e.too_short]
    if not found:
        return []
    worst = max(found, key=lambda own: own.times)
    lines = sum(bool(e.shares) for e in summary)
    many = "" if len(found) == lines else f" in {len(found)} of {count(lines, 'line')}"
    command = summary.longer.replace(TIMES, factor(worst.times))
    return [f"no fairness{many}: {worst.why} ({command})"]


JAIN = "Jain: fairness index, 1 where all flows get the same, 1/n where one gets all"


def _worst(found: Sequence[Needs]) -> Needs:
    return max(found, key=lambda needs: needs.times)


def _more(found: Sequence[Needs], summary: Summary) -> str:
    """What the longest of needs asks for."""
    worst = _worst(found)
    if worst.times == inf or (worst.jobs is None and worst.replications is None):
        return worst.why
    if worst.jobs is None:
        number = str(worst.replications)
        return f"it takes {number} replications ({summary.repeated.replace(TIMES, number)})"
    times = factor(worst.times)
    least = "at least " if worst.least else ""
    return f"it takes {least}{times} times as many jobs ({summary.longer.replace(TIMES, times)})"


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


def tables(summary: Summary) -> list[Table]:
    """A table for all kinds of job of which the same is asked, the most important kinds first."""
    together: dict[tuple[Metric, ...], list[JobKind]] = {}
    for kind in map(kind_of, _kinds(summary)):
        together.setdefault(kind.shown, []).append(kind)
    of_jobs = [
        (_goodputs if metrics[0].column == GOODPUT else _times)(summary, metrics, kinds)
        for metrics, kinds in together.items()
    ]
    return [
        *of_jobs,
        *received(summary),
        *totals(summary),
        *stopped(summary),
        *split(summary),
    ]


def _kinds(summary: Summary) -> list[str]:
    return order(estimate.kind for estimate in summary)


def _of(summary: Summary, kinds: Sequence[JobKind]) -> list[MetricSummary]:
    """The estimates of jobs of these kinds, case by case, in the order of the kinds."""
    names = [kind.name for kind in kinds]
    own = [estimate for estimate in summary if estimate.kind in names]
    cases = [*dict.fromkeys(tuple(estimate.case.items()) for estimate in own)]
    place = {case: number for number, case in enumerate(cases)}
    return sorted(own, key=lambda e: (place[tuple(e.case.items())], names.index(e.kind)))


def _case(estimate: MetricSummary) -> list[str]:
    return values(estimate.case)


def _times(summary: Summary, metrics: Sequence[Metric], kinds: Sequence[JobKind]) -> Table:
    """The first metric with its interval and all percentiles, of the others mean and the last."""
    first, *others = metrics
    named = len(_kinds(summary)) > 1
    estimates = _of(summary, kinds)
    last = summary.percentiles[-1:]
    deadlines = any(e.metric == MISSED for e in estimates)
    sizes = any(e.bin != ALL_SIZES for e in estimates)
    intervals = any(e.ci95 for e in estimates if e.metric == first.column)
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
            *([size(main.bin)] if sizes else []),
            *(f"{count:,}" for count in (main.n, main.unfinished, main.warmup)),
            cell(main.mean, first),
            *([interval(main, first)] if intervals else []),
            *(cell(quantile, first) for quantile in main.quantiles.values()),
            cell(main.max, first),
        ]
        for metric in others:
            cells.append(cell(found[metric.column].mean, metric))
            cells += [cell(found[metric.column].quantiles[name], metric) for name in last]
        cells += [_mean(missed, kinds[0].metric(MISSED)) if missed else "-"] if deadlines else []
        if before and case == before[0]:
            groups[-1].append([*("" for _ in case), *cells])
        else:
            groups.append([[*case, *cells]])
        before = case, kind
    numbers = [
        *("n", "unfinished", "warm-up", f"{first.name} mean{first.bracketed}"),
        *([INTERVAL] if intervals else []),
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
    texts = [*labels(summary.by), *(["kind"] if named else []), *(["size"] if sizes else [])]
    return Table([*texts, *numbers], len(numbers), groups)


def _goodputs(summary: Summary, metrics: Sequence[Metric], kinds: Sequence[JobKind]) -> Table:
    (metric, *_) = metrics
    named = len(_kinds(summary)) > 1
    names = [*dict.fromkeys(["min", "p5", "p50", *summary.percentiles, "p95", "max"])]
    names.sort(key=lambda name: {"min": -1.0, "max": 101.0}.get(name) or float(name[1:]))
    lines = []
    estimates = _of(summary, kinds)
    intervals = any(e.ci95 for e in estimates)
    for estimate in estimates:
        known = {**estimate.shares, **estimate.quantiles, "max": estimate.max}
        cells = [
            f"{estimate.n:,}",
            cell(estimate.mean, metric),
            *([interval(estimate, metric)] if intervals else []),
            *(cell(known[name], metric) for name in names),
            *("-" if v is None else number(v) for v in map(known.get, STATISTICS)),
        ]
        kind = [kind_of(estimate.kind).label] if named else []
        lines.append([[*_case(estimate), *kind, *cells]])
    heads = [*labels(summary.by), *(["kind"] if named else []), "n"]
    heads += [f"{metric.name} mean{metric.bracketed}", *([INTERVAL] if intervals else [])]
    return Table([*heads, *names, *EVENNESS], len(names) + 5 + intervals, lines)


EVENNESS = ("p95/p5", "Jain", "above mean")
"""The heads of the columns that say how evenly long flows share (`STATISTICS`)."""


def _mean(estimate: MetricSummary, metric: Metric) -> str:
    return f"{cell(estimate.mean, metric)} {interval(estimate, metric)}".rstrip()
