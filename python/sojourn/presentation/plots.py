"""Pictures of a run: completion times and missed deadlines against a swept column, and CDFs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sojourn._internal.errors import InputError, did_you_mean
from sojourn._internal.vocabulary import (
    ALL_SIZES,
    GOODPUT,
    MISSED,
    JobKind,
    Metric,
    kind_of,
    models,
    order,
    plural_of,
    sizes,
    whole,
)
from sojourn.analysis import fairness
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.analysis.sample import Warmup
from sojourn.analysis.statistics import Values
from sojourn.analysis.summary import bins_of_groups, ideals, summarise
from sojourn.presentation import pauses, style, timeline, trace
from sojourn.presentation.axes import Labels, Layout, draw_names
from sojourn.presentation.cdf_plots import draw_cdf, goodput, groups_at, lines_at, note, unsteady
from sojourn.presentation.fairness import draw as draw_fairness
from sojourn.presentation.points import UNSTEADY, Point, as_point, draw_points, fit_axes
from sojourn.presentation.style import Picture
from sojourn.store import rows
from sojourn.store.stored_run import StoredRun


def draw(
    run: StoredRun,
    kind: str,
    *,
    x: str | None = None,
    by: Sequence[str] | None = None,
    at: str | float | None = None,
    warmup: Warmup = True,
) -> Picture:
    """Draw one kind of picture; see `StoredRun.plot`.

    Raises:
        InputError: an unknown kind, column or value, an unreadable file.
    """
    drawing = KINDS.get(_EARLIER.get(kind, kind))
    if drawing is None:
        raise InputError(f"no picture of kind {kind!r}{did_you_mean(kind, KINDS)}")
    with style.applied():
        return drawing(run, Layout.of(run, x, by), at, warmup)


def targets(out: Path, kinds: Sequence[str], formats: Sequence[str]) -> dict[Path, str]:
    """The files to write and the kind of picture in each.

    `out` is one file if it has the suffix of a format, otherwise a directory.

    Raises:
        InputError: one file for several pictures, or of an unknown format.
    """
    suffix = out.suffix.removeprefix(".").lower()
    if out.is_dir() or not suffix:
        return {out / f"{kind}.{form}": kind for kind in kinds for form in formats or ["png"]}
    if suffix not in style.FORMATS:
        raise InputError(f"{out}: a picture is one of .{', .'.join(style.FORMATS)}")
    if len(kinds) > 1 or set(formats) - {suffix}:
        raise InputError(f"{out}: one file for several pictures; choose a --kind, or a directory")
    return {out: kinds[0]}


def _slowdown(run: StoredRun, layout: Layout, _at: str | float | None, warmup: Warmup) -> Picture:
    """Mean and 99th percentile of the slowdown."""
    return _estimates(run, layout, warmup, "slowdown")


def _time(run: StoredRun, layout: Layout, _at: str | float | None, warmup: Warmup) -> Picture:
    """Mean and 99th percentile of the time: completion time, response time, delay."""
    return _estimates(run, layout, warmup, "sojourn_ps")


def _missed(run: StoredRun, layout: Layout, _at: str | float | None, warmup: Warmup) -> Picture:
    """The share of the jobs with a deadline that missed theirs."""
    return _estimates(run, layout, warmup, MISSED)


def _estimates(run: StoredRun, layout: Layout, warmup: Warmup, metric: str) -> Picture:
    """A row of panels for each point; against x a panel a size bin, without x against the bins.

    Kinds of jobs are lines where nothing else is; otherwise each has separate panels.
    """
    by = [column.label for column in layout.by]
    x = [layout.x.label] if layout.x else []
    summary = summarise(run, by=[*by, *x], percentiles=[99], warmup=warmup)
    kinds = whole(e.kind for e in summary if e.metric == metric and e.n)
    estimates = [e for e in summary if e.metric == metric and e.n and kind_of(e.kind) in kinds]
    endless = any(e.metric == GOODPUT for e in summary)
    lacking = "has an end; --kind goodput draws them" if endless else "is finished"
    bins = _occurring({e.bin for e in estimates}, _LACKING.get(metric, lacking))
    apart = layout.x is not None and {*by} - {"kind"} and len(kinds) > 1
    labels = Labels.of(e.case for e in estimates)
    lines: dict[str, list[MetricSummary]] = {}
    for e in estimates:
        kind = e.kind if len(kinds) > 1 and not apart else ""
        line = labels.case({column: e.case[column] for column in by}, kind)
        lines.setdefault(line, []).append(e)
    words = kinds[0].metric(metric)
    points = _POINTS if metric != MISSED else {"{}": _POINTS["mean {}"]}
    there = any(e.ci95 or e.quantiles_ci95["p99"] for e in estimates)
    unsteady = [] if all(e.steady for e in estimates) else [UNSTEADY]
    bars = _BARS if there else _NO_BARS
    said = note(run, *unsteady, bars, *_notes(kinds, metric, summary.ideals))
    if layout.x is None:
        picture, (row,) = style.panels(1, len(points), run.title, said)
        for panel, (name, point) in zip(row, points.items(), strict=True):
            for place, (line, of_line) in enumerate(lines.items()):
                drawn = [(float(bins.index(e.bin)), _drawn(e, point, words)) for e in of_line]
                draw_points(panel, drawn, line, style.look(place) | {"linestyle": ""})
            draw_names(panel, [sizes(size_bin).removeprefix("sizes ") for size_bin in bins])
            panel.set_xlabel(f"size of the {kinds[0].label}" if len(bins) > 1 else "")
            panel.set_ylabel(name.format(words.title))
            fit_axes(metric, [panel])
        style.legend(picture, row)
        return picture
    columns = [
        (of, size_bin)
        for of in (kinds if apart else [None])
        for size_bin in bins
        if any(_is_in(e, of, size_bin) for e in estimates)
    ]
    in_a_row = len(columns) == 1  # the points side by side, not one below the other
    shape = (1, len(points)) if in_a_row else (len(points), len(columns))
    picture, grid = style.panels(*shape, run.title, said)
    row_of_points = [[panel] for panel in grid[0]] if in_a_row else grid
    for row, (name, point) in zip(row_of_points, points.items(), strict=True):
        for panel, column in zip(row, columns, strict=True):
            for place, (line, of_line) in enumerate(lines.items()):
                drawn = [
                    (layout.place(e.case), _drawn(e, point, words))
                    for e in of_line
                    if _is_in(e, *column)
                ]
                joined = {} if layout.numeric else {"linestyle": ""}
                draw_points(panel, drawn, line, style.look(place) | joined)
            layout.draw_axis(panel)
        row[0].set_ylabel(name.format(words.title))
        fit_axes(metric, row)
    if not in_a_row:
        for panel, (of, size_bin) in zip(grid[0], columns, strict=True):
            parts = [of.label if of else "", sizes(size_bin) if len(bins) > 1 else ""]
            panel.set_title(", ".join(filter(None, parts)))
        picture.align_ylabels()
    style.legend(picture, [panel for row in grid for panel in row])
    return picture


def _cdf(run: StoredRun, layout: Layout, at: str | float | None, warmup: Warmup) -> Picture:
    """Distribution functions, of numbers along x at one of them: a panel a metric and size bin.

    Of each kind of job what is asked first of it, but goodputs, which have a separate picture.
    """
    title, found = groups_at(run, layout, at, warmup=warmup)
    kinds = whole(group.kind for group in found if "slowdown" in group.sample.metrics())
    labels = Labels.of(group.case for group in found)
    panels: dict[tuple[Metric, str], dict[str, Values]] = {}
    for metric in dict.fromkeys(kind.main for kind in kinds):
        own = [g for g in found if kind_of(g.kind) in kinds and kind_of(g.kind).main == metric]
        several = len({group.kind for group in own}) > 1
        for size_bin, ends in bins_of_groups(own).items():
            panels[metric, size_bin] = {
                labels.case(g.case, g.kind if several else ""): g.sample.between(*ends).values(
                    metric.column
                )
                / metric.per_unit
                for g in own
            }
    panels = {
        place: lines
        for place, lines in panels.items()
        if any(np.isfinite(values).any() for values in lines.values())
    }
    _occurring({size_bin for _, size_bin in panels})
    ideal = ideals(run.ledger) if any(m.column == "slowdown" for m, _ in panels) else ()
    picture, (row,) = style.panels(1, len(panels), title, note(run, *unsteady(found), *ideal))
    places = {
        line: place
        for place, line in enumerate(dict.fromkeys(n for p in panels.values() for n in p))
    }
    mains = dict.fromkeys(metric for metric, _ in panels)
    for panel, ((metric, size_bin), lines) in zip(row, panels.items(), strict=True):
        for line, values in lines.items():
            draw_cdf(panel, values, line, places[line])
        panel.set_xlabel(metric.title)
        panel.set_ylim(0, 1.02)
        style.logarithmic(panel, "x", start=1 if metric.column == "slowdown" else None)
        plural = next(kind.plural for kind in kinds if kind.main == metric)
        several = sum(of == metric for of, _ in panels) > 1
        if len(mains) > 1 or several:
            panel.set_title(sizes(size_bin) if len(mains) == 1 else f"{plural}, {sizes(size_bin)}")
    row[0].set_ylabel(f"share of {plural_of(kinds)}")
    style.legend(picture, row)
    return picture


def _fairness(run: StoredRun, layout: Layout, at: str | float | None, _warmup: Warmup) -> Picture:
    """How evenly long flows share, against the time over which their goodput is averaged."""
    title, ledger, by = lines_at(run, layout, at)
    names = [column.label for column in by]
    found = fairness.fairness(replace(run, ledger=ledger), by=names)
    return draw_fairness(title, found, names)


def _is_in(e: MetricSummary, kind: JobKind | None, size_bin: str) -> bool:
    """Whether a number is of a panel's kind of job, or of any, and of its sizes."""
    return e.bin == size_bin and (kind is None or kind_of(e.kind) == kind)


KINDS: dict[str, Callable[[StoredRun, Layout, str | float | None, Warmup], Picture]] = {
    "slowdown": _slowdown,
    "time": _time,
    "cdf": _cdf,
    "missed": _missed,
    "goodput": goodput,
    "fairness": _fairness,
    "timeline": timeline.drawn,
    "pauses": pauses.drawn,
    "trace": trace.drawn,
}
# what slowdown and cdf were called before arrays and mail had other words
_EARLIER = {"fct": "slowdown", "qct": "cdf"}


def kinds(run: StoredRun) -> tuple[str, ...]:
    """The kinds of picture that answer what is asked of a run's jobs; all while there are none.

    Curves are of what is asked first of the most important kind of job, and only where something is
    swept, or sizes are kept apart.
    """
    paths = [run.directory.rows(*record.key) for record in run.ledger]
    if not paths:
        return tuple(KINDS)
    jobs = kind_of(order(rows.kinds(paths[0]))[0])
    timed = any(rows.holds(path, "ideal_ps") for path in paths) and jobs.time is not None
    curve = "slowdown" if jobs.main.column == "slowdown" else "time"
    there = {
        curve: timed and (bool(run.ledger.axes()) or bool(jobs.bins)),
        "cdf": timed,
        "missed": any(rows.holds(path, "deadline_ps") for path in paths),
        "goodput": any(rows.holds(path, GOODPUT) for path in paths),
        "fairness": any(fairness.is_told(run, record) for record in run.ledger),
        "timeline": any(rows.holds(path, timeline.COLUMN) for path in paths),
        "pauses": pauses.are_in(run),
        "trace": trace.is_in(run),
    }
    return tuple(kind for kind in KINDS if there.get(kind))


_BARS = "bars: 95 % intervals, where the run is long enough for one"
_NO_BARS = "no 95 % intervals: the runs are too short"
_POINTS: Mapping[str, Callable[[MetricSummary], Point]] = {
    "mean {}": lambda e: as_point(e.mean, e.ci95),
    "99th percentile of\n{}": lambda e: as_point(e.quantiles["p99"], e.quantiles_ci95["p99"]),
}
_LACKING = {MISSED: "has a deadline"}


def _drawn(
    e: MetricSummary, point: Callable[[MetricSummary], Point], words: Metric
) -> Point | None:
    """A number in its unit; None of a case without a steady state, which has no number."""
    if not e.steady:
        return None
    middle, low, high = (value / words.per_unit for value in point(e))
    return middle, low, high


def _notes(kinds: Sequence[JobKind], metric: str, ideals: Sequence[str]) -> list[str]:
    if metric == MISSED:
        return ["unfinished jobs missed theirs"]
    if metric == "slowdown":
        times = dict.fromkeys(kind.time.name for kind in kinds if kind.time)
        return ["grey line: the ideal", f"slowdown: {' or '.join(times)} / ideal", *ideals]
    return [kind.note for kind in kinds if kind.note]


def _occurring(found: set[str], lacking: str = "is finished") -> list[str]:
    """Those size bins in their order."""
    if not found:
        raise InputError(f"no job of this run {lacking}; there is nothing to draw")
    known = [
        name for model in models().values() for kind in model.kinds.values() for name in kind.bins
    ]
    return [name for name in dict.fromkeys([ALL_SIZES, *known]) if name in found]
