"""The cases of a study in several processes of this machine.

Code of Python that is not compiled runs one thread at a time in a process, and nothing but the end
of its process ends a hook that loops. So each thread that has a case gives it to another process;
what is done with the rows is done here.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event

from sojourn._core import Cancelled, CaseFailed
from sojourn._internal.errors import InputError
from sojourn.execution.execute import Observer, Task, Threads
from sojourn.execution.results import Advance, Outcome, kept
from sojourn.execution.worker import read
from sojourn.store.ledger import Ledger, Record
from sojourn.store.run_directory import RunDirectory


class Worker:
    """A process that simulates cases of the study in a run directory, one after the other."""

    def __init__(self, directory: RunDirectory) -> None:
        command = [sys.executable, "-m", "sojourn.execution.worker", str(directory.study)]
        # Ctrl-C reaches all processes of a terminal. The new one inherits that it is blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def simulate(self, task: Task) -> Outcome:
        """Simulate a case.

        Raises:
            CaseFailed: code of the study failed.
            EOFError: the process has ended.
        """
        asks, answers = self._process.stdin, self._process.stdout
        if asks is None or answers is None:
            raise EOFError
        try:
            asks.write(f"{task.case.index} {task.replication}\n".encode())
            asks.flush()
            while isinstance(found := read(answers), Advance):
                task.progress.take_over(*found)
        except (OSError, ValueError):  # a pipe that is closed
            raise EOFError from None
        if isinstance(found, str):
            raise CaseFailed(found)
        return found

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if end is not None:
                    end.close()


@dataclass(frozen=True)
class Processes(Threads):
    """Threads of this process, each with a process for the case that it has.

    What else is done at a place is done on threads.
    """

    idle: SimpleQueue[Worker] = field(default_factory=SimpleQueue, compare=False, repr=False)
    workers: list[Worker] = field(default_factory=list, compare=False, repr=False)
    stopped: Event = field(default_factory=Event, compare=False, repr=False)

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
        self.stopped.clear()
        try:
            super().run(tasks, ledger, directory, observer)
        finally:
            self.stop([])

    def simulate(self, task: Task, directory: RunDirectory) -> Record:
        """Simulate a case in an idle process, and put it into the run directory."""
        task.started = time.perf_counter()
        try:
            worker = self.idle.get_nowait()
        except Empty:
            worker = Worker(directory)
            self.workers.append(worker)
            if self.stopped.is_set():  # the others have been ended meanwhile
                worker.kill()
        try:
            found = worker.simulate(task)
        except EOFError:
            if self.stopped.is_set():
                raise Cancelled("the case was stopped") from None
            raise InputError(
                "a process with a case ended by itself: out of memory, or by its code"
            ) from None
        except CaseFailed:
            self.idle.put(worker)
            raise
        self.idle.put(worker)
        record = kept(directory, task.case, found)
        task.ended = time.perf_counter()
        return record

    def stop(self, tasks: Sequence[Task]) -> None:
        """Stop tasks that are under way, and end all processes."""
        self.stopped.set()
        super().stop(tasks)
        while self.workers:
            self.workers.pop().kill()
        while not self.idle.empty():
            self.idle.get()
