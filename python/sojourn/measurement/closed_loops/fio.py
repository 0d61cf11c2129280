"""fio's part of measuring closed loops: jobs with an `iodepth`, and what their logs say.

Two logs of each job are read. The one of issues (`write_iolog`) has microseconds, offsets and
lengths, but no latencies. The one of latencies has nanoseconds, but says when only to the
millisecond, which is too coarse to tell the order of requests. An access is found in both by its
operation and offset; of several at one place the one that was issued first is taken to end first.

fio's `thinktime` stalls a job until all its requests are done. A loop that thinks is therefore as
many jobs of one request each. Jobs have separate clocks in the first log, and one in the second, so
that the second says how far apart the first ones are.
"""

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sojourn._internal.errors import MeasurementError
from sojourn.measurement.closed_loops.asked import Loop
from sojourn.measurement.fio import failure, ran, settings
from sojourn.measurement.target import SECTOR, Target

LONGEST_S = 3600
"""The longest that one replication is measured."""

_ENGINES = ("io_uring", "libaio")
_MOST_ENTRIES = 1 << 20  # fio's own limit
_NS_PER_US = 1000
_US_PER_MS = 1000
_FIRST_TRY_S = 1.0
_MORE = 1.2  # times as long as the rate of a run that was too short asks for

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Done:
    """Requests that are done, in the order in which they were issued; an element each.

    `loop` is the number of its loop; `issued_ns` counts from the first issue.
    """

    loop: Ints
    issued_ns: Ints
    took_ns: Ints
    write: npt.NDArray[np.bool_]

    def first(self, count: int) -> "Done":
        """The first of them."""
        return Done(*(getattr(self, name)[:count] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class _Job:
    """A job of fio: all of a loop that does not think, or one request of a loop that does."""

    loop: int
    asked: Loop
    depth: int


@cache
def engine(direct: bool) -> str:
    """The asynchronous engine of fio that works on this machine.

    Raises:
        MeasurementError: none does.
    """
    words = ""
    with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
        # Without O_DIRECT libaio waits for each request before it issues the next.
        for name in _ENGINES if direct else _ENGINES[:1]:
            tried = subprocess.run(  # noqa: S603
                ["fio", "--name=try", f"--ioengine={name}", "--iodepth=2", f"--size={SECTOR}"],  # noqa: S607
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if not tried.returncode:
                return name
            words = failure(tried.stderr)
    raise MeasurementError(
        "a closed loop needs an asynchronous engine of fio, and none works here:"
        f" tried {' and '.join(_ENGINES)}{'' if direct else ', of which libaio needs O_DIRECT'};"
        f" {words}"
    )


def run(targets: Sequence[Target], loops: Sequence[Loop], count: int, seed: Sequence[int]) -> Done:
    """Measure closed loops until together they have issued `count` requests, or a few more.

    Raises:
        MeasurementError: fio failed, did other than it was asked to, or would take too long.
    """
    jobs = [
        job
        for number, loop in enumerate(loops)
        for job in (
            [_Job(number, loop, 1)] * loop.depth
            if loop.think_us
            else [_Job(number, loop, loop.depth)]
        )
    ]
    # One job issues as many as are asked for. Of several only the time is known.
    runs_s = LONGEST_S if len(jobs) == 1 else _FIRST_TRY_S
    while True:
        done = _once(targets, jobs, count, seed, runs_s)
        found = done.loop.size
        if found >= count:
            return done
        needed = _MORE * runs_s * count / max(found, 1)
        if runs_s >= LONGEST_S or needed > LONGEST_S:
            raise MeasurementError(
                f"the TARGETs served {found:,} requests in {runs_s:g} s, and {count:,} are asked"
                f" for: at most {LONGEST_S:,} s are measured; set fewer workload.requests"
            )
        runs_s = min(max(needed, 2 * runs_s), LONGEST_S)


def _once(
    targets: Sequence[Target], jobs: Sequence[_Job], count: int, seed: Sequence[int], runs_s: float
) -> Done:
    """Run fio once, for at most `runs_s` seconds."""
    writes = any(job.asked.read_percent < 100 for job in jobs)
    job_file = _job_file(jobs, targets, count, seed, runs_s)
    with ran(targets, {"job": job_file}, writes=writes) as place:
        size_bytes = min(target.size_bytes for target in targets)
        return _together([_read(place, n, job, size_bytes) for n, job in enumerate(jobs)], jobs)


def _job_file(
    jobs: Sequence[_Job], targets: Sequence[Target], count: int, seed: Sequence[int], runs_s: float
) -> str:
    direct = all(target.direct for target in targets)
    lines = [
        *settings(targets, engine(direct)),
        f"filename={':'.join(f'target{number}' for number in range(len(targets)))}",
        # Disks are alike: as much of each is used as the smallest has.
        f"filesize={min(target.size_bytes for target in targets)}",
        # Any place at any time, as likely as any other.
        "file_service_type=random:1",
        "norandommap=1",
        "random_generator=tausworthe64",
        # The number of requests and the time end a job, not how much it has read.
        "io_size=1000T",
        f"runtime={round(runs_s * 1000)}ms",
        "disable_slat=1",
        "disable_clat=1",
    ]
    deepest = sum(job.depth for job in jobs)
    seeds = np.random.SeedSequence(seed).generate_state(len(jobs)).tolist()
    for number, (job, its_seed) in enumerate(zip(jobs, seeds, strict=True)):
        asked, share = job.asked, job.asked.read_percent
        lines += [
            f"[{number}]",
            f"rw={ {0: 'randwrite', 100: 'randread'}.get(share, 'randrw') }",
            *([f"rwmixread={share}"] if 0 < share < 100 else []),
            f"bs={asked.size_bytes}",
            f"blockalign={asked.align_bytes}",
            f"iodepth={job.depth}",
            *([f"thinktime={asked.think_us}"] if asked.think_us else []),
            # The requests that are issued last have company until the last one of them is done.
            f"number_ios={count + deepest}",
            f"randseed={its_seed}",
            f"write_lat_log=took{number}",
            f"write_iolog=issued{number}",
        ]
        if job.depth > 1:
            # A log that has to grow makes fio wait until no request is under way.
            lines.append(f"log_entries={min(max(count + deepest, 1024), _MOST_ENTRIES)}")
    return "".join(f"{line}\n" for line in lines)


def _read(place: Path, number: int, job: _Job, size_bytes: int) -> tuple[Ints, Ints, Ints, Ints]:
    """When accesses of a job were issued, how long they took, whether they wrote, when they ended.

    The two moments are of different clocks: the first in microseconds, the last in milliseconds.
    """
    issues = [
        (int(when), act == "write", int(offset), int(length))
        for when, _, act, offset, length in _accesses(place / f"issued{number}")
    ]
    path = place / f"took{number}_lat.{number + 1}.log"
    if not issues or not path.stat().st_size:
        raise MeasurementError(f"job {number} of fio issued no request; nothing can be used")
    issued = np.array(issues, dtype=np.int64)
    # a line an access: end [ms], latency [ns], direction, bytes, offset, priority
    took = np.loadtxt(path, delimiter=",", dtype=np.int64, ndmin=2)
    in_issued = np.lexsort((issued[:, 2], issued[:, 1]))
    in_took = np.lexsort((took[:, 4], took[:, 2]))
    same = issued.shape[0] == took.shape[0] and np.array_equal(
        issued[in_issued, 1:], took[in_took][:, [2, 4, 3]]
    )
    if not same:
        raise MeasurementError(
            f"fio's logs have {issued.shape[0]:,} issues and {took.shape[0]:,} latencies, or of"
            " other accesses; nothing measured can be used"
        )
    asked = job.asked
    _, _, offset, length = issued.T
    ends = int((offset + length).max())
    if np.any(length != asked.size_bytes) or np.any(offset % asked.align_bytes):
        raise MeasurementError("fio issued accesses of other sizes or places than it was asked for")
    if ends > size_bytes:
        raise MeasurementError(f"fio went on to byte {ends:,} of TARGETs of {size_bytes:,} bytes")
    matched = np.empty_like(took)
    matched[in_issued] = took[in_took]
    return issued[:, 0], matched[:, 1], issued[:, 1], matched[:, 0]


def _accesses(log: Path) -> list[list[str]]:
    """The lines of a log of issues that are accesses."""
    lines = (line.split() for line in log.read_text(encoding="ascii").splitlines())
    return [line for line in lines if len(line) == 5 and line[2] in ("read", "write")]


def _together(read: Sequence[tuple[Ints, Ints, Ints, Ints]], jobs: Sequence[_Job]) -> Done:
    """The accesses of all jobs on one clock."""
    starts = []
    for issued_us, took_ns, _, ended_ms in read:
        # Ends are cut off to milliseconds, so that half of one is missing in the middle.
        behind = ended_ms * _US_PER_MS - (issued_us + took_ns / _NS_PER_US)
        starts.append(int(np.median(behind)) + _US_PER_MS // 2)
    issued = np.concatenate(
        [
            (one[0] + start - min(starts)) * _NS_PER_US
            for one, start in zip(read, starts, strict=True)
        ]
    )
    sizes = [one[0].size for one in read]
    order = np.argsort(issued, kind="stable")
    issued = issued[order]
    return Done(
        loop=np.repeat(np.array([job.loop for job in jobs], dtype=np.int64), sizes)[order],
        issued_ns=issued - issued[0],
        took_ns=np.concatenate([one[1] for one in read])[order],
        write=np.concatenate([one[2] for one in read])[order].astype(np.bool_),
    )
