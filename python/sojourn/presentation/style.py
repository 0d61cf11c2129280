"""How pictures look, and how they become files: the same bytes for the same numbers."""

from contextlib import AbstractContextManager
from io import BytesIO
from itertools import combinations
from math import floor, log10
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from sojourn._internal.errors import InputError
from sojourn._internal.files import whole
from sojourn._internal.units import number

# Okabe and Ito's colours that colour-blind readers tell apart, a grey for their pale yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A8A")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")

_RC: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.hashsalt": "sojourn",
    "text.parse_math": False,  # a title may hold a dollar
}
# from here on numbers up an axis are long
_LONG = 1e5
# where labels stand in a decade; more decades than these have them at their powers of ten only
_STEPS = (1, 2, 5)
_DECADES_WITH_ALL_LABELS = {"x": 2.25, "y": 4}

# panels in a row that are so few that each may be wider: their legend takes as much as a panel
_FEW_COLUMNS = 3

FORMATS = ("png", "svg", "pdf")
DPI = 150


def applied() -> AbstractContextManager[None]:
    """The style, for as long as the context lasts; it must cover drawing as well as writing."""
    return mpl.rc_context(_RC)


class Picture(Figure):
    """A figure that shows itself in a notebook and writes itself without a date."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # A canvas that has a renderer: the layout asks for one many times.
        self._canvas: Any = FigureCanvasAgg(self)

    def write(self, path: str | Path) -> None:
        """Write a PNG, SVG or PDF file, by its suffix, whole or not at all.

        Raises:
            InputError: the name ends otherwise.
            OSError: it cannot be written.
        """
        file = Path(path)
        kind = file.suffix.removeprefix(".").lower()
        if kind not in FORMATS:
            raise InputError(f"{file}: expected a name that ends in .{', .'.join(FORMATS)}")
        with whole(file) as partial:
            partial.write_bytes(self._encoded(kind))

    def _repr_png_(self) -> bytes:
        return self._encoded("png")

    def _encoded(self, kind: str) -> bytes:
        dated = {
            "png": {"Software": None},
            "svg": {"Date": None, "Creator": None},
            "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        }
        buffer = BytesIO()
        with applied():
            # Laid out and drawn here, once each; `savefig` would draw everything a second time.
            engine = self.get_layout_engine()
            if engine:
                engine.execute(self)
            self.set_layout_engine("none")
            if kind == "png":
                self._canvas.print_png(buffer, metadata=dated[kind])
            else:
                self.savefig(buffer, format=kind, metadata=dated[kind])
            self.set_layout_engine(engine)
        return buffer.getvalue()


def panels(
    rows: int, columns: int, title: str, note: str, *, size: tuple[float, float] | None = None
) -> tuple[Picture, list[list[Axes]]]:
    """An empty picture with a grid of panels; the note stands small below them.

    Its size, in inches, is what panels of the usual size need.
    """
    wider = 1.2 if columns < _FEW_COLUMNS else 0
    width, height = size or (1 + (3 + wider) * columns, 1.6 + 2.5 * rows)
    picture = Picture(figsize=(width, height), dpi=DPI, layout="constrained")
    axes = picture.subplots(rows, columns, squeeze=False)
    # matplotlib's own wrapping takes dollars for mathematics
    picture.suptitle(fill(title, int(10 * width)), fontweight="bold")
    picture.supxlabel(fill(note, int(15 + 55 / 3 * (width - 1))), fontsize=7, color="0.35")
    return picture, [list(row) for row in axes]


def look(place: int, *, dashed: bool = False) -> dict[str, Any]:
    """How the line at a place of the legend looks: its colour, with a marker or with dashes."""
    colour = COLOURS[place % len(COLOURS)]
    if dashed:
        return {"color": colour, "linestyle": DASHES[place % len(DASHES)]}
    return {"color": colour, "marker": MARKERS[place % len(MARKERS)]}


def legend(picture: Picture, axes: list[Axes]) -> None:
    """One legend for all panels, outside them; none where a single line needs no name.

    Where a panel has none of the lines that another has, each has a separate legend, but for
    those whose lines stand in one before.
    """
    names: dict[str, Any] = {}
    shown: list[set[str]] = []
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        names |= {label: h for h, label in zip(handles, labels, strict=True) if label}
        shown += [set(labels)] if labels else []
    if any(one.isdisjoint(other) for one, other in combinations(shown, 2)):
        told: set[str] = set()
        for panel in axes:
            labels = panel.get_legend_handles_labels()[1]
            if len(labels) > 1 and not told.issuperset(labels):
                # where there is no room, over what is drawn, and not through it
                panel.legend(loc="best", fontsize=8, framealpha=0.85, edgecolor="none")
                told.update(labels)
    elif len(names) > 1:
        picture.legend(names.values(), names.keys(), loc="outside right center", frameon=False)


def heading(picture: Picture, panel: Axes, title: str) -> None:
    """The title and below it the legend of all panels, for names too long to stand beside them."""
    handles, labels = panel.get_legend_handles_labels()
    picture.legend(
        handles,
        labels,
        loc="outside upper left",
        frameon=False,
        alignment="left",
        title=title,
        title_fontproperties={"weight": "bold", "size": "large"},
    )


def logarithmic(panel: Axes, which: str, *, start: float | None = None) -> None:
    """Make an axis logarithmic, with plain numbers on it.

    It begins at `start`, or where the data do, and ends where they do, both at 1, 2 or 5 times a
    power of ten; where the axis is short, all of these have their numbers.
    """
    limits = panel.dataLim.intervalx if which == "x" else panel.dataLim.intervaly
    low, high = _ends(start or min(limits), max(limits))
    all_labels = log10(high / low) <= _DECADES_WITH_ALL_LABELS[which]
    steps = _STEPS if all_labels else (1,)
    margin = (high / low) ** 0.03
    panel.set(**{f"{which}scale": "log", f"{which}lim": (low / margin, high * margin)})
    axis = panel.xaxis if which == "x" else panel.yaxis
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator() if all_labels else LogLocator(subs=range(2, 10)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_formatter(NullFormatter())


def short_numbers(panel: Axes) -> None:
    """Write large numbers up a linear axis as along a logarithmic one: 20k, 1M."""
    if panel.dataLim.y1 >= _LONG:
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def _short(value: float) -> str:
    """A number for an axis: 5,000, 20k, 1M."""
    for scale, letter in ((1e6, "M"), (1e3, "k")):
        if value >= max(scale, 1e4):
            return f"{number(value / scale)}{letter}"
    return number(value)


def _ends(low: float, high: float) -> tuple[float, float]:
    """Two different numbers around `low` and `high`, each a step of a decade: 0.5, 1, 2, 5, 10."""
    slack = 1 + 1e-9
    below, above = (
        [10.0 ** floor(log10(value)) * step for step in (*_STEPS, 10)]
        for value in (low, max(high, 1.1 * low))
    )
    return (
        max(step for step in below if step <= low * slack),
        min(step for step in above if step * slack >= max(high, 1.1 * low)),
    )
