"""The cases of a study in several processes of this machine.

Code of Python that is not compiled runs one thread at a time in a process. So cases with such code
run in processes, as many as were asked for; what is done with their rows is done here.
"""

import multiprocessing
import signal
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from sojourn._core import Case, CaseFailed, Study
from sojourn._internal.errors import InputError
from sojourn.execution.execute import Observer, Paced, Status, Task, Threads
from sojourn.execution.results import Failure, Outcome, code_error, kept, simulated
from sojourn.store.ledger import Ledger
from sojourn.store.run_directory import RunDirectory

_LOOK_EVERY_S = 0.2


@dataclass(frozen=True)
class Processes(Threads):
    """Processes of this machine, each with a case at a time, for cases with code of Python.

    What else is done at a place is done on threads.
    """

    def run(
        self,
        tasks: Sequence[Task],
        ledger: Ledger,
        directory: RunDirectory,
        observer: Observer | None,
    ) -> None:
        """Run tasks in their order.

        Raises:
            CodeError: code of the study failed in some cases; the others are finished.
            InputError: a process ended by itself.
        """
        others = {*multiprocessing.active_children()}
        context = multiprocessing.get_context("spawn")  # a thread of ours may hold a lock
        pool = ProcessPoolExecutor(self.number, mp_context=context, initializer=_leave_signals)
        try:
            self._run(pool, tasks, ledger, directory, observer)
        except BrokenProcessPool:
            raise InputError(
                "a process with a case ended by itself: out of memory, or by its code"
            ) from None
        except BaseException:
            for child in {*multiprocessing.active_children()} - others:
                child.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            if len(ledger):
                ledger.write(directory.cases)

    def _run(
        self,
        pool: ProcessPoolExecutor,
        tasks: Sequence[Task],
        ledger: Ledger,
        directory: RunDirectory,
        observer: Observer | None,
    ) -> None:
        study = str(directory.study)
        waiting = iter(tasks)
        running: dict[Future[Outcome], Task] = {}
        failures: list[Failure] = []
        status = Status(len(ledger) + len(tasks), len(ledger), sum(t.case.jobs for t in tasks))
        write = Paced(lambda: ledger.write(directory.cases))
        look = Paced(lambda: observer and observer(status), _LOOK_EVERY_S)

        def begin(number: int) -> None:
            for task in islice(waiting, number):
                running[pool.submit(_one, study, task.case.index, task.replication)] = task

        begin(self.number)
        while running:
            done, _ = wait(running, _LOOK_EVERY_S, FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                try:
                    ledger.add(kept(directory, task.case, future.result()))
                except CaseFailed as error:
                    failures.append((task.case, task.replication, error))
                status.cases_done += 1
                status.jobs_done += task.case.jobs
            begin(len(done))
            write()
            look()
        if failures:
            raise code_error(failures)


def _leave_signals() -> None:
    """Leave Ctrl-C to the process that began this one, which then ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one(study: str, index: int, replication: int) -> Outcome:
    """In a process: simulate one case of the study of a run directory."""
    return simulated(_cases(study)[index], replication)


@lru_cache(maxsize=1)
def _cases(study: str) -> dict[int, Case]:
    text = Path(study).read_text(encoding="utf-8")
    return {case.index: case for case in Study.parse(text, study, []).cases()}
