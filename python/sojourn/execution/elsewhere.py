"""Cases that another process simulates: what it sends back, and what is made of that here."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sojourn._core import Case, Progress
from sojourn.execution.execute import keep
from sojourn.store.ledger import Record, Value
from sojourn.store.rows import Column
from sojourn.store.run_directory import RunDirectory


@dataclass(frozen=True)
class Outcome:
    """What a process sends back of one case."""

    case: int
    replication: int
    columns: Mapping[str, Column]
    series: Mapping[str, Column]
    figures: Mapping[str, Value]
    wall_s: float
    cpu_s: float


def simulated(case: Case, replication: int) -> Outcome:
    """Simulate a case there."""
    wall, cpu = time.perf_counter(), time.thread_time()
    found = case.run(replication, Progress())
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    return Outcome(case.index, replication, found.columns, found.series, found.figures, wall, cpu)


def kept(directory: RunDirectory, case: Case, outcome: Outcome) -> Record:
    """Put what came back into the run directory; its line for the ledger."""
    return keep(
        directory,
        case,
        outcome.replication,
        outcome.columns,
        outcome.figures,
        series=outcome.series,
        wall_s=outcome.wall_s,
        cpu_s=outcome.cpu_s,
    )
