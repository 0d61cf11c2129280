"""The figures of a paper, out of its finished runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, product
from operator import not_
from types import MappingProxyType
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from sojourn._internal.vocabulary import ALL_SIZES
from sojourn.analysis.exact import Distribution, Known
from sojourn.analysis.statistics import Values
from sojourn.analysis.summary import ideals
from sojourn.presentation import style
from sojourn.presentation.axes import Layout
from sojourn.presentation.cdf_plots import steps
from sojourn.presentation.points import draw_points, fit_axes
from sojourn.presentation.style import Picture
from sojourn.reproduction.papers import Figure, Panel
from sojourn.reproduction.results import SPREADS, Point, Result
from sojourn.store.ledger import Value

_MOST_IN_A_ROW = 2
_MEAN_SOJOURN = ("mean", "sojourn_ps")
_KNOWN: dict[str, Any] = {"color": "0.55", "linestyle": "", "zorder": 1}
_EXACT = {**_KNOWN, "marker": "x", "markersize": 9}
_BETWEEN = {**_KNOWN, "linestyle": "-", "linewidth": 6, "alpha": 0.4, "solid_capstyle": "butt"}
_ABOVE = {**_KNOWN, "marker": "_", "markersize": 10}
_STATISTICS = {
    "mean": "average",
    "jain": "Jain's index",
    "p95/p5": "95th over 5th percentile",
    "p5/mean": "5th percentile over the mean",
}


class Curve(NamedTuple):
    """A curve of a panel: its name, its line, and for all but points along the axis where it is.

    `place` decides how it looks, the same in all panels of a figure.
    """

    name: str
    line: str
    value: Value | None
    place: int = 0


def draw(
    figure: Figure,
    results: Mapping[str, Result],
    *,
    notes: Sequence[str],
    kinds: Mapping[str, Callable[..., None]] = MappingProxyType({}),
) -> Picture:
    """Draw a figure: its panels in reading order, a curve a line of the run.

    Args:
        figure: the figure.
        results: the runs by name.
        notes: stand small below it.
        kinds: what draws the panels that only the paper has.

    Raises:
        InputError: a run's rows cannot be read.
    """
    columns = min(len(figure.panels), _MOST_IN_A_ROW)
    rows = -(-len(figure.panels) // columns)
    contents = [(panel, results[panel.run]) for panel in figure.panels]
    note = "; ".join(_notes(contents, notes))
    curves = [[*_curves(*content)] for content in contents]
    names = [*dict.fromkeys(curve.name for own in curves for curve in own)]
    drawn_by = {"": _draw, "distribution": _draw_distribution, **kinds}
    with style.applied():
        picture, grid = style.panels(rows, columns, figure.title, note)
        panels = [panel for row in grid for panel in row]
        for axes, (panel, result), own in zip(panels, contents, curves, strict=False):
            axes.set_title(panel.title)
            metric = panel.what.words
            term = figure.terms.get(metric.column, metric.name)
            placed = [curve._replace(place=names.index(curve.name)) for curve in own]
            drawn_by[panel.kind](axes, panel, result, placed, term)
        for axes in panels[len(contents) :]:
            axes.set_axis_off()
        style.legend(picture, panels[: len(contents)])
    return picture


def _notes(contents: Sequence[tuple[Panel, Result]], notes: Sequence[str]) -> Iterator[str]:
    """What stands below a picture, with what is known of its panels without simulation."""
    if any(not panel.kind for panel, _ in contents):
        yield "bars: 95 % intervals, where the run is long enough for one"
    yield from notes
    if any(panel.what.metric == "slowdown" for panel, _ in contents):
        said = [text for _, result in contents for text in ideals(result.run.ledger)]
        yield from dict.fromkeys(said)
    words = dict.fromkeys(known.words for own in contents for _, known in _known(*own))
    if words:
        yield f"grey: means without simulation ({'; or '.join(words)})"
    distributed = dict.fromkeys(
        known.words
        for panel, result in contents
        for curve in _curves(panel, result)
        if (known := _distribution(panel, result, curve))
    )
    if distributed:
        yield f"pale: distributions without simulation ({'; or '.join(distributed)})"


def _curves(panel: Panel, result: Result) -> Iterator[Curve]:
    lines = panel.lines or tuple(result.lines)
    if not panel.kind:
        yield from (Curve(*own, None) for own in zip(_apart(lines), lines, strict=True))
        return
    values = panel.at or tuple(result.values)
    for line, value in product(lines, values):
        parts = [line] if len(lines) > 1 or len(values) == 1 else []
        parts += [_said(result.axis, value)] if len(values) > 1 else []
        yield Curve(", ".join(parts), line, value)


def _apart(lines: Sequence[str]) -> list[str]:
    """What tells lines apart: their names without the columns that all of them have alike."""
    parts = [line.split(", ") for line in lines]
    if len(lines) < 2 or len({len(own) for own in parts}) > 1:
        return list(lines)
    alike = [len(set(column)) == 1 for column in zip(*parts, strict=True)]
    return [", ".join(compress(own, map(not_, alike))) for own in parts]


def _known(panel: Panel, result: Result) -> Iterator[tuple[Value, Known]]:
    """What is known without simulation of the means that a panel shows, and where on its axis."""
    what = panel.what
    if panel.kind or (what.statistic, what.metric) != _MEAN_SOJOURN:
        return
    for curve in _curves(panel, result):
        for value in result.values:
            if (of := result.known(curve.line, value, what.jobs)) is not None:
                yield value, of


def _draw(axes: Axes, panel: Panel, result: Result, curves: Sequence[Curve], term: str) -> None:
    layout = Layout.of(result.run, result.x, [])
    _draw_known(axes, [(layout.place({result.x: x}), of) for x, of in _known(panel, result)])
    for curve in curves:
        points = [
            (layout.place({result.x: value}), _ends(point))
            for value in layout.values
            if (point := result.cell(curve.line, value, panel.what).point())
        ]
        draw_points(axes, points, curve.name, style.look(curve.place))
    layout.draw_axis(axes)
    axes.set_xlabel(f"{result.axis} [{layout.unit}]" if layout.unit else result.axis)
    statistic, metric = panel.what.statistic, panel.what.metric
    percentile = f"{statistic.removeprefix('p')}th percentile"
    said = _STATISTICS.get(statistic, statistic if statistic in SPREADS else percentile)
    unit = "" if statistic in SPREADS else panel.what.shown_unit
    axes.set_ylabel(f"{term}, {said}{unit}")
    if statistic not in SPREADS or metric == "slowdown":
        fit_axes(metric, [axes])


def _draw_known(axes: Axes, means: Sequence[tuple[float, Known]]) -> None:
    """A cross for what a mean is, a bar for what it lies between, a foot for what it is above."""
    told: set[str] = set()
    for where, mean in means:
        if mean.exact is not None:
            name, ends, look = "exact", [mean.exact], _EXACT
        elif mean.least is not None and mean.most is not None:
            name, ends, look = "bounds", [mean.least, mean.most], _BETWEEN
        else:
            name, ends, look = "lower bound", [mean.least or 0], _ABOVE
        axes.plot([where] * len(ends), ends, label="" if name in told else name, **look)
        told.add(name)


def _draw_distribution(
    axes: Axes, panel: Panel, result: Result, curves: Sequence[Curve], term: str
) -> None:
    """Distribution functions; jobs that did not finish keep theirs below 1."""
    for curve in curves:
        where, share = steps(result.cell(curve.line, curve.value or 0, panel.what).values())
        if where.size:
            look = style.look(curve.place, dashed=True)
            axes.plot(where, share, drawstyle="steps-post", label=curve.name, **look)
            if known := _distribution(panel, result, curve):
                _draw_known_distribution(axes, known, where, look["color"])
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("share of jobs")
    axes.set_xlabel(f"{term}{panel.what.shown_unit}")
    if panel.what.metric == "goodput_bps":
        axes.set_xlim(left=0)
    elif axes.has_data():
        style.logarithmic(axes, "x")


def _distribution(panel: Panel, result: Result, curve: Curve) -> Distribution | None:
    """What is known without simulation of the distribution of a curve's sojourn times."""
    what = panel.what
    if panel.kind != "distribution" or (what.metric, what.bin) != ("sojourn_ps", ALL_SIZES):
        return None
    return result.distribution(curve.line, curve.value or 0, what.jobs)


def _draw_known_distribution(axes: Axes, known: Distribution, where: Values, colour: str) -> None:
    """A broad pale line where it is known, a pale band where it has bounds; as far as the data."""
    inside = (where[0] <= known.times) & (known.times <= where[-1])
    times, least, most = known.times[inside], known.least[inside], known.most[inside]
    if known.exact:
        axes.plot(times, least, color=colour, linewidth=6, alpha=0.25, zorder=1)
    else:
        axes.fill_between(times, least, most, color=colour, alpha=0.2, linewidth=0, zorder=1)


def _said(name: str, value: Value) -> str:
    """A value along the axis called `name`: words alone, numbers with it."""
    wordy = isinstance(value, str) and not value[:1].isdigit()
    return str(value) if wordy else f"{name} {value}"


def _ends(point: Point) -> tuple[float, float, float]:
    return point.value, *(point.ci95 or (point.value, point.value))
