"""The figures of a paper, out of its finished runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from sojourn import style
from sojourn.layout import Layout
from sojourn.plots import draw_points, logarithmic_where_wide
from sojourn.reproduce.papers import Figure, Panel
from sojourn.reproduce.results import Point, Result
from sojourn.style import Picture
from sojourn.summary import ideals

_MOST_IN_A_ROW = 2
_WORDS = {"mean": "average", "p99": "99th percentile"}


def draw(figure: Figure, results: Mapping[str, Result], *, notes: Sequence[str]) -> Picture:
    """Draw a figure: its panels in reading order, a line a scheme.

    `notes` stand small below it.

    Raises:
        InputError: a run's rows cannot be read.
    """
    columns = min(len(figure.panels), _MOST_IN_A_ROW)
    rows = -(-len(figure.panels) // columns)
    drawn = [results[panel.run] for panel in figure.panels]
    said = dict.fromkeys(text for result in drawn for text in ideals(result.run.ledger))
    note = "; ".join(["bars: 95 % intervals, none where flows are too few", *notes, *said])
    schemes = dict.fromkeys(scheme for result in drawn for scheme in result.schemes)
    with style.applied():
        looks = {scheme: style.look(place) for place, scheme in enumerate(schemes)}
        picture, grid = style.panels(rows, columns, figure.title, note)
        panels = [panel for row in grid for panel in row]
        for panel, content, result in zip(panels, figure.panels, drawn, strict=True):
            _draw(panel, content, result, looks)
        style.legend(picture, panels)
    return picture


def _draw(panel: Axes, content: Panel, result: Result, looks: Mapping[str, dict[str, Any]]) -> None:
    layout = Layout.of(result.run, result.x, ["scheme"])
    for scheme in result.schemes:
        points = [
            (layout.place({result.x: value}), _ends(point))
            for value in layout.values
            if (point := result.cell(scheme, value, content.bin).point(content.statistic))
        ]
        draw_points(panel, points, scheme, looks[scheme])
    panel.set_title(content.title)
    layout.draw_axis(panel)
    panel.set_ylabel(f"normalised FCT, {_WORDS[content.statistic]}")
    logarithmic_where_wide([panel])


def _ends(point: Point) -> tuple[float, float, float]:
    return point.value, *(point.ci95 or (point.value, point.value))
