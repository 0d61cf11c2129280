"""The figures of a paper, out of its finished runs."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from sojourn import style
from sojourn.plots import draw_points, logarithmic_where_wide
from sojourn.reproduce.papers import Figure, Panel
from sojourn.reproduce.results import Point, Result
from sojourn.style import Picture
from sojourn.summary import ideals
from sojourn.units import number

_MOST_IN_A_ROW = 2
_WORDS = {"mean": "average", "p99": "99th percentile"}


def draw(figure: Figure, results: Mapping[str, Result], *, notes: Sequence[str]) -> Picture:
    """Draw a figure: its panels in reading order, load to the right, a line a scheme.

    `notes` stand small below it.

    Raises:
        InputError: a run's rows cannot be read.
    """
    columns = min(len(figure.panels), _MOST_IN_A_ROW)
    rows = -(-len(figure.panels) // columns)
    said = dict.fromkeys(
        text for panel in figure.panels for text in ideals(results[panel.run].run.ledger)
    )
    note = "; ".join(["bars: 95 % intervals", *notes, *said])
    with style.applied():
        picture, grid = style.panels(rows, columns, figure.title, note)
        panels = [panel for row in grid for panel in row]
        for panel, content in zip(panels, figure.panels, strict=True):
            _draw(panel, content, results[content.run])
        style.legend(picture, panels)
    return picture


def _draw(panel: Axes, content: Panel, result: Result) -> None:
    for place, scheme in enumerate(result.schemes):
        points = [
            (load, point)
            for load in result.loads
            if (point := result.cell(scheme, load, content.bin).point(content.statistic))
        ]
        draw_points(
            panel, [(load, _ends(point)) for load, point in points], scheme, style.look(place)
        )
    panel.set_title(content.title)
    panel.set_xlabel("load")
    panel.set_xticks(result.loads, [number(load) for load in result.loads])
    panel.set_ylabel(f"normalised FCT, {_WORDS[content.statistic]}")
    logarithmic_where_wide([panel])


def _ends(point: Point) -> tuple[float, float, float]:
    return point.value, *(point.ci95 or (point.value, point.value))
