"""The cases of a study on the workers of a Dask cluster: `sojourn run --scheduler ADDRESS`.

Workers simulate and send columns back; what is done with them is done here, as with cases that ran
on threads, so that rows are equal to the byte wherever they came from. A worker that is lost takes
its cases with it, and Dask has others run them again.
"""

import math
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar

from sojourn._core import Case
from sojourn._internal import build, trust
from sojourn._internal.errors import InputError
from sojourn._internal.units import count
from sojourn.execution import inputs
from sojourn.execution.execute import Observer, Paced, R, Status, Task
from sojourn.execution.results import Outcome, kept, simulated
from sojourn.store.ledger import Ledger
from sojourn.store.run_directory import RunDirectory

Client: TypeAlias = Any
T = TypeVar("T")

_BATCH_S = 0.5  # at least, so that a case costs more than sending it
_LARGEST_BATCH = 1000
_AHEAD = 2  # batches a thread that are with the cluster, one of them waiting
_REMEMBERED = 50
_CONNECT_S = 20
_AGAIN_S = 0.1  # who was just started listens a moment later
_NAMED = 5


@dataclass(frozen=True)
class Sent:
    """What a worker has of a study: its text, and the files that it needs, by their names."""

    study: str
    files: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class Cluster:
    """Workers that a scheduler at an address has, for the cases of one study."""

    address: str
    study: str

    def run(
        self,
        tasks: Sequence[Task],
        ledger: Ledger,
        directory: RunDirectory,
        observer: Observer | None,
    ) -> None:
        """Run tasks in about their order; enter each into the ledger as it comes back.

        Raises:
            InputError: `sojourn[dask]` is not installed, no scheduler answers at the address, a
                worker has another build, or a case killed one worker after the other.
            StudyError: a case turned out to be impossible.
        """
        with _connected(self.address) as client, client.as_current():
            write = Paced(lambda: ledger.write(directory.cases))
            cases = {(task.case.index, task.replication): task.case for task in tasks}
            status = Status(len(ledger) + len(tasks), len(ledger), sum(t.case.jobs for t in tasks))
            try:
                for outcome in self._outcomes(client, tasks, directory):
                    case = cases[outcome.case, outcome.replication]
                    ledger.add(kept(directory, case, outcome))
                    write()
                    status.cases_done += 1
                    status.jobs_done += case.jobs
                    if observer:
                        observer(status)
            finally:
                if len(ledger):
                    ledger.write(directory.cases)

    def spread(
        self,
        work: Callable[[Sequence[T]], list[R]],
        items: Sequence[T],
        stop: Callable[[], None],  # noqa: ARG002 - nothing is under way in this process
    ) -> Iterator[R]:
        """Do work on items in about their order, some at a time; what it gives, as it comes back.

        Raises:
            InputError: as `run` does.
        """
        with _connected(self.address) as client, client.as_current():

            def submit(batch: list[T]) -> Any:
                return client.submit(_do, work, build.identity(), batch, pure=False)

            yield from self._batches(client, items, submit)

    def _outcomes(
        self, client: Client, tasks: Sequence[Task], directory: RunDirectory
    ) -> Iterator[Outcome]:
        """What comes back, as it does."""
        files = ((str(p.relative_to(directory.path)), p.read_bytes()) for p in directory.inputs())
        sent = Sent(self.study, tuple(files))
        study = client.scatter(sent, broadcast=True, hash=True)

        def submit(batch: list[Task]) -> Any:
            keys = [(task.case.index, task.replication) for task in batch]
            return client.submit(_run, study, build.identity(), keys, pure=False)

        yield from self._batches(client, tasks, submit)

    def _batches(
        self, client: Client, items: Sequence[T], send: Callable[[list[T]], Any]
    ) -> Iterator[Any]:
        """What comes back, as it does; a few batches a thread are out at any time."""
        from distributed.scheduler import KilledWorker

        waiting = deque(items)
        times: deque[float] = deque(maxlen=_REMEMBERED)
        completed = _distributed().as_completed()
        running: set[Any] = set()

        def submit() -> None:
            size = _batch(times, len(waiting), len(running))
            future = send([waiting.popleft() for _ in range(size)])
            running.add(future)
            completed.add(future)

        try:
            threads: dict[str, int] = client.nthreads()
            while waiting and len(running) < _AHEAD * max(sum(threads.values()), 1):
                submit()
            for future in completed:
                running.remove(future)
                outcomes = future.result()
                times.extend(outcome.wall_s for outcome in outcomes)
                yield from outcomes
                before, threads = threads, client.nthreads()
                for lost in sorted(before.keys() - threads.keys()):
                    sys.stderr.write(f"worker {lost} is gone; others do its cases\n")
                while waiting and len(running) < _AHEAD * max(sum(threads.values()), 1):
                    submit()
        except KilledWorker as error:
            raise InputError(
                f"{self.address}: the cases of one batch ended several workers, one after the other"
                f" ({_first_line(error)})"
            ) from None
        finally:
            client.cancel(list(running), force=True)


def _first_line(error: Exception) -> str:
    """The first line of what an exception says."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _batch(times: Sequence[float], waiting: int, running: int) -> int:
    """How many cases go together: half a second of them, and one of those not known yet.

    Towards the end smaller, so that no worker waits for one long batch.
    """
    size = math.ceil(_BATCH_S / max(median(times), 1e-6)) if times else 1
    return max(1, min(size, _LARGEST_BATCH, waiting // max(running, 1) or 1, waiting))


def _distributed() -> Any:
    """The library, whose own types are not whole."""
    try:
        import distributed
    except ImportError:
        raise InputError("--scheduler needs Dask: pip install 'sojourn[dask]'") from None
    return distributed


def reach(address: str) -> None:
    """Wait for a scheduler at an address, for a while, and look at its workers.

    Where there is none the library's client would not only fail but keep the process from ending.

    Raises:
        InputError: it is no address, or there is none; a worker has another build; Dask is not
            installed.
    """
    _await(address)
    with _connected(address) as client:
        _refuse_other_builds(client)


def _await(address: str) -> None:
    addressing = _distributed().comm
    end, waiting = time.monotonic() + _CONNECT_S, False
    while True:
        try:
            socket.create_connection(addressing.get_address_host_port(address), _CONNECT_S).close()
        except (OSError, ValueError) as error:
            if not isinstance(error, ConnectionRefusedError) or time.monotonic() > end:
                said = _first_line(error)
                raise InputError(f"no Dask scheduler at {address!r}: {said}") from None
            if not waiting:
                sys.stderr.write(f"waiting up to {_CONNECT_S:g} s for a scheduler at {address}\n")
                waiting = True
            time.sleep(_AGAIN_S)
        else:
            return


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    try:
        client: Client = _distributed().Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler at {address!r}: {_first_line(error)}") from None
    try:
        yield client
    finally:
        client.close(timeout=_CONNECT_S)


def _refuse_other_builds(client: Client) -> None:
    """Refuse a cluster without workers, and workers that would give other rows."""
    client.wait_for_workers(1, timeout=_CONNECT_S)
    said = client.run(_identity, on_error="return")
    others = {
        worker: f"build {found}" if isinstance(found, str) else f"no sojourn ({_first_line(found)})"
        for worker, found in said.items()
        if found != build.identity()
    }
    if others:
        named = [f"{worker} has {what}" for worker, what in list(others.items())[:_NAMED]]
        more = f", and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        raise InputError(
            f"{count(len(others), 'worker')} with another build than this one"
            f" ({build.identity()}): {'; '.join(named)}{more}; install the same sojourn there"
        )


def _run(sent: Sent, expected: str, keys: Sequence[tuple[int, int]]) -> list[Outcome]:
    """On a worker: simulate some cases of a study.

    Raises:
        InputError: this worker has another build than its client; it came after the others had
            been looked at.
    """
    _refuse_this_build(expected)
    there = _cases(sent)
    folder = Path(there.folder.name)
    return [simulated(there.cases[index], replication, folder) for index, replication in keys]


def _do(work: Callable[[Sequence[T]], list[R]], expected: str, batch: Sequence[T]) -> list[R]:
    """On a worker: some of the work.

    Raises:
        InputError: as `_run` does.
    """
    _refuse_this_build(expected)
    with trust.answering(trust.always):  # decided where the work comes from
        return work(batch)


def _refuse_this_build(expected: str) -> None:
    if build.identity() != expected:
        raise InputError(
            f"worker {_worker()} has build {build.identity()}, expected {expected};"
            " install the same sojourn there"
        )


@dataclass(frozen=True)
class _Unpacked:
    """The cases of a study, and the folder of its files, as long as they are needed."""

    cases: Sequence[Case]
    folder: TemporaryDirectory[str]


@lru_cache(maxsize=4)
def _cases(sent: Sent) -> _Unpacked:
    folder = TemporaryDirectory(prefix="sojourn-study-", ignore_cleanup_errors=True)
    directory = RunDirectory(Path(folder.name))
    for name, octets in sent.files:
        path = directory.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(octets)
    with trust.answering(trust.always):  # decided where the study comes from
        cases = inputs.study(sent.study, str(directory.study), []).cases()
    return _Unpacked(cases, folder)


def _identity() -> str:
    """On a worker: its own build."""
    return build.identity()


def _worker() -> str:
    from distributed import get_worker

    return str(get_worker().address)
