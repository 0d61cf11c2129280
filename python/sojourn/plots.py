"""Pictures of a run: completion times and missed deadlines against a swept column, and CDFs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from sojourn import rows, style
from sojourn.distributions import goodput, groups_at, note, qct, steps
from sojourn.errors import InputError, did_you_mean
from sojourn.layout import LOG_FROM, Layout, draw_names, label
from sojourn.sample import GOODPUT, MISSED, Warmup
from sojourn.statistics import Interval
from sojourn.style import Picture
from sojourn.summary import BINS, Estimate, ideals, summarise

if TYPE_CHECKING:
    from sojourn.runs import Run

_NAME = "normalised FCT"
_UNIT = "sojourn time / ideal"
_PARTS_OF_JOBS = ("response",)  # drawn with the jobs that they are parts of

Point: TypeAlias = tuple[float, float, float]


def draw(
    run: "Run",
    kind: str,
    *,
    x: str | None = None,
    by: Sequence[str] | None = None,
    at: str | float | None = None,
    warmup: Warmup = True,
) -> Picture:
    """Draw one kind of picture; see `Run.plot`.

    Raises:
        InputError: an unknown kind, column or value, an unreadable file.
    """
    drawing = KINDS.get(kind)
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


def _fct(run: "Run", layout: Layout, _at: str | float | None, warmup: Warmup) -> Picture:
    """Mean and 99th percentile of the normalised completion time."""
    return _estimates(run, layout, warmup, _FCT)


def _missed(run: "Run", layout: Layout, _at: str | float | None, warmup: Warmup) -> Picture:
    """The share of the jobs with a deadline that missed theirs."""
    return _estimates(run, layout, warmup, _DEADLINES)


def _estimates(run: "Run", layout: Layout, warmup: Warmup, shown: "_Shown") -> Picture:
    """A row of panels for each point; against x a panel a size bin, without x against the bins."""
    by = [column.label for column in layout.by]
    x = [layout.x.label] if layout.x else []
    summary = summarise(run, by=[*by, *x], percentiles=[99], warmup=warmup)
    estimates = [
        e for e in summary if e.metric == shown.metric and e.n and e.kind not in _PARTS_OF_JOBS
    ]
    bins = _occurring({e.bin for e in estimates}, shown.lacking)
    several = len({e.kind for e in estimates}) > 1
    lines: dict[str, list[Estimate]] = {}
    for e in estimates:
        name = label({column: e.case[column] for column in by}, e.kind if several else "")
        lines.setdefault(name, []).append(e)
    said = note(run, _BARS, shown.said, *(summary.ideals if shown.against_ideal else ()))
    if layout.x is None:
        picture, (row,) = style.panels(1, len(shown.points), run.title, said)
        for panel, (name, point) in zip(row, shown.points.items(), strict=True):
            for place, (line, of_line) in enumerate(lines.items()):
                drawn = [(float(bins.index(e.bin)), point(e)) for e in of_line]
                draw_points(panel, drawn, line, style.look(place) | {"linestyle": ""})
            draw_names(panel, bins)
            panel.set_xlabel("size of the flow")
            panel.set_ylabel(name)
            shown.finish([panel])
        style.legend(picture, row)
        return picture
    picture, grid = style.panels(len(shown.points), len(bins), run.title, said)
    for row, (name, point) in zip(grid, shown.points.items(), strict=True):
        for panel, size_bin in zip(row, bins, strict=True):
            for place, (line, of_line) in enumerate(lines.items()):
                drawn = [(layout.place(e.case), point(e)) for e in of_line if e.bin == size_bin]
                joined = {} if layout.numeric else {"linestyle": ""}
                draw_points(panel, drawn, line, style.look(place) | joined)
            layout.draw_axis(panel)
        row[0].set_ylabel(name)
        shown.finish(row)
    _title_bins(grid[0], bins)
    picture.align_ylabels()
    style.legend(picture, [panel for row in grid for panel in row])
    return picture


def _cdf(run: "Run", layout: Layout, at: str | float | None, warmup: Warmup) -> Picture:
    """Distribution functions, of numbers along x at one of them: a panel a size bin."""
    title, found = groups_at(run, layout, at, warmup=warmup)
    found = [
        group
        for group in found
        if "slowdown" in group.sample.metrics() and group.kind not in _PARTS_OF_JOBS
    ]
    several = len({group.kind for group in found}) > 1
    lines = {label(g.case, g.kind if several else ""): g.sample for g in found}
    parts = {
        (line, size_bin): sample.between(*ends)
        for line, sample in lines.items()
        for size_bin, ends in BINS.items()
    }
    bins = _occurring({size_bin for (_, size_bin), part in parts.items() if part.counts()[0]})
    picture, (row,) = style.panels(1, len(bins), title, note(run, *ideals(run.ledger)))
    for panel, size_bin in zip(row, bins, strict=True):
        for place, line in enumerate(lines):
            values, share = steps(parts[line, size_bin].values("slowdown"))
            if values.size:
                look = style.look(place, dashed=True)
                panel.plot(values, share, drawstyle="steps-post", label=line, **look)
        panel.set_xlabel(f"{_NAME} ({_UNIT})")
        panel.set_ylim(0, 1.02)
        style.logarithmic(panel, "x", start=1)
    row[0].set_ylabel("share of jobs")
    _title_bins(row, bins)
    style.legend(picture, row)
    return picture


KINDS: dict[str, Callable[["Run", Layout, str | float | None, Warmup], Picture]] = {
    "fct": _fct,
    "cdf": _cdf,
    "missed": _missed,
    "goodput": goodput,
    "qct": qct,
}


def kinds(run: "Run") -> tuple[str, ...]:
    """The kinds of picture that a run has the numbers for; all while no case is finished."""
    paths = [run.directory.rows(*record.key) for record in run.ledger]

    def there(kind: str) -> bool:
        return any(rows.holds(path, _COLUMNS.get(kind, "ideal_ps")) for path in paths)

    return tuple(kind for kind in KINDS if not paths or there(kind))


# What the rows of a run need for a picture; where nothing stands here, a best possible time.
_COLUMNS = {"missed": "deadline_ps", "goodput": GOODPUT, "qct": "query"}


def _point(value: float | None, ci95: Interval | None) -> Point:
    """A value and the ends of its interval, which are the value itself where there is none."""
    middle = np.nan if value is None else value
    return middle, *(ci95 or (middle, middle))


def draw_points(
    panel: Axes, points: Sequence[tuple[float, Point]], line: str, look: dict[str, Any]
) -> None:
    """Draw the line of that name: values with their intervals, from left to right."""
    if points:
        where, middle, low, high = np.array([(x, *point) for x, point in sorted(points)]).T
        bars = np.clip([middle - low, high - middle], 0, None)
        panel.errorbar(where, middle, bars, capsize=2, label=line, **look)


def logarithmic_where_wide(row: Sequence[Axes]) -> None:
    """Mark the ideal at 1; make the value axes logarithmic if one of them spans a wide range."""
    highest = max(panel.dataLim.y1 for panel in row)
    for panel in row:
        panel.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        if highest >= LOG_FROM:
            style.logarithmic(panel, "y", start=1)


def zero_based(row: Sequence[Axes]) -> None:
    """Let the value axes begin at zero."""
    for panel in row:
        panel.set_ylim(0, max(panel.get_ylim()[1], 1.05 * panel.dataLim.y1))


@dataclass(frozen=True)
class _Shown:
    """What a picture of estimates shows: points of a metric by the names of their axes."""

    metric: str
    points: Mapping[str, Callable[[Estimate], Point]]
    finish: Callable[[Sequence[Axes]], None]
    said: str
    lacking: str
    against_ideal: bool


_BARS = "bars: 95 % intervals, none where jobs are too few"
_FCT = _Shown(
    metric="slowdown",
    points={
        f"mean of {_NAME}\n({_UNIT})": lambda e: _point(e.mean, e.ci95),
        f"99th percentile of {_NAME}\n({_UNIT})": lambda e: _point(
            e.quantiles["p99"], e.quantiles_ci95["p99"]
        ),
    },
    finish=logarithmic_where_wide,
    said="grey line: the ideal",
    lacking="is finished",
    against_ideal=True,
)
_DEADLINES = _Shown(
    metric=MISSED,
    points={"missed deadlines\n(share of jobs that have one)": lambda e: _point(e.mean, e.ci95)},
    finish=zero_based,
    said="unfinished jobs missed theirs",
    lacking="has a deadline",
    against_ideal=False,
)


def _occurring(found: set[str], lacking: str = "is finished") -> list[str]:
    """Those size bins in their order."""
    if not found:
        raise InputError(f"no job of this run {lacking}; there is nothing to draw")
    return [name for name in BINS if name in found]


def _title_bins(row: Sequence[Axes], bins: Sequence[str]) -> None:
    for panel, name in zip(row, bins, strict=True):
        panel.set_title("all sizes" if name == "all" else name)
