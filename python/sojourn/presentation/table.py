"""A table of numbers for people: its heads, its lines, and the cells that they are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn._internal.parameter_labels import label_of
from sojourn._internal.units import bracketed, number
from sojourn._internal.vocabulary import Metric, phrase_of
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.store.ledger import Value, written

INTERVAL = "95 % interval"
"""The head of a column of intervals."""


@dataclass(frozen=True)
class Table:
    """Heads, how many of the last columns are numbers, and for each group its lines of cells.

    Labels stand on a group's first line.
    """

    heads: list[str]
    numbers: int
    groups: list[list[list[str]]]


def labels(columns: Sequence[str]) -> list[str]:
    """The heads of columns of the cases: words, or their names where two have the same words."""
    words = [*map(label_of, columns)]
    return words if len({*words}) == len(words) else [*columns]


def values(case: Mapping[str, Value | None]) -> list[str]:
    """The cells of a case: words where its model has some, nothing where there is no value."""
    return ["" if value is None else _value(name, value) for name, value in case.items()]


def _value(name: str, value: Value) -> str:
    phrase = phrase_of(name)
    return phrase.of(value) if phrase else written(value)


def interval(estimate: MetricSummary, metric: Metric) -> str:
    """The interval of a mean; nothing where there is none."""
    return bracketed(estimate.ci95, metric.per_unit) if estimate.ci95 else ""


def cell(value: float | None, metric: Metric) -> str:
    """A value in the unit of its metric; a dash where there is none."""
    return "-" if value is None else number(value / metric.per_unit)
