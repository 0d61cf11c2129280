"""Pictures of a run: normalised completion time against a swept column, and its distribution."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from sojourn import style
from sojourn.columns import groups
from sojourn.errors import InputError, did_you_mean
from sojourn.layout import LOG_FROM, Layout, draw_names, label
from sojourn.ledger import Ledger
from sojourn.sample import Sample, groups_of
from sojourn.statistics import Interval, Values
from sojourn.style import Picture
from sojourn.summary import BINS, Estimate, ideals, incomplete, summarise

if TYPE_CHECKING:
    from sojourn.runs import Run

_NAME = "normalised FCT"
_UNIT = "sojourn time / ideal"
_CDF_POINTS = 1000

Point: TypeAlias = tuple[float, float, float]


def draw(
    run: "Run",
    kind: str,
    *,
    x: str | None = None,
    by: Sequence[str] | None = None,
    at: str | float | None = None,
    warmup: bool = True,
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


def _fct(run: "Run", layout: Layout, _at: str | float | None, warmup: bool) -> Picture:
    """Mean and 99th percentile: against x a panel a size bin, without x against the bins."""
    by = [column.label for column in layout.by]
    x = [layout.x.label] if layout.x else []
    summary = summarise(run, by=[*by, *x], percentiles=[99], warmup=warmup)
    estimates = [e for e in summary if e.metric == "slowdown" and e.n]
    bins = _occurring({e.bin for e in estimates})
    several = len({e.kind for e in estimates}) > 1
    lines: dict[str, list[Estimate]] = {}
    for e in estimates:
        name = label({column: e.case[column] for column in by}, e.kind if several else "")
        lines.setdefault(name, []).append(e)
    said = ("bars: 95 % intervals, none where jobs are too few", "grey line: the ideal")
    note = _note(run, *said, *summary.ideals)
    if layout.x is None:
        picture, (row,) = style.panels(1, len(_POINTS), run.title, note)
        for panel, (name, point) in zip(row, _POINTS.items(), strict=True):
            for place, (line, of_line) in enumerate(lines.items()):
                points = [(float(bins.index(e.bin)), point(e)) for e in of_line]
                draw_points(panel, points, line, style.look(place) | {"linestyle": ""})
            draw_names(panel, bins)
            panel.set_xlabel("size of the flow")
            panel.set_ylabel(f"{name} of {_NAME}\n({_UNIT})")
            logarithmic_where_wide([panel])
        style.legend(picture, row)
        return picture
    picture, grid = style.panels(len(_POINTS), len(bins), run.title, note)
    for row, (name, point) in zip(grid, _POINTS.items(), strict=True):
        for panel, size_bin in zip(row, bins, strict=True):
            for place, (line, of_line) in enumerate(lines.items()):
                points = [(layout.place(e.case), point(e)) for e in of_line if e.bin == size_bin]
                joined = {} if layout.numeric else {"linestyle": ""}
                draw_points(panel, points, line, style.look(place) | joined)
            layout.draw_axis(panel)
        row[0].set_ylabel(f"{name} of {_NAME}\n({_UNIT})")
        logarithmic_where_wide(row)
    _title_bins(grid[0], bins)
    picture.align_ylabels()
    style.legend(picture, [panel for row in grid for panel in row])
    return picture


def _cdf(run: "Run", layout: Layout, at: str | float | None, warmup: bool) -> Picture:
    """Distribution functions, of numbers along x at one of them: a panel a size bin."""
    ledger, by, title = run.ledger, list(layout.by), run.title
    if layout.x and layout.numeric:
        value = layout.value(at)
        ledger = Ledger(groups(ledger, [layout.x])[(value,)])
        title = f"{title}: {layout.x.label} = {value}"
    elif at is not None:
        raise InputError(f"no case at {at}: no number is swept")
    elif layout.x:
        by.append(layout.x)
    found = list(groups_of(run.directory, ledger, by, warmup=warmup))
    several = len({group.kind for group in found}) > 1
    lines = {label(g.case, g.kind if several else ""): g.sample for g in found}
    parts = {
        (line, size_bin): sample.between(*ends)
        for line, sample in lines.items()
        for size_bin, ends in BINS.items()
    }
    bins = _occurring({size_bin for (_, size_bin), part in parts.items() if part.counts()[0]})
    picture, (row,) = style.panels(1, len(bins), title, _note(run, *ideals(ledger)))
    for panel, size_bin in zip(row, bins, strict=True):
        for place, line in enumerate(lines):
            values, share = _distribution(parts[line, size_bin])
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


KINDS: dict[str, Callable[["Run", Layout, str | float | None, bool], Picture]] = {
    "fct": _fct,
    "cdf": _cdf,
}
_POINTS: dict[str, Callable[[Estimate], Point]] = {
    "mean": lambda e: _point(e.mean, e.ci95),
    "99th percentile": lambda e: _point(e.quantiles["p99"], e.quantiles_ci95["p99"]),
}


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


def _note(run: "Run", *said: str) -> str:
    """What stands small below a picture."""
    return "; ".join([*said, *([incomplete(run.missing)] if run.missing else [])])


def _distribution(sample: Sample) -> tuple[Values, Values]:
    """Values and the share of jobs up to each; unfinished jobs keep it below 1.

    At most `_CDF_POINTS` of them, and the last ones all, where the tail is.
    """
    kept, unfinished, _ = sample.counts()
    values = np.sort(np.concatenate(sample.sections("slowdown")[0]))
    ranks = np.linspace(0, max(kept - 1, 0), _CDF_POINTS).astype(np.int64)
    ranks = np.unique(np.concatenate([ranks, np.arange(max(0, kept - 50), kept)]))[:kept]
    return values[ranks], (ranks + 1) / (kept + unfinished)


def _occurring(found: set[str]) -> list[str]:
    """Those size bins in their order."""
    if not found:
        raise InputError("no job of this run is finished; there is nothing to draw")
    return [name for name in BINS if name in found]


def _title_bins(row: Sequence[Axes], bins: Sequence[str]) -> None:
    for panel, name in zip(row, bins, strict=True):
        panel.set_title("all sizes" if name == "all" else name)
