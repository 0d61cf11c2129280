"""A study of an array on real disks, in the rows that the simulator writes."""

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn._core import Case, Study, quantity
from sojourn._internal.errors import MeasurementError
from sojourn._internal.units import PS_PER_S, duration
from sojourn.execution.execute import Task
from sojourn.execution.results import keep
from sojourn.measurement import closed_loops, fio
from sojourn.measurement.cases import measure_cases
from sojourn.measurement.load import Load
from sojourn.measurement.target import SECTOR, Target
from sojourn.store import rows
from sojourn.store.ledger import PROCESSORS_BUSY, Record, Value
from sojourn.store.rows import Column
from sojourn.store.run_directory import RunDirectory
from sojourn.store.stored_run import StoredRun

CHILDREN = 32
_PS_PER_US = 10**6
_PS_PER_NS = 1000
_IDEAL = "ideal: the quickest of its run that did as much of the same"
_OPS = ["read", "write"]
_DISKS_OF = {"single": 1, "raid1": 2}
_SHARE_TO_WARN_OF = 0.001

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Offered:
    """The accesses of one replication, an element each; `Case.offered` says what they are.

    Without addresses there is no `at`.
    """

    request: Ints
    arrived_ps: Ints
    request_blocks: Ints
    disk: Ints
    op: npt.NDArray[np.uint8]
    blocks: Ints
    phase: Ints
    at: Ints | None = None

    @staticmethod
    def of(case: Case, replication: int) -> "Offered":
        """What the simulator would issue, so that both do the same."""
        columns = case.offered(replication)
        op = columns.pop("op")
        assert isinstance(op, tuple)  # noqa: S101 - as the binding says
        ints = {name: np.asarray(column, dtype=np.int64) for name, column in columns.items()}
        return Offered(op=op[0], **ints)


def writes(study: Study) -> bool:
    """Whether a study of an array has any writes."""
    return any(_writes(case) for case in study.cases())


def _writes(case: Case) -> bool:
    if closed_loops.is_closed(case):
        return any(loop.read_percent < 100 for loop in closed_loops.loops_of(case))
    return bool(Offered.of(case, 0).op.any())


def measure(
    study: Study,
    source: str,
    targets: Sequence[Target],
    directory: RunDirectory,
    *,
    children: int,
    command: str,
) -> int:
    """Measure the cases that a run directory lacks, one after the other.

    Args:
        study: of an array.
        source: the study's file, for messages.
        targets: one for each disk of the layout.
        directory: where to.
        children: how many processes issue accesses.
        command: for `meta.json`.

    Returns:
        How many cases were measured, replications counted.

    Raises:
        MeasurementError: the study cannot be measured; no fio; the directory holds something else.
        Interrupted: Ctrl-C; finished cases are kept.
    """
    installed = fio.version()
    check_sizes(study, source, {target.path: target.size_bytes for target in targets})
    return measure_cases(
        study,
        directory,
        command=command,
        measured=f"{', '.join(str(t.path.resolve()) for t in targets)} with {installed} on"
        f" Linux {platform.release()}",
        one=lambda task: _one(task, study.seed, targets, directory, children),
        lasts_s=_lasts_s,
    )


def _lasts_s(task: Task) -> float | None:
    """For how long requests arrive, where that is known ahead."""
    if closed_loops.is_closed(task.case):
        return None
    return int(Offered.of(task.case, task.replication).arrived_ps[-1]) / PS_PER_S


def check(study: Study, source: str, targets: int) -> None:
    """Refuse a study that cannot be measured on so many targets, and a machine without fio.

    Raises:
        MeasurementError: why not.
    """
    if study.model != "array":
        raise MeasurementError(f'{source}: model = "{study.model}", expected "array"')
    for case in study.cases():
        asked = case.parameters
        layout = f'{source}: layout.kind = "{asked["layout.kind"]}"'
        block = quantity(str(asked["block"]))
        if block % SECTOR:
            raise MeasurementError(
                f'{source}: block = "{asked["block"]}", expected a multiple of {SECTOR}B: a'
                " request that passes the page cache by is of whole sectors"
            )
        if asked["join"] != "fork-join":
            raise MeasurementError(
                f'{source}: join = "{asked["join"]}", expected "fork-join": real requests do not'
                " wait for each other's ends"
            )
        is_closed = closed_loops.is_closed(case)
        if is_closed:
            closed_loops.loops_of(case, source)
        disks = int(asked.get("layout.disks", _DISKS_OF.get(str(asked["layout.kind"]), 1)))
        if targets != disks:
            raise MeasurementError(
                f"{layout} has {disks} disks, expected as many TARGETs; there are {targets}"
            )
        if not is_closed and Offered.of(case, 0).phase.any():
            raise MeasurementError(
                f"{layout}: some of its writes read first, expected requests of one phase: reads,"
                " or writes of whole stripes"
            )
    fio.version()


def check_sizes(study: Study, source: str, targets: Mapping[Path, int]) -> None:
    """Refuse targets that are smaller, in bytes, than what a study goes to on each.

    Raises:
        MeasurementError: which one.
    """
    for case in study.cases():
        if closed_loops.is_closed(case):
            needed = max(loop.size_bytes for loop in closed_loops.loops_of(case, source))
            for path, size_bytes in targets.items():
                _check_size(path, size_bytes, source, needed, "has accesses of")
            continue
        for replication in range(study.replications):
            _check_sizes(case, replication, source, targets)


def _check_sizes(case: Case, replication: int, source: str, targets: Mapping[Path, int]) -> None:
    block = quantity(str(case.parameters["block"]))
    offered = Offered.of(case, replication)
    ends = offered.blocks if offered.at is None else offered.at + offered.blocks
    what = "has accesses of" if offered.at is None else "goes on to byte"
    for disk, (path, size_bytes) in enumerate(targets.items()):
        needed = int(ends.max(where=offered.disk == disk, initial=0)) * block
        _check_size(path, size_bytes, source, needed, what)


def _check_size(path: Path, size_bytes: int, source: str, needed: int, what: str) -> None:
    if size_bytes < needed:
        raise MeasurementError(
            f"{path}: {size_bytes:,} bytes, too few for {source}, which {what}"
            f" {needed:,}; --create SIZE makes a larger one"
        )


def warnings(targets: Sequence[Target], run: StoredRun) -> list[str]:
    """What readers of a measurement's numbers have to know, a line each."""
    said = []
    for target in targets:
        if not target.direct:
            said.append(f"{target.path}: its file system has no O_DIRECT; this is the page cache")
        if not target.whole:
            said.append(f"{target.path}: has holes, which are read without any disk")
    said += closed_loops.warnings([record.figures for record in run.ledger])
    records = [record for record in run.ledger if "late_mean_ps" in record.figures]
    return said + (_lateness(run, records) if records else [])


def _lateness(run: StoredRun, records: Sequence[Record]) -> list[str]:
    """What is said of requests that were issued at times known ahead."""
    said = []
    figures = [record.figures for record in records]
    mean, p99 = (
        max(float(one[name]) for one in figures) for name in ("late_mean_ps", "late_p99_ps")
    )
    said.append(
        f"issued late by {duration(mean)} on average, {duration(p99)} at the 99th percentile of the"
        " case that was latest (known to 1 ms)"
    )
    queued = sum(int(one["accesses_that_waited_for_their_child"]) for one in figures)
    share = queued / sum(int(one["accesses"]) for one in figures)
    if share > _SHARE_TO_WARN_OF:
        said.append(
            f"{share:.1%} of the accesses waited for a child: the load was less open than the"
            " study's; more --children, or a lower rate"
        )
    took = min(float(np.median(_took(run, record))) for record in records)
    if p99 > took:
        said.append(
            f"half of the requests took less than {duration(took)}: those that should come at the"
            " same moment came apart by more, so bursts are smeared; a Poisson stream stays one"
        )
    return said


def _took(run: StoredRun, record: Record) -> Ints:
    table = rows.read(run.directory.rows(*record.key), ["sojourn_ps"])
    took: Ints = rows.numbers(table["sojourn_ps"])
    return took


def _one(
    task: Task, seed: int, targets: Sequence[Target], directory: RunDirectory, children: int
) -> Record:
    case, replication = task.case, task.replication
    load = Load()
    started, cpu = time.perf_counter(), time.process_time()
    if closed_loops.is_closed(case):
        columns, own = closed_loops.measure(case, [seed, replication], targets)
        columns = _with_ideal(columns)
    else:
        columns, own = _open(case, replication, seed, targets, children)
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    direct = all(target.direct for target in targets)
    figures: dict[str, Value] = {
        **own,
        "page_cache": "passed by" if direct else "in use",
        PROCESSORS_BUSY: load.figures()[PROCESSORS_BUSY],
        "unfinished": 0,
        "measured_ps": round(wall * PS_PER_S),
        "ideal": _IDEAL,
    }
    return keep(directory, case, replication, columns, figures, wall_s=wall, cpu_s=cpu)


def _open(
    case: Case, replication: int, seed: int, targets: Sequence[Target], children: int
) -> tuple[dict[str, Column], dict[str, Value]]:
    """Issue requests at the times that are known ahead: their rows, and figures."""
    offered = Offered.of(case, replication)
    accesses = _accesses(case, [seed, replication], offered, targets)
    done = fio.replay(targets, accesses, children=children)
    columns = _columns(case, offered, accesses, done)
    late = np.asarray(columns["late_ps"])
    return columns, {
        "accesses": offered.request.size,
        "requests_without_rows": int(offered.request[-1]) + 1 - late.size,
        "accesses_that_waited_for_their_child": int(done.queued.sum()),
        "late_mean_ps": float(late.mean()),
        "late_p99_ps": float(np.percentile(late, 99)),
        "late_max_ps": int(late.max()),
    }


def _accesses(
    case: Case, seed: Sequence[int], offered: Offered, targets: Sequence[Target]
) -> fio.Accesses:
    """Where on its target each access goes: its address, or anywhere at the border of a block."""
    block = quantity(str(case.parameters["block"]))
    first = offered.at
    if first is None:
        places = np.array([target.size_bytes // block for target in targets])[offered.disk]
        chance = np.random.default_rng(seed)
        first = chance.integers(0, places - offered.blocks + 1)
    return fio.Accesses(
        due_us=offered.arrived_ps // _PS_PER_US,
        target=offered.disk,
        write=offered.op.astype(np.bool_),
        offset=first * block,
        length=offered.blocks * block,
    )


def _columns(
    case: Case, offered: Offered, accesses: fio.Accesses, done: fio.Latencies
) -> dict[str, Column]:
    """The rows: a request took as long as its longest access, and was as late as its latest."""
    late_ns = done.issued_ns - accesses.due_us * _PS_PER_NS
    late_ns -= late_ns.min()
    firsts = np.flatnonzero(np.diff(offered.request, prepend=-1))
    took = np.maximum.reduceat(done.took_ns, firsts) * _PS_PER_NS
    late = np.maximum.reduceat(late_ns, firsts) * _PS_PER_NS
    blocks = offered.request_blocks[firsts]
    with_rows = slice(firsts.size - case.jobs, None)
    took, late, blocks = took[with_rows], late[with_rows], blocks[with_rows]
    op, arrived = offered.op[firsts][with_rows], offered.arrived_ps[firsts][with_rows]
    return _with_ideal(
        {
            "job": np.arange(took.size),
            "kind": (np.zeros(took.size, dtype=np.uint8), ["request"]),
            "size_bytes": blocks * quantity(str(case.parameters["block"])),
            "arrived_ps": arrived,
            "finished_ps": arrived + late + took,
            "sojourn_ps": took,
            "op": (op, _OPS),
            "blocks": blocks,
            "late_ps": late,
        }
    )


def _with_ideal(columns: dict[str, Column]) -> dict[str, Column]:
    """Columns with each request's ideal time, and its slowdown, behind its sojourn time."""
    op = columns["op"]
    took = np.asarray(columns["sojourn_ps"])
    ideal = _quickest_alike(took, np.asarray(op[0]), np.asarray(columns["blocks"]))
    found: dict[str, Column] = {}
    for name, column in columns.items():
        found[name] = column
        if name == "sojourn_ps":
            found |= {"ideal_ps": ideal, "slowdown": took / ideal}
    return found


def _quickest_alike(took: Ints, op: npt.NDArray[np.uint8], blocks: Ints) -> Ints:
    """For each request the least that one with the same operation and size took."""
    _, alike = np.unique(np.stack([op.astype(np.int64), blocks]), axis=1, return_inverse=True)
    least = np.full(int(alike.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, alike, took)
    return least[alike]
