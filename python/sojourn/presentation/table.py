"""A table of numbers for people: its heads, its lines, and the cells that they are made of."""

from dataclasses import dataclass

from sojourn._internal.units import bracketed, number
from sojourn._internal.vocabulary import Metric
from sojourn.analysis.metric_summary import MetricSummary

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


def interval(estimate: MetricSummary, metric: Metric) -> str:
    """The interval of a mean; nothing where there is none."""
    return bracketed(estimate.ci95, metric.per_unit) if estimate.ci95 else ""


def cell(value: float | None, metric: Metric) -> str:
    """A value in the unit of its metric; a dash where there is none."""
    return "-" if value is None else number(value / metric.per_unit)
