"""fio's part of a measurement: open-loop replay by many children, latencies from its logs.

Each child replays one log and waits for each of its accesses before the next; there are
enough of them that one is free when an access is due, as the master and child processes of the
paper's benchmark (section 4). An asynchronous engine would need one child only, but fio before 3.36
sees a completion no earlier than the next submission while it replays.

The logs are of version 2, with a `wait` before each access. In fio 3.33 that waits until so many
milliseconds after fio's own start, the same moment for all children. The timestamps of version 3
count microseconds, but from the child's last access on, and what one comes late all later ones do:
on a busy machine 200 ms after 30 accesses, with `wait` 2 ms.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sojourn._internal.errors import MeasurementError
from sojourn.measurement.target import Target

_LEAST = (3, 29)  # the first whose logs can be of one clock for all children
_NS_PER_US = 1000
_US_PER_MS = 1000
_START_MS = 1000  # in which all children begin
_NS_PER_MS = 10**6
_MONOTONIC = 1

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Accesses:
    """What is issued, in order of time: arrays of one element an access.

    `due_us` counts from the first moment of the replay.
    """

    due_us: Ints
    target: Ints
    write: npt.NDArray[np.bool_]
    offset: Ints
    length: Ints


@dataclass(frozen=True)
class Latencies:
    """What came of each access, in the order of `Accesses`.

    `issued_ns` is on one clock for all, but known to a millisecond only, which is how finely fio's
    logs say when; `took_ns` is from the issue to the end. `queued` marks accesses that were due
    before their child was done with the one before.
    """

    issued_ns: Ints
    took_ns: Ints
    queued: npt.NDArray[np.bool_]


def version() -> str:
    """Which fio is installed.

    Raises:
        MeasurementError: none, or one that does not know timestamps.
    """
    if shutil.which("fio") is None:
        raise MeasurementError("measuring an array needs fio (Debian's package of that name)")
    said = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    found = re.match(r"fio-(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < _LEAST:
        least = ".".join(map(str, _LEAST))
        raise MeasurementError(
            f"measuring an array needs fio {least} or newer, this is {said.strip() or 'no fio'}"
        )
    return said.strip()


def settings(targets: Sequence[Target], engine: str) -> list[str]:
    """The lines of a job file that hold for all jobs.

    The page cache is passed by where every target lets it be.
    """
    return [
        "[global]",
        f"ioengine={engine}",
        f"direct={int(all(target.direct for target in targets))}",
        "thread=1",
        "allow_file_create=0",
        "allow_mounted_write=0",
        "disk_util=0",
        "log_offset=1",
        "log_alternate_epoch=1",
        f"log_alternate_epoch_clock_id={_MONOTONIC}",
    ]


@contextmanager
def ran(targets: Sequence[Target], files: Mapping[str, str], *, writes: bool) -> Iterator[Path]:
    """The folder in which fio ran the file `job`, with its logs; removed at the end.

    Args:
        targets: called `target0`, `target1`, ... there: short names without spaces.
        files: the files that fio reads, by their names.
        writes: whether it may write.

    Raises:
        MeasurementError: fio failed.
    """
    with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
        place = Path(folder)
        for number, target in enumerate(targets):
            place.joinpath(f"target{number}").symlink_to(target.path.resolve())
        for name, text in files.items():
            place.joinpath(name).write_text(text, encoding="ascii")
        done = subprocess.run(  # noqa: S603
            ["fio", "--output=out", *([] if writes else ["--readonly"]), "job"],  # noqa: S607
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            words = failure(done.stderr, place.joinpath("out").read_text())
            raise MeasurementError(f"fio ended with {done.returncode}: {words}")
        yield place


def failure(*printed: str) -> str:
    """The line of what fio printed that says why it failed."""
    said = [line for text in printed for line in text.splitlines()]
    return next((line for line in said if "error" in line or "fio:" in line), "no word")


def replay(targets: Sequence[Target], accesses: Accesses, *, children: int) -> Latencies:
    """Issue accesses at their times and wait for all.

    Raises:
        MeasurementError: fio failed, or says less than was asked of it.
    """
    shares = [slice(child, None, children) for child in range(children)][: accesses.due_us.size]
    job = settings(targets, "psync")
    for child in range(len(shares)):
        job += [f"[{child}]", f"read_iolog=child{child}", f"write_lat_log=took{child}"]
    files = {f"child{child}": _log(accesses, share) for child, share in enumerate(shares)}
    files["job"] = "".join(f"{line}\n" for line in job)
    with ran(targets, files, writes=bool(accesses.write.any())) as place:
        return _read(place, accesses, shares)


def _log(accesses: Accesses, share: slice) -> str:
    """A child's log."""
    used = np.unique(accesses.target[share]).tolist()
    lines = ["fio version 2 iolog"]
    for act in ("add", "open"):
        lines += [f"target{number} {act}" for number in used]
    columns = (
        accesses.due_us[share] // _US_PER_MS + _START_MS,
        accesses.target[share],
        accesses.write[share],
        accesses.offset[share],
        accesses.length[share],
    )
    for due, target, write, offset, length in zip(*(c.tolist() for c in columns), strict=True):
        lines.append(f"target{target} wait {due} 0")
        lines.append(f"target{target} {'write' if write else 'read'} {offset} {length}")
    return "".join(f"{line}\n" for line in lines)


def _read(place: Path, accesses: Accesses, shares: Sequence[slice]) -> Latencies:
    issued, took = np.zeros_like(accesses.due_us), np.zeros_like(accesses.due_us)
    queued = np.zeros(accesses.due_us.size, dtype=np.bool_)
    for child, share in enumerate(shares):
        # a line an access: end [ms], latency [ns], direction, bytes, offset, priority
        log = np.loadtxt(
            place / f"took{child}_lat.{child + 1}.log", delimiter=",", dtype=np.int64, ndmin=2
        )
        asked = accesses.offset[share]
        if log.shape[0] != asked.size or np.any(log[:, 4] != asked):
            raise MeasurementError(
                f"fio's log has {log.shape[0]:,} accesses of {asked.size:,}, or others;"
                " nothing measured can be used"
            )
        took[share] = log[:, 1]
        issued[share] = log[:, 0] * _NS_PER_MS - log[:, 1]
    due = accesses.due_us * _NS_PER_US
    ends = issued + took - (issued - due).min()
    for share in shares:
        queued[share][1:] = ends[share][:-1] > due[share][1:]
    return Latencies(issued, took, queued)
