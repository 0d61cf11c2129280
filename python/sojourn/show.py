"""A summary as a table for people, on a terminal and in a notebook."""

from collections.abc import Sequence
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from itertools import groupby

from sojourn.sample import MISSED
from sojourn.summary import Estimate, Summary, incomplete
from sojourn.terminal import print_lines, print_table
from sojourn.units import number

_PS_PER_MS = 1e9
_PER_CENT = 0.01


def notes(summary: Summary) -> list[str]:
    """What the numbers of the table mean, a line each."""
    lines = ["slowdown: sojourn time / ideal; " + "; or ".join(summary.ideals)]
    methods = {e.ci_method for e in summary if e.ci_method}
    lines += [f"±: 95 % interval of the mean, {method}" for method in sorted(methods)]
    if summary.warmup_removed:
        lines.append("warm-up: finished jobs left out, by MSER-5 on the slowdown of each run")
    if any(estimate.unfinished for estimate in summary):
        lines.append("unfinished: jobs not done by the end of their run; n leaves them out")
    if _deadlines(summary):
        lines.append("missed: jobs with a deadline that were not done by then, unfinished ones too")
    if summary.missing:
        lines.append(incomplete(summary.missing))
    return lines


def show(summary: Summary) -> None:
    """Print table and notes; bins without any job are left out."""
    heads, groups = _grid(summary)
    numbers = 6 + len(summary.percentiles) + _deadlines(summary)
    print_table(groups, heads, title=summary.title, numbers=numbers)
    print_lines(f"  {line}" for line in notes(summary))


def text(summary: Summary) -> str:
    """What `show` prints."""
    out = StringIO()
    with redirect_stdout(out):
        show(summary)
    return out.getvalue().rstrip()


def html(summary: Summary) -> str:
    """Table and notes as HTML."""
    heads, groups = _grid(summary)

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", line) for lines in groups for line in lines)
    said = "".join(f"<p>{escape(line)}</p>" for line in notes(summary))
    return (
        f"<table><caption>{escape(summary.title)}</caption>{row('th', heads)}{body}</table>{said}"
    )


def _deadlines(summary: Summary) -> bool:
    """Whether any job has a deadline."""
    return any(estimate.metric == MISSED for estimate in summary)


def _grid(summary: Summary) -> tuple[list[str], list[list[list[str]]]]:
    """The heads, and for each group its lines of cells; labels stand on a group's first line."""
    kinds = {estimate.kind for estimate in summary}
    deadlines = _deadlines(summary)
    groups: list[list[list[str]]] = []
    last: list[str] | None = None
    for _, estimates in groupby(summary, lambda e: (e.case, e.kind, e.bin)):
        metrics = {estimate.metric: estimate for estimate in estimates}
        slowdown, missed = metrics["slowdown"], metrics.get(MISSED)
        if not slowdown.n + slowdown.unfinished + slowdown.warmup:
            continue
        labels = ["" if v is None else str(v) for v in slowdown.case.values()]
        labels += [slowdown.kind] if len(kinds) > 1 else []
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
    return heads, groups


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
