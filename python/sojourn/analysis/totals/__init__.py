"""Totals of cases that their model's users ask for: drops, memory used, utilisation, throughput."""

from dataclasses import dataclass

import numpy as np

from sojourn._internal import vocabulary
from sojourn._internal.vocabulary import Metric
from sojourn.analysis.sample import Group
from sojourn.analysis.totals import throughput
from sojourn.store.ledger import Value


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


def totals(group: Group) -> Totals:
    """The totals of a group of cases, from the figures of their runs and from their rows."""
    records = {part.record.key: part.record for part in group.sample.parts}
    figures = [record.figures for record in records.values()]
    names = [total.column for total in asked(group.kind)]
    values: dict[str, float] = throughput.of_runs(group.sample.parts, names)
    for total in asked(group.kind):
        found = [float(own[total.column]) for own in figures if total.column in own]
        if found:
            is_peak = total.column.endswith("_peak_bytes")
            values[total.column] = max(found) if is_peak else float(np.mean(found))
    return Totals(group.case, len(figures), {n: values[n] for n in names if n in values})


def asked(kind: str) -> tuple[Metric, ...]:
    """The totals that the users of a kind's model ask for."""
    return vocabulary.of_kinds([kind]).totals
