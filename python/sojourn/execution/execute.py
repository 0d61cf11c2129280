"""Run the cases of a study on threads and put what they measured into a run directory."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from dataclasses import dataclass, field
from itertools import islice
from threading import Event
from typing import Protocol, TypeAlias, TypeVar

from sojourn._core import Case, CaseFailed, Progress, Study
from sojourn._internal.errors import InputError, Interrupted, reason
from sojourn._internal.units import count
from sojourn.execution import inputs
from sojourn.execution.results import Failure, code_error, figures, keep
from sojourn.execution.schedule import Work, left_s, longest_first
from sojourn.store.ledger import Ledger, Record
from sojourn.store.run_directory import RunDirectory

_LOOK_EVERY_S = 0.2
# How long stopped cases are waited for; one that does not look ends later, or with the process.
_PATIENCE_S = 0.3
_SHARE = 0.05  # of the wall time at most goes into looking, and into writing records
_ALONE = "sojourn: other programs use the processors: a case continues with one thread\n"
_TELLING_SHARE = 0.01  # of a case's jobs that must be done before its time is extrapolated


@dataclass
class Status:
    """How far a run is: cases and jobs done of all, time simulated so far, wall time left."""

    cases: int
    cases_done: int = 0
    jobs: int = 0
    jobs_done: int = 0
    simulated_ps: int = 0
    left_s: float | None = None


Observer: TypeAlias = Callable[[Status], None]


@dataclass
class Task:
    """One case and replication to be run, and what is known of it while it runs."""

    case: Case
    replication: int
    progress: Progress = field(default_factory=Progress)
    started: float | None = None
    ended: float | None = None

    def work(self, now: float) -> Work:
        """What can be said of its time."""
        axes, jobs = self.case.axes, self.case.jobs
        if self.started is None:
            return Work(axes, jobs)
        if self.ended is not None:
            spent = self.ended - self.started
            return Work(axes, jobs, spent, spent)
        spent, share = now - self.started, self.progress.done / max(jobs, 1)
        return Work(axes, jobs, spent, spent / share if share >= _TELLING_SHARE else None)


def unfinished(
    study: Study, ledger: Ledger, replications: Mapping[int, int] | None = None
) -> list[Task]:
    """What is to be run of a study, in the order in which to start it.

    Every case comes once before any comes again: what a long run has by then is whole.

    Args:
        study: the study.
        ledger: what is finished.
        replications: how many of each case, by its index; the study's own number where none is
            given.
    """
    wanted = replications or {}
    tasks = [
        Task(case, replication)
        for case in sorted(study.cases(), key=longest_first)
        for replication in range(wanted.get(case.index, study.replications))
        if (case.index, replication) not in ledger
    ]
    return sorted(tasks, key=lambda task: task.replication)


class Timed(Protocol):
    """What knows how long it took."""

    @property
    def wall_s(self) -> float:
        """In seconds."""


T = TypeVar("T")
R = TypeVar("R", bound=Timed)


class Place(Protocol):
    """Where cases are simulated."""

    def run(
        self,
        tasks: Sequence[Task],
        ledger: Ledger,
        directory: RunDirectory,
        observer: Observer | None,
    ) -> None:
        """Run tasks, and enter each into the ledger as soon as it is finished."""


class Spread(Protocol):
    """Where pieces of work are done that need each other's results only at the end."""

    def spread(
        self,
        work: Callable[[Sequence[T]], list[R]],
        items: Sequence[T],
        stop: Callable[[], None],
    ) -> Iterator[R]:
        """Do work on items in about their order; what it gives, as it is done.

        `work` must be a function that another process can import, or a partial of one; `stop` stops
        what of it is under way in this process.
        """


def execute(
    tasks: Sequence[Task],
    ledger: Ledger,
    directory: RunDirectory,
    *,
    place: Place,
    observer: Observer | None,
) -> None:
    """Run tasks in their order and enter each into the ledger as soon as it is finished.

    Args:
        tasks: what to run.
        ledger: what is finished already; it grows, and is written as it does.
        directory: where to; it must be open for writing.
        place: where: threads of this process, or a cluster.
        observer: is called with the status a few times a second, from this thread.

    Raises:
        Interrupted: Ctrl-C; running cases were stopped, finished ones are in the directory.
        InputError: a result could not be written.
        CodeError: code that came with the study failed in some cases; the others are finished.
        StudyError: a case turned out to be impossible.
    """
    total = len(ledger) + len(tasks)
    try:
        place.run(tasks, ledger, directory, observer)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted: {len(ledger)} of {count(total, 'case')} finished and kept in"
            f" {directory.path}; the same command resumes"
        ) from None
    except OSError as error:
        raise InputError(f"cannot write results: {reason(error)}") from None


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has it
        return os.cpu_count() or 1


@dataclass(frozen=True)
class Threads:
    """Threads of this process, each with a case at a time, for which it may have further ones.

    Attributes:
        number: how many cases at a time.
        each: how many threads a case may have.
        told: whether it was said that a case goes on with one.
    """

    number: int
    each: int = 1
    told: Event = field(default_factory=Event, compare=False, repr=False)

    def run(
        self,
        tasks: Sequence[Task],
        ledger: Ledger,
        directory: RunDirectory,
        observer: Observer | None,
    ) -> None:
        """Run tasks in their order."""
        _run(tasks, ledger, directory, self, observer)

    def simulate(self, task: Task, directory: RunDirectory) -> Record:
        """Simulate a case, and put it into the run directory."""
        case, replication = task.case, task.replication
        task.started, cpu = time.perf_counter(), time.thread_time()
        given = inputs.tables(case, replication, directory.path)
        outcome = case.run(replication, task.progress, given, threads=self.each)
        wall, cpu = time.perf_counter() - task.started, time.thread_time() - cpu
        cpu += task.progress.helped_s
        record = keep(
            directory,
            case,
            replication,
            outcome.columns,
            figures(case, replication, outcome.columns, outcome.figures),
            beside=outcome.beside,
            wall_s=wall,
            cpu_s=cpu,
        )
        task.ended = time.perf_counter()
        return record

    def stop(self, tasks: Sequence[Task]) -> None:
        """Stop tasks that are under way."""
        for task in tasks:
            task.progress.cancel()

    def tell(self, running: Iterable[Task]) -> None:
        """Say on standard error, once, if a case goes on with one thread."""
        if not self.told.is_set() and any(task.progress.went_alone for task in running):
            self.told.set()
            sys.stderr.write(_ALONE)

    def spread(
        self,
        work: Callable[[Sequence[T]], list[R]],
        items: Sequence[T],
        stop: Callable[[], None],
    ) -> Iterator[R]:
        """Do work on items in their order, one at a time on each thread."""
        pool = ThreadPoolExecutor(max_workers=self.number, thread_name_prefix="piece")
        running = [pool.submit(work, [item]) for item in items]
        try:
            for future in as_completed(running):
                yield from future.result()
        except BaseException:
            _leave(pool, running, stop)
            raise
        pool.shutdown()


def _leave(
    pool: ThreadPoolExecutor, running: Iterable[Future[T]], stop: Callable[[], None]
) -> None:
    """Stop what a pool has under way, and wait for it for a moment."""
    pool.shutdown(wait=False, cancel_futures=True)
    stop()
    wait([future for future in running if not future.cancelled()], _PATIENCE_S)


def _run(
    tasks: Sequence[Task],
    ledger: Ledger,
    directory: RunDirectory,
    threads: Threads,
    observer: Observer | None,
) -> None:
    jobs = threads.number
    earlier = [Work(r.axes, r.jobs, r.wall_s, r.wall_s) for r in ledger]
    waiting = iter(tasks)
    running: dict[Future[Record], Task] = {}
    write = Paced(lambda: ledger.write(directory.cases))
    look = Paced(lambda: observer and observer(_status(earlier, tasks, jobs)), _LOOK_EVERY_S)
    unwritten = False
    failures: list[Failure] = []
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="case")
    try:
        for task in islice(waiting, jobs):
            running[pool.submit(threads.simulate, task, directory)] = task
        while running:
            done, _ = wait(running, _LOOK_EVERY_S, FIRST_COMPLETED)
            threads.tell(running.values())
            for future in done:
                try:
                    ledger.add(future.result())
                except CaseFailed as error:
                    failures.append((running[future].case, running[future].replication, error))
                del running[future]
            for task in islice(waiting, len(done)):
                running[pool.submit(threads.simulate, task, directory)] = task
            unwritten = (unwritten or bool(done)) and not write()
            look()
        pool.shutdown()
    except BaseException:
        _leave(pool, running, lambda: threads.stop(tasks))
        for future in running:
            if future.done() and not future.cancelled() and not future.exception():
                ledger.add(future.result())
        raise
    finally:
        if len(ledger):
            ledger.write(directory.cases)
    if failures:
        raise code_error(failures)


class Paced:
    """An action that is taken again after a pause, long enough to cost a small share of the time.

    Looking at thousands of cases, or writing all their records, takes long itself.
    """

    def __init__(self, action: Callable[[], object], pause_s: float = 0) -> None:
        self._action, self._pause_s, self._due = action, pause_s, 0.0

    def __call__(self) -> bool:
        """Take the action if it is due, and say whether it was."""
        start = time.perf_counter()
        if start < self._due:
            return False
        self._action()
        end = time.perf_counter()
        self._due = end + max(self._pause_s, (end - start) / _SHARE)
        return True


def _status(earlier: list[Work], tasks: Sequence[Task], threads: int) -> Status:
    now = time.perf_counter()
    return Status(
        cases=len(earlier) + len(tasks),
        cases_done=len(earlier) + sum(task.ended is not None for task in tasks),
        jobs=sum(task.case.jobs for task in tasks),
        jobs_done=sum(task.progress.done for task in tasks),
        simulated_ps=sum(task.progress.simulated_ps for task in tasks),
        left_s=left_s([*earlier, *(task.work(now) for task in tasks)], threads),
    )
