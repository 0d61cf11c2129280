"""The picture of a map: for each claim the points at which it holds."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sojourn._internal.units import count
from sojourn.presentation import style
from sojourn.presentation.style import Picture
from sojourn.reproduction.map_points import Map

_IN_A_ROW = 4
_TITLE_WIDE = 44
_FAILS, _HOLDS, _UNKNOWN = "#E8E8E8", style.COLOURS[5], style.COLOURS[4]
_CELLS = (True, False, None)
_ALIKE = {
    True: "These hold at every point",
    False: "These hold at none",
    None: "These were measured at none",
}
_ALL = style.COLOURS[2]
_HERE: dict[str, Any] = {"marker": "*", "color": "black", "markersize": 9, "linestyle": ""}


def draw(found: Map) -> Picture:
    """Draw a panel for each claim that holds at some points and not at others, and their sum.

    Claims that are alike at all points stand in the note.
    """
    plan = found.plan
    divided = [claim for claim in found.claims if len(set(found.by_point(claim))) > 1]
    alike = [claim for claim in found.claims if claim not in divided]
    notes = [plan.note]
    for held, said in _ALIKE.items():
        names = [c.claim for c in alike if found.by_point(c)[0] is held]
        notes += [f"{said}: {'; '.join(names)}"] if names else []
    with style.applied():
        rows = -(-(len(divided) + 1) // _IN_A_ROW)
        columns = min(len(divided) + 1, _IN_A_ROW)
        size = (1.5 + 3.4 * columns, 1.6 + 3.3 * rows)
        picture, grid = style.panels(rows, columns, found.title, ". ".join(notes), size=size)
        panels = [panel for row in grid for panel in row]
        for panel, claim in zip(panels, divided, strict=False):
            cells = [_CELLS.index(held) for held in found.by_point(claim)]
            _cells(panel, found, cells, ListedColormap([_HOLDS, _FAILS, _UNKNOWN]), (0, 2))
            panel.set_title(fill(claim.claim, _TITLE_WIDE), fontsize=7.5)
        _sum(panels[len(divided)], found)
        for panel in panels[len(divided) + 1 :]:
            panel.set_axis_off()
        for panel in panels[: len(divided) + 1]:
            panel.set(xlabel=plan.x.title, ylabel=plan.y.title)
        signs = _signs(found, any_divided=bool(divided))
        if signs:
            picture.legend(handles=signs, loc="outside right upper", frameon=False, fontsize=8)
    return picture


def _signs(found: Map, *, any_divided: bool) -> list[Any]:
    """What the legend explains: nothing that is not drawn."""
    signs: list[Any] = []
    if any_divided:
        signs += [Patch(color=_HOLDS, label="holds"), Patch(color=_FAILS, label="does not")]
    if any(None in found.by_point(claim) for claim in found.claims):
        signs.append(Patch(color=_UNKNOWN, label="not measured"))
    if any(point.holding == len(found.claims) for point in found.points):
        signs.append(Patch(color=_ALL, label="all hold"))
    if any(point.as_studied for point in found.points) and any_divided:
        signs.append(Line2D([], [], label="as studied", **_HERE))
    return signs


def _sum(panel: Axes, found: Map) -> None:
    """How many claims hold at each point, in numbers."""
    most = len(found.claims)
    holding = [point.holding for point in found.points]
    colours = ListedColormap([*(_shade(n / most) for n in range(most)), _ALL])
    _cells(panel, found, holding, colours, (0, most), marked=False)
    y = len(found.plan.y.values)
    for place, point in enumerate(found.points):
        where = (place // y, place % y)
        weight = "bold" if point.holding == most else "normal"
        panel.text(*where, str(point.holding), ha="center", va="center", fontsize=6, weight=weight)
    panel.set_title(f"How many of the {count(most, 'claim')} hold", fontsize=7.5)


def _shade(share: float) -> str:
    """From white, where none holds, to a light grey."""
    level = round(255 - 60 * share)
    return f"#{level:02x}{level:02x}{level:02x}"


def _cells(
    panel: Axes,
    found: Map,
    values: Sequence[int],
    colours: ListedColormap,
    ends: tuple[float, float],
    *,
    marked: bool = True,
) -> None:
    """A cell for each point, of equal size whatever lies between their values."""
    x, y = found.plan.x.values, found.plan.y.values
    grid = np.array(values).reshape(len(x), len(y)).T
    panel.pcolormesh(
        np.arange(len(x)), np.arange(len(y)), grid,
        cmap=colours, vmin=ends[0], vmax=ends[1], edgecolors="white", linewidth=0.6,
    )  # fmt: skip
    panel.set_xticks(range(len(x)), [str(value) for value in x], fontsize=7)
    panel.set_yticks(range(len(y)), [str(value) for value in y], fontsize=7)
    panel.grid(visible=False)
    for place, point in enumerate(found.points):
        if point.as_studied and marked:
            panel.plot(place // len(y), place % len(y), **_HERE)
