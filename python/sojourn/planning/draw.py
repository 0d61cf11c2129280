"""A choice between arrays as a picture: what they cost, and how long requests take."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sojourn._internal.units import PS_PER_MS, count
from sojourn.planning.candidate import Candidate, Choice
from sojourn.presentation import style
from sojourn.presentation.plots import Point, draw_points
from sojourn.presentation.style import Picture

_WIDTH, _HEIGHT = 7.0, 4.5
# The height of a name in the legend, and of title, axis and note, in inches.
_NAME, _MARGINS = 0.19, 1.3
# The most names of offers, and of layouts, that the legend has, and the letters of one.
_MOST_NAMES, _LONGEST_NAME = 20, 28


def draw(choice: Choice) -> Picture:
    """The simulated candidates by price, the limit, and a ring around the cheapest.

    An offer has a colour and a layout a marker, so that the legend has a line for each of either
    and not for each combination. The picture is as high as its legend.
    """
    shown = [c for c in choice.candidates if c.value_ps is not None]
    of = "mean" if choice.percentile is None else f"{choice.percentile:.10g}th percentile of the"
    offers = list(dict.fromkeys(c.offer for c in shown))
    layouts = list(dict.fromkeys(c.arrangement for c in shown))
    with style.applied():
        title = f"{choice.title}: {choice.target}"
        picture, ((panel,),) = style.panels(1, 1, title, "; ".join(_said(choice, shown)))
        for candidate in shown:
            look = {
                "color": _cyclic(style.COLOURS, offers.index(candidate.offer)),
                "marker": _cyclic(style.MARKERS, layouts.index(candidate.arrangement)),
                "linestyle": "",
            }
            draw_points(panel, [_point(candidate)], "_", look)
        _number(panel, shown)
        _mark(panel, choice)
        panel.set_xlabel("price, as the plan gives it")
        panel.set_ylabel(f"{of} response time [ms]")
        if shown:
            style.logarithmic(panel, "y")
        names = _legend(picture, panel, offers, layouts)
        picture.set_size_inches(_WIDTH, max(_HEIGHT, _MARGINS + _NAME * names))
    return picture


def _said(choice: Choice, shown: Sequence[Candidate]) -> list[str]:
    left_out = len(choice.candidates) - len(shown)
    said = ["a number beside a point: how many disks"]
    if any(c.ci95_ps for c in shown):
        said.append("bars: 95 % intervals")
    if left_out:
        said.append(f"{count(left_out, 'candidate')} not simulated")
    return said


def _number(panel: Axes, shown: Sequence[Candidate]) -> None:
    """Write the number of disks beside the first point of each price."""
    numbered: set[tuple[float, int | None]] = set()
    for candidate in shown:
        if (candidate.cost, candidate.disks) in numbered:
            continue
        numbered.add((candidate.cost, candidate.disks))
        price, (value, _, _) = _point(candidate)
        panel.annotate(
            str(candidate.disks),
            (price, value),
            xytext=(5, 4),
            textcoords="offset points",
            fontsize=7,
            color="0.35",
        )


def _mark(panel: Axes, choice: Choice) -> None:
    """Draw the limit and a ring around the cheapest."""
    limit = choice.limit_ps / PS_PER_MS
    panel.axhline(limit, color="0.4", linewidth=1, linestyle="--", label="target")
    if choice.cheapest is not None:
        price, (value, _, _) = _point(choice.cheapest)
        panel.scatter(
            [price],
            [value],
            s=140,
            facecolors="none",
            edgecolors="0.2",
            zorder=5,
            label="cheapest that meets it",
        )


def _legend(picture: Picture, panel: Axes, offers: Sequence[str], layouts: Sequence[str]) -> int:
    """Name the colours, the markers, and what is marked; returns how many names there are."""
    colours = _names(offers, [{"color": _cyclic(style.COLOURS, i)} for i in range(len(offers))])
    plain = {"color": "0.35", "linestyle": ""}
    markers = _names(
        layouts, [plain | {"marker": _cyclic(style.MARKERS, i)} for i in range(len(layouts))]
    )
    handles, labels = panel.get_legend_handles_labels()
    marked = [(h, label) for h, label in zip(handles, labels, strict=True) if label != "_"]
    # A single offer, or a single layout, needs no name where the other varies.
    named = [*(colours if len(offers) > 1 else []), *(markers if len(layouts) > 1 else []), *marked]
    picture.legend(
        [handle for handle, _ in named],
        [label for _, label in named],
        loc="outside right center",
        frameon=False,
    )
    return len(named)


def _names(names: Sequence[str], looks: Sequence[dict[str, Any]]) -> list[tuple[Line2D, str]]:
    """Lines of a legend, short ones and not too many."""
    pairs = zip(names[:_MOST_NAMES], looks, strict=False)
    lines = [
        (Line2D([], [], linewidth=4 if "marker" not in look else None, **look), _short(name))
        for name, look in pairs
    ]
    left = len(names) - len(lines)
    return (
        [*lines, (Line2D([], [], linestyle=""), f"and {count(left, 'other')}")] if left else lines
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def _cyclic(looks: Sequence[str], place: int) -> str:
    return looks[place % len(looks)]


def _point(candidate: Candidate) -> tuple[float, Point]:
    """Where a candidate is drawn: its price; its value and the ends of its interval, in ms."""
    assert candidate.value_ps is not None  # noqa: S101 - only simulated ones are drawn
    middle = candidate.value_ps
    low, high = candidate.ci95_ps or (middle, middle)
    return candidate.cost, (middle / PS_PER_MS, low / PS_PER_MS, high / PS_PER_MS)
