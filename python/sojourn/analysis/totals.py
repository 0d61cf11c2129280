"""Totals of cases that their model's users ask for: drops, marks, time-outs, memory used."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sojourn._internal import vocabulary
from sojourn._internal.vocabulary import Metric
from sojourn.store.ledger import Record, Value


@dataclass(frozen=True)
class Totals:
    """The totals of a group of cases.

    Attributes:
        case: the values of the group's columns.
        runs: how many runs, replications counted, they are of.
        values: by the total's name: what was most at once is the most of all runs, a count is the
            mean of them. What no run has is left out.
    """

    case: dict[str, Value | None]
    runs: int
    values: dict[str, float]


def totals(case: dict[str, Value | None], kind: str, records: Iterable[Record]) -> Totals:
    """The totals of a group of cases whose jobs are of a kind."""
    figures = [record.figures for record in records]
    values: dict[str, float] = {}
    for total in asked(kind):
        found = [float(own[total.column]) for own in figures if total.column in own]
        if found:
            is_peak = total.column.endswith("_peak_bytes")
            values[total.column] = max(found) if is_peak else float(np.mean(found))
    return Totals(case, len(figures), values)


def asked(kind: str) -> tuple[Metric, ...]:
    """The totals that the users of a kind's model ask for."""
    return vocabulary.of_kinds([kind]).totals
