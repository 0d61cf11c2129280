"""What iterations wait for: the time on their critical paths, by what it was spent on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sojourn._internal.errors import InputError
from sojourn._internal.units import PS_PER_MS
from sojourn.store import rows
from sojourn.store.columns import Columns, groups
from sojourn.store.ledger import Record, Value
from sojourn.store.stored_run import StoredRun

STEP = "step"
"""The kind of rows that are steps of a critical path."""

COMPUTING, SERVER, NETWORK = "computing", "server", "network"
"""Where a step spends its time; `SERVER` is not simulated packet by packet."""

_NAMES = ("kind", "operation", "label", "algorithm")


@dataclass(frozen=True)
class Spent:
    """What the critical paths of some iterations spend on one thing.

    Attributes:
        case: the values of the group's columns.
        operation: `computing`, `message`, `acknowledgement`, or a collective.
        label: what it is for; `-` where nothing says so.
        where: `computing`, `server` (not simulated packet by packet) or `network`.
        steps: how many steps of a path, the mean of the runs.
        time_ms: how long they take together, the mean of the runs.
        share: that time over the time of the whole path.
    """

    case: Mapping[str, Value | None]
    operation: str
    label: str
    where: str
    steps: float
    time_ms: float
    share: float

    def record(self) -> dict[str, object]:
        """A flat record: the group's columns, then these."""
        own = {name: getattr(self, name) for name in FIELDS}
        return {**self.case, **own}


FIELDS = ("operation", "label", "where", "steps", "time_ms", "share")


def where(operation: str, algorithm: str) -> str:
    """Where a step with this `operation` and `algorithm` spends its time."""
    if operation == "computing":
        return COMPUTING
    return SERVER if algorithm == "on the server" else NETWORK


def critical_paths(run: StoredRun, by: Sequence[str] | None = None) -> list[Spent]:
    """What the critical paths of a run's iterations spend, group by group, the most first.

    Args:
        run: a run of ranks.
        by: columns to group by; the swept parameters by default.

    Raises:
        InputError: no iteration has ended, or rows cannot be read.
    """
    offered = Columns.of(run.directory, run.ledger)
    columns = [offered.find(name) for name in dict.fromkeys(offered.axes if by is None else by)]
    found: list[Spent] = []
    for key, records in groups(run.ledger, columns).items():
        case = {column.label: value for column, value in zip(columns, key, strict=True)}
        found += _of_group(run, case, records)
    if not found:
        raise InputError(f"{run.path}: no iteration has ended, and so there is no critical path")
    return found


def _of_group(
    run: StoredRun, case: Mapping[str, Value | None], records: Sequence[Record]
) -> list[Spent]:
    sums: dict[tuple[str, str, str], list[float]] = {}
    whole_ms, runs = 0.0, 0
    for record in records:
        path = run.directory.rows(*record.key)
        if not rows.holds(path, "algorithm"):
            continue
        table = rows.read(path, [*_NAMES, "sojourn_ps"])
        kind, operation, label, algorithm = (table[name].to_pylist() for name in _NAMES)
        took_ms = np.nan_to_num(rows.numbers(table["sojourn_ps"]) / PS_PER_MS)
        steps = [place for place, name in enumerate(kind) if name == STEP]
        runs += bool(steps)
        for place in steps:
            key = (operation[place], label[place], where(operation[place], algorithm[place]))
            own = sums.setdefault(key, [0.0, 0.0])
            own[0] += 1
            own[1] += took_ms[place]
            whole_ms += took_ms[place]
    spent = [
        Spent(case, *key, steps=steps / runs, time_ms=time_ms / runs, share=time_ms / whole_ms)
        for key, (steps, time_ms) in sums.items()
    ]
    return sorted(spent, key=lambda own: -own.time_ms)
