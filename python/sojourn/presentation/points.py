"""Points of a picture with their intervals, joined by lines, and the axes that they need."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from sojourn.analysis import steadiness
from sojourn.analysis.statistics import Interval
from sojourn.presentation import style
from sojourn.presentation.axes import LOG_FROM

Point: TypeAlias = tuple[float, float, float]
"""A value and the ends of its interval."""

UNSTEADY = f"open triangles at the top: {steadiness.NONE}, and so no value"
"""The note below a picture with cases that have no steady state."""

_TOP, _BELOW = 0.97, 0.055  # of a panel's height: the first line's triangles, and how far the next


def as_point(value: float | None, ci95: Interval | None) -> Point:
    """A value and the ends of its interval, which are the value itself where there is none."""
    middle = np.nan if value is None else value
    return middle, *(ci95 or (middle, middle))


def draw_points(
    panel: Axes, points: Sequence[tuple[float, Point | None]], line: str, look: dict[str, Any]
) -> None:
    """Draw the line of that name: values with their intervals, from left to right.

    A place without a value is one of a case that has no steady state. It has an open triangle at
    the top of the panel, below those of earlier lines, and the line is interrupted there.
    """
    if not points:
        return
    nothing = (np.nan, np.nan, np.nan)
    ordered = sorted(points, key=lambda own: own[0])
    where, middle, low, high = np.array([(x, *(own or nothing)) for x, own in ordered]).T
    # Neither bars nor their ends where there is no interval.
    has = np.isfinite(middle) & (low < high)
    bars = np.full((2, has.size), np.nan)
    bars[:, has] = middle[has] - low[has], high[has] - middle[has]
    drawn = np.clip(bars, 0, None) if has.any() else None
    steady = [own is not None for _, own in ordered]
    named = line if any(steady) else None
    panel.errorbar(where, middle, drawn, capsize=2, label=named, **look)
    if not all(steady):
        apart = where[~np.array(steady)]
        _draw_apart(panel, apart, None if named else line, look.get("color", "black"))


def _draw_apart(panel: Axes, where: Sequence[float], line: str | None, colour: str) -> None:
    """Draw open triangles at the top of a panel, where they change no axis."""
    height = _TOP - _BELOW * _apart(panel)
    panel.plot(
        where,
        [height] * len(where),
        transform=panel.get_xaxis_transform(),
        gid=_APART,
        label=line or "_apart",
        color=colour,
        marker="^",
        markerfacecolor="white",
        linestyle="",
    )


def _apart(panel: Axes) -> int:
    """How many lines of triangles a panel has."""
    return sum(own.get_gid() == _APART for own in panel.lines)


def _make_room(panel: Axes) -> None:
    """Let the axis end so far above the values that triangles do not cover any."""
    free = min(_BELOW * _apart(panel), _MOST_ROOM)
    if free:
        scale = panel.yaxis.get_transform()
        low, high = scale.transform(np.array(panel.get_ylim()))
        panel.set_ylim(top=float(scale.inverted().transform(low + (high - low) / (1 - free))))


_APART = "no steady state"
_MOST_ROOM = 0.5  # of a panel's height


def fit_axes(metric: str, row: Sequence[Axes]) -> None:
    """Let value axes begin where their metric does, logarithmic if one of them spans a wide range.

    A slowdown begins at 1, the ideal, which is marked; others at 0. One without a value has no
    numbers.
    """
    ends = [panel.dataLim.intervaly for panel in row if np.isfinite(panel.dataLim.intervaly).all()]
    low, high = min((end[0] for end in ends), default=0), max((end[1] for end in ends), default=0)
    for panel in row:
        if not np.isfinite(panel.dataLim.intervaly).all():
            panel.set_yticks([])
        elif metric == "slowdown":
            panel.axhline(1, color="0.6", linewidth=0.8, zorder=0)
            if high >= LOG_FROM:
                style.logarithmic(panel, "y", start=1)
        elif 0 < LOG_FROM * low < high:
            style.logarithmic(panel, "y")
        else:
            panel.set_ylim(0, max(panel.get_ylim()[1], 1.05 * panel.dataLim.y1))
            style.short_numbers(panel)
        _make_room(panel)
