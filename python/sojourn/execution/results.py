"""What a case gives: its rows and its line for the ledger, or why its code failed."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from sojourn._core import Case, CaseFailed, Progress
from sojourn._internal.errors import CodeError
from sojourn._internal.units import count
from sojourn.analysis.run_length import warmup
from sojourn.execution import inputs, learnt_range
from sojourn.store import packets, rows
from sojourn.store.ledger import Record, Value
from sojourn.store.rows import Column
from sojourn.store.run_directory import TRACE, RunDirectory

_NONE: Mapping[str, Mapping[str, Column]] = MappingProxyType({})

Failure: TypeAlias = tuple[Case, int, CaseFailed]
"""A case, the replication, and why its code failed."""


@dataclass(frozen=True)
class Outcome:
    """What a process sends back of one case."""

    case: int
    replication: int
    columns: Mapping[str, Column]
    beside: Mapping[str, Mapping[str, Column]]
    figures: Mapping[str, Value]
    wall_s: float
    cpu_s: float


class Advance(NamedTuple):
    """How far a case is there: jobs done, and time simulated."""

    done: int
    simulated_ps: int


def simulated(
    case: Case, replication: int, directory: Path, progress: Progress | None = None
) -> Outcome:
    """Simulate a case, whose inputs are in a run directory; `progress` says how far it is."""
    wall, cpu = time.perf_counter(), time.thread_time()
    given = inputs.tables(case, replication, directory)
    found = case.run(replication, progress or Progress(), given)
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    return Outcome(
        case=case.index,
        replication=replication,
        columns=found.columns,
        beside=found.beside,
        figures=found.figures,
        wall_s=wall,
        cpu_s=cpu,
    )


def figures(
    case: Case, replication: int, columns: Mapping[str, Column], totals: Mapping[str, Value]
) -> dict[str, Value]:
    """The figures of a simulated case: its totals, and what they say of its disks' range."""
    return {**totals, **learnt_range.figures(case, replication, columns, totals)}


def kept(directory: RunDirectory, case: Case, outcome: Outcome) -> Record:
    """Put what came back into the run directory; its line for the ledger."""
    return keep(
        directory,
        case,
        outcome.replication,
        outcome.columns,
        figures(case, outcome.replication, outcome.columns, outcome.figures),
        beside=outcome.beside,
        wall_s=outcome.wall_s,
        cpu_s=outcome.cpu_s,
    )


def keep(
    directory: RunDirectory,
    case: Case,
    replication: int,
    columns: Mapping[str, Column],
    figures: Mapping[str, Value],
    *,
    beside: Mapping[str, Mapping[str, Column]] = _NONE,
    wall_s: float,
    cpu_s: float,
) -> Record:
    """Write the rows of a case, before them the tables beside; its line for the ledger."""
    key = case.index, replication
    for name, columns_beside in beside.items():
        path = directory.beside(name, *key)
        path.parent.mkdir(exist_ok=True)
        rows.write(rows.table_of(*key, columns_beside), path)
        if name == TRACE:
            packets.write(columns_beside, path.with_suffix(".pcapng"))
    table = rows.table_of(case.index, replication, columns)
    warmup_jobs, warmup_ps = warmup(rows.numbers(table["arrived_ps"]))
    rows.write(table, directory.rows(case.index, replication))
    return Record(
        case=case.index,
        replication=replication,
        jobs=table.num_rows,
        wall_s=wall_s,
        cpu_s=cpu_s,
        warmup_jobs=warmup_jobs,
        warmup_ps=warmup_ps,
        axes=case.axes,
        parameters=case.parameters,
        figures=figures,
    )


def code_error(failures: Sequence[Failure]) -> CodeError:
    """The error about cases whose code failed: the first in full, and how many there are."""
    case, _, failure = min(failures, key=lambda failed: (failed[0].index, failed[1]))
    line, _, traceback = str(failure).partition("\n")
    axes = ", ".join(f"{name} {value}" for name, value in case.axes.items())
    others = f"; {count(len(failures) - 1, 'other case')} failed too" if len(failures) > 1 else ""
    error = CodeError(f"{line}, in case {case.index}{f' ({axes})' if axes else ''}{others}")
    if traceback:
        error.add_note(traceback)
    return error
