"""A choice between arrays as a picture: what they cost, and how long requests take."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sojourn._internal.units import PS_PER_MS, count
from sojourn.planning.candidate import Candidate, Choice
from sojourn.presentation import style
from sojourn.presentation.points import Point, draw_points
from sojourn.presentation.style import Picture

Look: TypeAlias = dict[str, Any]
Looks: TypeAlias = Mapping[str, Look]

_WIDTH, _HEIGHT = 7.0, 4.5
# The height of a name in the legend, and of title, axis and note, in inches.
_NAME, _MARGINS = 0.19, 1.3
# The most offers, and layouts, that have a look and a name, and the letters of a name.
_MOST_NAMES, _LONGEST_NAME = 20, 28
_MARKERS = (*style.MARKERS, *"<>phHd8")
_OTHERS: Look = {"color": "0.75", "marker": "."}
# Where the number of disks stands, in points, of the first candidate at a price and of others.
_BESIDE = ((5, 4), (5, -9), (-12, 4), (-12, -9))


def draw(choice: Choice) -> Picture:
    """The simulated candidates by price, the limit, and a ring around the cheapest.

    An offer has a colour and a layout a marker, so that the legend has a line for each of either
    and not for each combination. The picture is as high as its legend.
    """
    shown = [c for c in choice.candidates if c.value_ps is not None]
    of = "mean" if choice.percentile is None else f"{choice.percentile:.10g}th percentile of the"
    offers = _colours(c.offer for c in shown)
    layouts = _markers(c.arrangement for c in shown)
    with style.applied():
        title = f"{choice.title}: {choice.target}"
        picture, ((panel,),) = style.panels(1, 1, title, "; ".join(_said(choice, shown)))
        for candidate in shown:
            look = offers.get(candidate.offer, _OTHERS) | layouts.get(
                candidate.arrangement, _OTHERS
            )
            hollow = {} if candidate.ci95_ps else {"fillstyle": "none"}
            draw_points(panel, [_point(candidate)], "_", look | hollow | {"linestyle": ""})
        _number(panel, shown)
        _mark(panel, choice)
        panel.set_xlabel("price, as the plan gives it")
        panel.set_ylabel(f"{of} response time [ms]")
        if shown:
            style.logarithmic(panel, "y")
        others = [len({c.offer for c in shown}), len({c.arrangement for c in shown})]
        names = _legend(picture, panel, [offers, layouts], others)
        picture.set_size_inches(_WIDTH, max(_HEIGHT, _MARGINS + _NAME * names))
    return picture


def _colours(offers: Iterable[str]) -> Looks:
    """The colour of each of the first offers."""
    names = list(dict.fromkeys(offers))[:_MOST_NAMES]
    if len(names) <= len(style.COLOURS):
        colours: Sequence[Any] = style.COLOURS
    else:
        colours = list(mpl.colormaps["turbo"].resampled(len(names))(range(len(names))))
    return {name: {"color": colours[place]} for place, name in enumerate(names)}


def _markers(layouts: Iterable[str]) -> Looks:
    """The marker of each of the first layouts."""
    names = list(dict.fromkeys(layouts))[: min(_MOST_NAMES, len(_MARKERS))]
    return {name: {"marker": _MARKERS[place]} for place, name in enumerate(names)}


def _said(choice: Choice, shown: Sequence[Candidate]) -> list[str]:
    left_out = len(choice.candidates) - len(shown)
    said = ["a number beside a point: how many disks"]
    if any(c.ci95_ps for c in shown):
        said.append("bars: 95 % intervals")
    if any(not c.ci95_ps for c in shown):
        said.append("hollow: no interval")
    if left_out:
        said.append(f"{count(left_out, 'candidate')} not drawn: no time is known")
    return said


def _number(panel: Axes, shown: Sequence[Candidate]) -> None:
    """Write the number of disks beside the highest point that has it at a price."""
    at: Counter[float] = Counter()
    numbered: set[tuple[float, int | None]] = set()
    for candidate in sorted(shown, key=lambda c: (c.cost, -(c.value_ps or 0))):
        if (candidate.cost, candidate.disks) in numbered:
            continue
        numbered.add((candidate.cost, candidate.disks))
        price, (value, _, _) = _point(candidate)
        panel.annotate(
            str(candidate.disks),
            (price, value),
            xytext=_BESIDE[at[price] % len(_BESIDE)],
            textcoords="offset points",
            fontsize=7,
            color="0.35",
        )
        at[price] += 1


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


def _legend(picture: Picture, panel: Axes, looks: Sequence[Looks], numbers: Sequence[int]) -> int:
    """Name what has a look and what is marked; returns how many names there are.

    Args:
        picture: gets the legend, beside the panel.
        panel: has what is marked.
        looks: those of offers, and those of layouts.
        numbers: how many offers and layouts there are, with and without a look.
    """
    named: list[tuple[Any, str]] = []
    for each, number in zip(looks, numbers, strict=True):
        if number > 1:  # a single one needs no name
            named += [(_sample(look), _short(name)) for name, look in each.items()]
        if number > len(each):
            named.append((_sample(_OTHERS), count(number - len(each), "other")))
    handles, labels = panel.get_legend_handles_labels()
    named += [(h, label) for h, label in zip(handles, labels, strict=True) if label != "_"]
    picture.legend(
        [handle for handle, _ in named],
        [label for _, label in named],
        loc="outside right center",
        frameon=False,
    )
    return len(named)


def _sample(look: Look) -> Line2D:
    """A line of the legend: a marker in grey, or a bar of a colour."""
    plain: Look = {"color": "0.35", "linestyle": ""} if "marker" in look else {"linewidth": 4}
    return Line2D([], [], **(plain | look))


def _short(name: str) -> str:
    """A name without its middle where it is long: its end often tells it from others."""
    half = (_LONGEST_NAME - len("...")) // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}...{name[-half:]}"


def _point(candidate: Candidate) -> tuple[float, Point]:
    """Where a candidate is drawn: its price; its value and the ends of its interval, in ms."""
    assert candidate.value_ps is not None  # noqa: S101 - only simulated ones are drawn
    middle = candidate.value_ps
    low, high = candidate.ci95_ps or (middle, middle)
    return candidate.cost, (middle / PS_PER_MS, low / PS_PER_MS, high / PS_PER_MS)
