"""The figures of a paper, out of its finished runs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, product
from operator import not_
from typing import Any

from matplotlib.axes import Axes

from sojourn._internal.vocabulary import ALL_SIZES
from sojourn.analysis.exact import Distribution, Known
from sojourn.analysis.statistics import Values
from sojourn.analysis.summary import ideals
from sojourn.presentation import style
from sojourn.presentation.axes import Layout
from sojourn.presentation.cdf_plots import steps
from sojourn.presentation.fairness import draw_statistic, finish_panel
from sojourn.presentation.points import draw_points, fit_axes
from sojourn.presentation.style import Picture
from sojourn.reproduction.days import draw_day
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


def draw(figure: Figure, results: Mapping[str, Result], *, notes: Sequence[str]) -> Picture:
    """Draw a figure: its panels in reading order, a curve a line of the run.

    `notes` stand small below it.

    Raises:
        InputError: a run's rows cannot be read.
    """
    columns = min(len(figure.panels), _MOST_IN_A_ROW)
    rows = -(-len(figure.panels) // columns)
    drawn = [results[panel.run] for panel in figure.panels]
    against_ideal = any(p.what.metric == "slowdown" and not p.day for p in figure.panels)
    said = [text for result in drawn for text in ideals(result.run.ledger) if against_ideal]
    bars = any(not (panel.distribution or panel.day or panel.averaging) for panel in figure.panels)
    bar_note = ["bars: 95 % intervals, where the run is long enough for one"] if bars else []
    words = dict.fromkeys(
        known.words
        for panel, result in zip(figure.panels, drawn, strict=True)
        for _, known in _known(panel, result)
    )
    said += [f"grey: means without simulation ({'; or '.join(words)})"] if words else []
    distributed = dict.fromkeys(
        known.words
        for panel, result in zip(figure.panels, drawn, strict=True)
        for _, line, value in _curves(panel, result)
        if (known := _distribution(panel, result, line, value))
    )
    if distributed:
        said += [f"pale: distributions without simulation ({'; or '.join(distributed)})"]
    note = "; ".join([*bar_note, *notes, *dict.fromkeys(said)])
    curves = dict.fromkeys(
        name
        for panel, result in zip(figure.panels, drawn, strict=True)
        for name, _, _ in _curves(panel, result)
    )
    with style.applied():
        places = {name: place for place, name in enumerate(curves)}
        picture, grid = style.panels(rows, columns, figure.title, note)
        panels = [panel for row in grid for panel in row]
        for panel, content, result in zip(panels, figure.panels, drawn, strict=False):
            panel.set_title(content.title)
            if content.day:
                draw_day(panel, result)
            else:
                drawn_by = _draw_distribution if content.distribution else _draw
                drawn_by = _draw_averages if content.averaging else drawn_by
                metric = content.what.words
                term = figure.terms.get(metric.column, metric.name)
                drawn_by(panel, content, result, places, term)
        for panel in panels[len(drawn) :]:
            panel.set_axis_off()
        style.legend(picture, panels[: len(drawn)])
    return picture


def _curves(content: Panel, result: Result) -> Iterator[tuple[str, str, Value | None]]:
    """What a panel shows: the name of each curve, its line, and for a distribution where it is."""
    if content.day:
        return
    lines = content.lines or tuple(result.lines)
    if not (content.distribution or content.averaging):
        yield from ((name, line, None) for name, line in zip(_apart(lines), lines, strict=True))
        return
    values = content.at or tuple(result.values)
    for line, value in product(lines, values):
        parts = [line] if len(lines) > 1 or len(values) == 1 else []
        parts += [_said(result.axis, value)] if len(values) > 1 else []
        yield ", ".join(parts), line, value


def _apart(lines: Sequence[str]) -> list[str]:
    """What tells lines apart: their names without the columns that all of them have alike."""
    parts = [line.split(", ") for line in lines]
    if len(lines) < 2 or len({len(own) for own in parts}) > 1:
        return list(lines)
    alike = [len(set(column)) == 1 for column in zip(*parts, strict=True)]
    return [", ".join(compress(own, map(not_, alike))) for own in parts]


def _known(content: Panel, result: Result) -> Iterator[tuple[Value, Known]]:
    """What is known without simulation of the means that a panel shows, and where on its axis."""
    what = content.what
    if content.distribution or content.day or (what.statistic, what.metric) != _MEAN_SOJOURN:
        return
    for _, line, _ in _curves(content, result):
        for value in result.values:
            if (of := result.known(line, value, what.jobs)) is not None:
                yield value, of


def _draw(
    panel: Axes, content: Panel, result: Result, places: Mapping[str, int], term: str
) -> None:
    layout = Layout.of(result.run, result.x, [])
    _draw_known(panel, [(layout.place({result.x: x}), of) for x, of in _known(content, result)])
    for name, line, _ in _curves(content, result):
        points = [
            (layout.place({result.x: value}), _ends(point))
            for value in layout.values
            if (point := result.cell(line, value, content.what).point())
        ]
        draw_points(panel, points, name, style.look(places[name]))
    layout.draw_axis(panel)
    panel.set_xlabel(f"{result.axis} [{layout.unit}]" if layout.unit else result.axis)
    statistic = content.what.statistic
    percentile = f"{statistic.removeprefix('p')}th percentile"
    of = content.what.metric
    said = _STATISTICS.get(statistic, statistic if statistic in SPREADS else percentile)
    unit = "" if statistic in SPREADS else content.what.shown_unit
    panel.set_ylabel(f"{term}, {said}{unit}")
    if statistic not in SPREADS or of == "slowdown":
        fit_axes(of, [panel])


def _draw_known(panel: Axes, means: Sequence[tuple[float, Known]]) -> None:
    """A cross for what a mean is, a bar for what it lies between, a foot for what it is above."""
    told: set[str] = set()
    for where, mean in means:
        if mean.exact is not None:
            name, ends, look = "exact", [mean.exact], _EXACT
        elif mean.least is not None and mean.most is not None:
            name, ends, look = "bounds", [mean.least, mean.most], _BETWEEN
        else:
            name, ends, look = "lower bound", [mean.least or 0], _ABOVE
        panel.plot([where] * len(ends), ends, label="" if name in told else name, **look)
        told.add(name)


def _draw_distribution(
    panel: Axes, content: Panel, result: Result, places: Mapping[str, int], term: str
) -> None:
    """Distribution functions; jobs that did not finish keep theirs below 1."""
    for name, line, value in _curves(content, result):
        if value is None:
            continue
        where, share = steps(result.cell(line, value, content.what).values())
        if where.size:
            look = style.look(places[name], dashed=True)
            panel.plot(where, share, drawstyle="steps-post", label=name, **look)
            if known := _distribution(content, result, line, value):
                _draw_known_distribution(panel, known, where, look["color"])
    panel.set_ylim(0, 1.02)
    panel.set_ylabel("share of jobs")
    of = content.what.metric
    panel.set_xlabel(f"{term}{content.what.shown_unit}")
    if of == "goodput_bps":
        panel.set_xlim(left=0)
    elif panel.has_data():
        style.logarithmic(panel, "x")


def _draw_averages(
    panel: Axes, content: Panel, result: Result, places: Mapping[str, int], term: str
) -> None:
    """How evenly long flows share, against the averaging time; nothing where it is not told."""
    statistic = content.what.statistic
    for name, line, value in _curves(content, result):
        found = result.fairness(line, value or 0, content.what.jobs, None)
        draw_statistic(panel, found, statistic, name, places[name])
    finish_panel(panel, statistic)
    panel.set_ylabel(f"{term}, {panel.get_ylabel()}")


def _distribution(
    content: Panel, result: Result, line: str, value: Value | None
) -> Distribution | None:
    """What is known without simulation of the distribution of a curve's sojourn times."""
    if value is None or content.what.metric != "sojourn_ps" or content.what.bin != ALL_SIZES:
        return None
    return result.distribution(line, value, content.what.jobs)


def _draw_known_distribution(panel: Axes, known: Distribution, where: Values, colour: str) -> None:
    """A broad pale line where it is known, a pale band where it has bounds; as far as the data."""
    inside = (where[0] <= known.times) & (known.times <= where[-1])
    times, least, most = known.times[inside], known.least[inside], known.most[inside]
    if known.exact:
        panel.plot(times, least, color=colour, linewidth=6, alpha=0.25, zorder=1)
    else:
        panel.fill_between(times, least, most, color=colour, alpha=0.2, linewidth=0, zorder=1)


def _said(name: str, value: Value) -> str:
    """A value along the axis called `name`: words alone, numbers with it."""
    wordy = isinstance(value, str) and not value[:1].isdigit()
    return str(value) if wordy else f"{name} {value}"


def _ends(point: Point) -> tuple[float, float, float]:
    return point.value, *(point.ci95 or (point.value, point.value))
