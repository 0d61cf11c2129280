"""Tables of what runs say beside the times of their jobs: totals, parts, unfinished jobs."""

from itertools import groupby

from sojourn._internal.units import BYTES_PER_MB, number
from sojourn._internal.vocabulary import Metric, kind_of, order
from sojourn.analysis.summary import Summary
from sojourn.analysis.totals import asked, throughput
from sojourn.presentation.table import INTERVAL, Table, cell, interval, labels, values

_MOST_LINKS = 8


def received(summary: Summary) -> list[Table]:
    """How much of unfinished jobs was received, where that is known."""
    if not summary.received:
        return []
    lines = []
    for own in summary.received:
        case = values(own.case)
        sizes = [own.mean, *own.quantiles.values()]
        cells = [f"{own.n:,}", *(number(size / BYTES_PER_MB) for size in sizes)]
        lines.append([*case, kind_of(own.kind).label, *cells, number(100 * own.share)])
    heads = ["n", "received, mean [MB]", *summary.received[0].quantiles, "of their size [%]"]
    return [Table([*labels(summary.by), "unfinished", *heads], len(heads), [lines])]


def _metrics(summary: Summary) -> list[Metric]:
    """The totals that a summary's model asks for, of those that its runs have."""
    named = {name for own in summary.totals for name in own.values}
    kinds = order(estimate.kind for estimate in summary)
    return [metric for kind in kinds[:1] for metric in asked(kind) if metric.column in named]


def totals(summary: Summary) -> list[Table]:
    """The totals of each case, where its model's users ask for some."""
    metrics = _metrics(summary)
    if not metrics:
        return []
    lines = []
    for own in summary.totals:
        case = values(own.case)
        cells = [cell(own.values.get(metric.column), metric) for metric in metrics]
        lines.append([*case, f"{own.runs:,}", *cells])
    heads = [*labels(summary.by), "runs", *(metric.title for metric in metrics)]
    return [Table(heads, len(metrics) + 1, [lines])]


def stopped(summary: Summary) -> list[Table]:
    """Who stopped whom for longest in each case, where switches stop each other."""
    if not summary.stopped:
        return []
    groups = []
    for _, own in groupby(summary.stopped, lambda link: link.case):
        lines: list[list[str]] = []
        for link in [*own][:_MOST_LINKS]:
            names = ["" if lines else value for value in values(link.case)]
            times = [number(link.pauses), number(link.paused_ms), number(100 * link.share)]
            lines.append([*names, link.by, link.whom, *times])
        groups.append(lines)
    heads = ["switch", "stops", "pauses", "stopped [ms]", "of the time [%]"]
    return [Table([*labels(summary.by), *heads], 3, groups)]


def split(summary: Summary) -> list[Table]:
    """A line for each value of the column that tells a group's jobs apart: times, then totals."""
    if not summary.split:
        return []
    kind = kind_of(summary.split[0].estimate.kind)
    main = kind.main
    named = {name for part in summary.split for name in part.totals}
    metrics = [metric for metric in asked(kind.name) if metric.column in named]
    intervals = any(part.estimate.ci95 for part in summary.split)
    groups = []
    for _, own in groupby(summary.split, lambda part: part.case):
        lines: list[list[str]] = []
        for part in own:
            e = part.estimate
            case = ["" if lines else text for text in values(part.case)]
            quantiles = (cell(quantile, main) for quantile in e.quantiles.values())
            cells = [f"{e.n:,}", cell(e.mean, main)]
            cells += [interval(e, main)] if intervals else []
            cells += [*quantiles, cell(e.max, main)]
            cells += [cell(part.totals.get(metric.column), metric) for metric in metrics]
            lines.append([*case, part.value, *cells])
        groups.append(lines)
    heads = ["n", f"{main.name} mean{main.bracketed}", *([INTERVAL] if intervals else [])]
    heads += [*summary.percentiles, "max", *(metric.title for metric in metrics)]
    return [Table([*labels(summary.by), summary.split[0].column, *heads], len(heads), groups)]


def notes(summary: Summary) -> list[str]:
    """What the totals of a summary are."""
    lines = []
    metrics = _metrics(summary)
    if any(metric.column.endswith("_peak_bytes") for metric in metrics):
        lines.append(
            "totals: counts are the mean of the runs, memory is the most that waited in one"
        )
    if any(metric.column.endswith("_utilisation") for metric in metrics):
        lines.append("busy: share of the whole run, the mean of the runs")
    if summary.stopped:
        lines.append(
            f"pauses: the {_MOST_LINKS} links of each case that were stopped for longest, the mean"
            " of the runs; sojourn plot --kind pauses draws them"
        )
    if measured := [metric.name for metric in metrics if metric.column in throughput.NAMES]:
        lines.append(
            f"{', '.join(measured)}: from the end of the warm-up to the last arrival, the mean of"
            " the runs; in a steady state the last is the first times the mean time (Little's law)"
        )
    return lines
