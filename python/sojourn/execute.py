"""Run the cases of a study on threads and put what they measured into a run directory."""

import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TypeAlias

from sojourn import rows
from sojourn._core import Case, Progress, Study
from sojourn.errors import InputError, Interrupted, reason
from sojourn.ledger import Ledger, Record
from sojourn.rundir import RunDirectory
from sojourn.statistics import warmup
from sojourn.units import count

_LOOK_EVERY_S = 0.2


@dataclass
class Status:
    """How far a run is: cases done of all, jobs done of all, and the time simulated so far."""

    cases: int
    cases_done: int = 0
    jobs: int = 0
    jobs_done: int = 0
    simulated_ps: int = 0


Observer: TypeAlias = Callable[[Status], None]


@dataclass
class _Task:
    case: Case
    replication: int
    progress: Progress = field(default_factory=Progress)


def execute(
    study: Study, directory: RunDirectory, *, jobs: int | None, observer: Observer | None
) -> None:
    """Run what the directory does not hold yet; `directory` must be open for writing.

    Args:
        study: what to run.
        directory: where to; each case is entered into its ledger as soon as it is finished.
        jobs: how many cases at a time; by default one a processor.
        observer: is told the status a few times a second, from this thread.

    Raises:
        Interrupted: Ctrl-C; running cases were stopped, finished ones are in the directory.
        InputError: a result could not be written.
        SpecError: a case turned out to be impossible.
    """
    ledger = directory.ledger()
    tasks = [
        _Task(case, replication)
        for case in study.cases()
        for replication in range(study.replications)
        if (case.index, replication) not in ledger
    ]
    if tasks:
        _run(tasks, directory, ledger, jobs or processors(), observer)


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has it
        return os.cpu_count() or 1


def _run(
    tasks: list[_Task],
    directory: RunDirectory,
    ledger: Ledger,
    jobs: int,
    observer: Observer | None,
) -> None:
    total = len(ledger) + len(tasks)

    def settle(futures: set[Future[Record]]) -> None:
        for future in futures:
            ledger.add(future.result())
        if futures:
            ledger.write(directory.cases)

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="case") as pool:
        running = {pool.submit(_one, task, directory): task for task in tasks}
        pending = set(running)
        try:
            while pending:
                done, pending = wait(pending, _LOOK_EVERY_S if observer else None, FIRST_COMPLETED)
                settle(done)
                if observer:
                    observer(_status(tasks, total - len(pending), total))
        except BaseException as error:
            for future, task in running.items():
                future.cancel()
                task.progress.cancel()
            wait(running)
            finished = {f for f in running if not f.cancelled() and not f.exception()}
            settle(finished)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(
                    f"interrupted: {len(ledger)} of {count(total, 'case')} finished and kept in"
                    f" {directory.path}; the same command resumes"
                ) from None
            if isinstance(error, OSError):
                raise InputError(f"cannot write results: {reason(error)}") from None
            raise


def _one(task: _Task, directory: RunDirectory) -> Record:
    case, replication = task.case, task.replication
    wall, cpu = time.perf_counter(), time.thread_time()
    outcome = case.run(replication, task.progress)
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    table = rows.table_of(case.index, replication, outcome.columns)
    rows.write(table, directory.rows(case.index, replication))
    warmup_jobs, warmup_ps = warmup(table["arrived_ps"].to_numpy(), table["slowdown"].to_numpy())
    return Record(
        case=case.index,
        replication=replication,
        jobs=table.num_rows,
        wall_s=wall,
        cpu_s=cpu,
        warmup_jobs=warmup_jobs,
        warmup_ps=warmup_ps,
        axes=case.axes,
        parameters=case.parameters,
        figures=outcome.figures,
    )


def _status(tasks: list[_Task], cases_done: int, cases: int) -> Status:
    return Status(
        cases=cases,
        cases_done=cases_done,
        jobs=sum(task.case.jobs for task in tasks),
        jobs_done=sum(task.progress.done for task in tasks),
        simulated_ps=sum(task.progress.simulated_ps for task in tasks),
    )
