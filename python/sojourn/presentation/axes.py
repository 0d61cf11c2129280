"""What goes where in a picture: the column along the axis, and what makes a line."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TypeGuard

import numpy as np
from matplotlib.axes import Axes

from sojourn._internal.errors import InputError
from sojourn._internal.parameter_labels import label_of
from sojourn._internal.units import number, numbers
from sojourn._internal.vocabulary import kind_of, phrase_of, worded
from sojourn.presentation import style
from sojourn.store.columns import Column, Columns, groups, paths_of
from sojourn.store.ledger import Ledger, Value, written
from sojourn.store.stored_run import StoredRun

LOG_FROM = 20  # the largest over the smallest value of an axis that makes it logarithmic
_FLAT_NAMES = 5
_LONGEST_NAME = 24
_LETTER = 0.035  # of a panel's width
_PER = {"/h": "hour", "/min": "minute", "/s": "second", "/ms": "millisecond", "/us": "microsecond"}


@dataclass(frozen=True)
class Layout:
    """The column along the axis (none where nothing is swept), its values, a line's columns.

    `places` are where the values stand along the axis: at their numbers, in `unit`, or names one
    after the other. `arrivals` says that the axis is the rate of an arrival process.
    """

    x: Column | None
    values: tuple[Value, ...]
    by: tuple[Column, ...]
    places: dict[Value, float]
    numeric: bool
    unit: str
    arrivals: bool = False

    @staticmethod
    def of(run: StoredRun, x: str | None, by: Sequence[str] | None) -> "Layout":
        """The layout asked for.

        Along the axis, by default: the load where it is swept, else the first axis of numbers,
        else the first axis. A line for each combination of `by`, by default the other axes.

        Raises:
            InputError: an unknown column, or one of the rows along the axis.
        """
        columns = Columns.of(run.directory, run.ledger)
        axes = {name: _values(run.ledger, name) for name in columns.axes}
        numeric = [name for name, values in axes.items() if numbers(values)]
        ranked = [*(name for name in numeric if name == "load"), *numeric, *axes]
        axis = columns.find(x or ranked[0]) if x or ranked else None
        if axis and axis.in_rows:
            raise InputError(f"column {axis.label!r} is one of the rows, not of the cases")
        if by is None:
            by = [name for name in columns.apart if axis is None or name != axis.name]
        values = _values(run.ledger, axis.name) if axis else []
        found = numbers(values) if axis and values and not phrase_of(axis.label) else None
        where = found[0] if found else [float(place) for place in range(len(values))]
        return Layout(
            x=axis,
            values=tuple(values),
            by=tuple(columns.find(name) for name in by),
            places=dict(zip(values, where, strict=True)),
            numeric=found is not None,
            unit=found[1] if found else "",
            arrivals=axis is not None and _is_of_arrivals(axis.name, columns.parameters),
        )

    @property
    def title(self) -> str:
        """The label of the axis: the column in words, with the unit of its numbers."""
        if self.x is None:
            return ""
        if self.unit in _PER:
            name = f"arrivals per {_PER[self.unit]}" if self.arrivals else label_of(self.x.label)
            return f"{name} [1{self.unit}]"
        name = label_of(self.x.label)
        return f"{name} [{self.unit}]" if self.unit else name

    @property
    def names(self) -> list[str]:
        """The values as names along the axis: in words where the model has some."""
        phrase = phrase_of(self.x.label) if self.x else None
        if phrase:
            return [*map(phrase.of, self.values)]
        return [*map(Labels.of_values(self.values).shorter, map(written, self.values))]

    def place(self, case: Mapping[str, Value | None]) -> float:
        """Where along the axis a case stands; names stand in order of appearance."""
        value = case[self.x.label] if self.x else None
        return 0.0 if value is None else self.places[value]

    def value(self, given: str | float | None) -> Value:
        """The value along the axis that was asked for, or the largest.

        Raises:
            InputError: there is no such value.
        """
        if given is None:
            return self.values[-1]
        for value in self.values:
            if written(value) == str(given) or _same_number(value, given):
                return value
        there = ", ".join(map(written, self.values))
        raise InputError(f"no case at {given}; available: {there}")

    def draw_axis(self, panel: Axes) -> None:
        """Label the axis and put its ticks at the values where there is room."""
        panel.set_xlabel(self.title)
        if not self.numeric:
            if self.x and phrase_of(self.x.label):
                panel.set_xlabel("")  # the words say what they are
            draw_names(panel, self.names)
            return
        where = np.array([*self.places.values()])
        places = where
        if where[0] > 0 and where[-1] / where[0] >= LOG_FROM and panel.has_data():
            style.logarithmic(panel, "x")
            places = np.log(where)
        names = [number(value) for value in where]
        gap = np.diff(places).min(initial=np.inf) / max(np.ptp(places), 1e-300)
        if gap >= _LETTER * max(map(len, names)):
            panel.set_xticks(where, names)


def draw_names(panel: Axes, names: Sequence[str]) -> None:
    """Put names along an axis."""
    steep = 20 if len(names) <= _FLAT_NAMES else 60
    wrapped = [fill(name, _LONGEST_NAME) for name in names]
    panel.set_xticks(range(len(names)), wrapped, rotation=steep, ha="right", rotation_mode="anchor")
    panel.set_xlim(-0.5, len(names) - 0.5)


@dataclass(frozen=True)
class Labels:
    """What the lines of a picture are called: files by the shortest ends that tell them apart."""

    ends: Mapping[str, str]

    @staticmethod
    def of(cases: Iterable[Mapping[str, Value | None]]) -> "Labels":
        """The labels of these cases."""
        return Labels.of_values(value for case in cases for value in case.values())

    @staticmethod
    def of_values(values: Iterable[Value | None]) -> "Labels":
        """The labels of cases with these values."""
        texts = [value for value in dict.fromkeys(values) if isinstance(value, str)]
        paths = dict.fromkeys(path for text in texts for path in _PATH.findall(text))
        return Labels({path: _end(path, paths) for path in paths})

    def case(self, case: Mapping[str, Value | None], kind: str = "") -> str:
        """The label of a case: names stand alone, quantities and switches with their column.

        Values for which a model has words stand as these: `disk 0 failed`.
        """
        parts = [
            self.shorter(value)
            if _stands_alone(value) and not phrase_of(name)
            else worded([(name, self.shorter(written(value)))], " = ")
            for name, value in case.items()
        ]
        return ", ".join([*parts, *([kind_of(kind).label] if kind else [])])

    def shorter(self, text: str) -> str:
        """A value with its files under their ends."""
        return _PATH.sub(lambda path: self.ends.get(path[0], path[0]), text)


# A file in a value: the value itself, or one of the settings that stand in it as `key=value`.
_PATH = re.compile(r"(?:(?<==)|^)/[^=]*?(?=$| [\w.]+=)")


def _end(path: str, paths: Iterable[str]) -> str:
    """The shortest end of a path that no other one has."""
    parts = path.split("/")
    others = [other.split("/") for other in paths if other != path]
    ends = (parts[-n:] for n in range(1, len(parts)))
    apart = (end for end in ends if all(other[-len(end) :] != end for other in others))
    return "/".join(next(apart, parts))


def _stands_alone(value: Value | None) -> TypeGuard[str]:
    """Whether a value says what it is: a name, but not `none` or a number in a column of names."""
    quantity = isinstance(value, str) and (numbers([value]) or value[:1].isdigit())
    return isinstance(value, str) and not quantity and value != "none"


def _is_of_arrivals(name: str, parameters: Iterable[str]) -> bool:
    """Whether a column is the rate of arrivals, of single jobs or of several at once."""
    found = paths_of(name, parameters) or [name]
    return all(path.endswith("arrivals.rate") for path in found)


def _values(ledger: Ledger, name: str) -> list[Value]:
    """The values of a column of the cases, quantities in rising order, others as they come."""
    found = groups(ledger, [Column(name, name)])
    values = [value for (value,) in found if value is not None]
    if of := numbers(values) if values else None:
        return [value for _, value in sorted(zip(of[0], values, strict=True))]
    return values


def _same_number(value: Value, given: str | float) -> bool:
    try:
        return float(value) == float(given)
    except ValueError:
        return False
