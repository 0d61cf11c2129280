"""What goes where in a picture: the column along the axis, and what makes a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from sojourn import style
from sojourn.columns import Column, Columns, groups
from sojourn.errors import InputError
from sojourn.ledger import Ledger, Value
from sojourn.units import number

if TYPE_CHECKING:
    from sojourn.runs import Run

LOG_FROM = 20  # the largest over the smallest value of an axis that makes it logarithmic
_FLAT_NAMES = 5
_LETTER = 0.035  # of a panel's width


@dataclass(frozen=True)
class Layout:
    """The column along the axis (none where nothing is swept), its values, a line's columns."""

    x: Column | None
    values: tuple[Value, ...]
    by: tuple[Column, ...]

    @staticmethod
    def of(run: "Run", x: str | None, by: Sequence[str] | None) -> "Layout":
        """The layout asked for.

        Along the axis, by default: the load where it is swept, else the first axis of numbers,
        else the first axis. A line for each combination of `by`, by default the other axes.

        Raises:
            InputError: an unknown column, or one of the rows along the axis.
        """
        columns = Columns.of(run.directory, run.ledger)
        axes = {name: _values(run.ledger, name) for name in columns.axes}
        numeric = [name for name, values in axes.items() if all(map(_is_number, values))]
        ranked = [*(name for name in numeric if name == "load"), *numeric, *axes]
        axis = columns.find(x or ranked[0]) if x or ranked else None
        if axis and axis.in_rows:
            raise InputError(f"column {axis.label!r} is one of the rows, not of the cases")
        if by is None:
            by = [name for name in columns.apart if axis is None or name != axis.name]
        return Layout(
            x=axis,
            values=tuple(_values(run.ledger, axis.name)) if axis else (),
            by=tuple(columns.find(name) for name in by),
        )

    @property
    def numeric(self) -> bool:
        """Whether the values along the axis are numbers."""
        return bool(self.values) and all(map(_is_number, self.values))

    def place(self, case: Mapping[str, Value | None]) -> float:
        """Where along the axis a case stands; names stand in order of appearance."""
        value = case[self.x.label] if self.x else None
        if value is None:
            return 0.0
        return float(value) if self.numeric else float(self.values.index(value))

    def value(self, given: str | float | None) -> Value:
        """The value along the axis that was asked for, or the largest.

        Raises:
            InputError: there is no such value.
        """
        if given is None:
            return self.values[-1]
        for value in self.values:
            if str(value) == str(given) or _same_number(value, given):
                return value
        there = ", ".join(str(value) for value in self.values)
        raise InputError(f"no case at {given}; there is {there}")

    def draw_axis(self, panel: Axes) -> None:
        """Label the axis and put its ticks at the values where there is room."""
        panel.set_xlabel(self.x.label if self.x else "")
        if not self.numeric:
            draw_names(panel, [str(value) for value in self.values])
            return
        numbers = np.array([float(value) for value in self.values])
        places = numbers
        if numbers[0] > 0 and numbers[-1] / numbers[0] >= LOG_FROM and panel.has_data():
            style.logarithmic(panel, "x")
            places = np.log(numbers)
        names = [number(value) for value in numbers]
        gap = np.diff(places).min(initial=np.inf) / max(np.ptp(places), 1e-300)
        if gap >= _LETTER * max(map(len, names)):
            panel.set_xticks(numbers, names)


def draw_names(panel: Axes, names: Sequence[str]) -> None:
    """Put names along an axis."""
    steep = 20 if len(names) <= _FLAT_NAMES else 60
    panel.set_xticks(range(len(names)), names, rotation=steep, ha="right", rotation_mode="anchor")
    panel.set_xlim(-0.5, len(names) - 0.5)


def label(case: Mapping[str, Value | None], kind: str = "") -> str:
    """What a line is called: names stand alone, numbers and switches with their column."""
    parts = [v if isinstance(v, str) else f"{name} = {v}" for name, v in case.items()]
    return ", ".join([*parts, *([kind] if kind else [])])


def _values(ledger: Ledger, name: str) -> list[Value]:
    """The values of a column of the cases, numbers in rising order, others as they come."""
    found = groups(ledger, [Column(name, name)])
    values = [value for (value,) in found if value is not None]
    return sorted(values) if all(map(_is_number, values)) else values


def _same_number(value: Value, given: str | float) -> bool:
    try:
        return float(value) == float(given)
    except ValueError:
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
