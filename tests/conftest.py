"""What the tests share: a way to call the command, small studies, runs made of known numbers."""

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import shares
import sojourn
from sojourn.analysis.run_length import warmup
from sojourn.api.handles import Run
from sojourn.cli import main
from sojourn.store import rows
from sojourn.store.ledger import Ledger, Record, Value
from sojourn.store.run_directory import RunDirectory

STUDY = """\
title = "four hosts"
scheme = "MinTCP+pFabric"
[topology]
kind = "single-switch"
hosts = 4
rate = "10Gbps"
delay = "1us"
[workload]
kind = "poisson"
sizes = "websearch"
load = 0.5
flows = 60
"""
PLAN = """\
title = "an array"
model = "array"
disk = "ST3500630NS"
[workload]
kind = "synthetic"
arrivals = { kind = "poisson", rate = "0.03/ms" }
blocks = 1
requests = 2000
warmup = 200
[plan]
target = "p90 < 60 ms"
disks = [{ price = 10, capacity = "500GB" }]
[sweep]
layout = [
    { kind = "raid0", disks = 1 },
    { kind = "raid0", disks = 2 },
    { kind = "raid01", disks = 4 },
    { kind = "raid01", disks = 8 },
]
"""
SWEEP = """\
[sweep]
scheme = ["DCTCP", "MinTCP+pFabric"]
workload.load = [0.2, 0.6]
"""


# Where there is no terminal, tables have a width of their own; xdist gives its workers one here.
os.environ.pop("COLUMNS", None)

# Tests that a shell starts in the background would ignore Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares `--full`."""
    parser.addoption("--full", action="store_true", help="all cases of tests marked `share`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what a run of a share does not take, unless it was named; the longest go first.

    Whatever begins last has a processor alone at the end, so it should be short.
    """
    items.sort(key=lambda item: item.get_closest_marker("share") is None)
    if config.getoption("full") or any("::" in name for name in config.args):
        return
    items[:], left = shares.choose(items)
    config.hook.pytest_deselected(items=left)


@dataclass
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> object:
        """Standard output as strict JSON."""
        return json.loads(self.out, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> object:
    raise AssertionError(f"{name} is not JSON")


# Flows that can be estimated.
TWO_RACKS = """\
title = "two racks"
[topology]
kind = "leaf-spine"
racks = 2
hosts = 4
spines = 2
[workload]
kind = "poisson"
load = 0.4
flows = 120
[scheme]
name = "DCTCP"
balance = "ecmp"
"""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Calls `sojourn` in this process."""

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A small study of four cases, on disk."""
    path = tmp_path / "small.toml"
    path.write_text(STUDY + SWEEP)
    return path


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A small study of four cases, run twice each by the engine."""
    out = tmp_path_factory.mktemp("simulated") / "run"
    return sojourn.run(STUDY + SWEEP, out=out, replications=2)


@dataclass
class Made:
    """One case of a made-up run: what its rows hold.

    A slowdown of NaN is unfinished, a deadline of -1 none.
    """

    axes: Mapping[str, Value]
    slowdown: Sequence[float]
    size_bytes: Sequence[int] | None = None
    kind: Sequence[str] | None = None
    arrived_ps: Sequence[int] | None = None
    deadline_ps: Sequence[int] | None = None
    goodput_bps: Sequence[float] | None = None
    op: Sequence[str] | None = None
    replication: int = 0
    figures: Mapping[str, Value] = field(default_factory=dict)


IDEAL_PS = 1000


def make_run(path: Path, cases: Sequence[Made]) -> Run:
    """Write a run directory whose every number is known; the ideal is `IDEAL_PS` throughout."""
    directory = RunDirectory(path)
    (path / "rows").mkdir(parents=True)
    directory.study.write_text('title = "made up"\n')
    directory.meta.write_text('{"version": "0"}\n')
    ledger = Ledger()
    numbers: dict[tuple, int] = {}
    for made in cases:
        case = numbers.setdefault(tuple(made.axes.items()), len(numbers))
        slowdown = np.array(made.slowdown, dtype=np.float64)
        size = slowdown.size
        done = ~np.isnan(slowdown)
        arrived = np.array(made.arrived_ps or range(size), dtype=np.int64)
        sojourn_ps = np.where(done, np.nan_to_num(slowdown) * IDEAL_PS, -1).astype(np.int64)
        kinds = made.kind or ["flow"] * size
        names = sorted(set(kinds))
        columns = {
            "job": np.arange(size),
            "kind": (np.array([names.index(k) for k in kinds], dtype=np.uint8), names),
            "size_bytes": np.array(made.size_bytes or [1000] * size, dtype=np.int64),
            "arrived_ps": arrived,
            "finished_ps": np.where(done, arrived + sojourn_ps, -1),
            "sojourn_ps": sojourn_ps,
            "ideal_ps": np.full(size, IDEAL_PS),
            "slowdown": slowdown,
        }
        if made.deadline_ps is not None:
            columns["deadline_ps"] = np.array(made.deadline_ps, dtype=np.int64)
        if made.op is not None:
            ops = sorted(set(made.op))
            columns["op"] = (np.array([ops.index(op) for op in made.op], dtype=np.uint8), ops)
        if made.goodput_bps is not None:
            columns["goodput_bps"] = np.array(made.goodput_bps, dtype=np.float64)
        rows.write(
            rows.table_of(case, made.replication, columns),
            directory.rows(case, made.replication),
        )
        early_jobs, early_ps = warmup(arrived)
        ledger.add(
            Record(
                case=case,
                replication=made.replication,
                jobs=size,
                wall_s=0.5,
                cpu_s=0.25,
                warmup_jobs=early_jobs,
                warmup_ps=early_ps,
                axes=made.axes,
                parameters={"topology.k": 6, **{f"workload.{n}": v for n, v in made.axes.items()}},
                figures={
                    "hops": 7,
                    "unfinished": int((~done).sum()),
                    "ideal": "ideal: one nanosecond",
                    **made.figures,
                },
            )
        )
    ledger.write(directory.cases)
    return Run.open(path)


def mm1(generator: np.random.Generator, load: float, customers: int) -> np.ndarray:
    """Sojourn times of an M/M/1 queue with services of mean 1."""
    services = generator.exponential(1, customers)
    gaps = generator.exponential(1 / load, customers)
    return lindley(gaps, services)


def lindley(gaps: np.ndarray, services: np.ndarray) -> np.ndarray:
    """Sojourn times in queues that begin empty; the last axis is that of customers."""
    steps = services[..., :-1] - gaps[..., 1:]
    waits = np.cumsum(np.concatenate([np.zeros_like(services[..., :1]), steps], axis=-1), axis=-1)
    return waits - np.minimum.accumulate(waits, axis=-1) + services


@cache
def queues(load: float, jobs: int, number: int, slower: float = 1.0) -> np.ndarray:
    """Sojourn times in M/M/1 queues, a row a queue, always with the same draws.

    Services have a mean of `slower`; the load is that of services of mean 1.
    """
    gaps, services = np.random.default_rng(1).exponential(1.0, (2, number, jobs))
    return lindley(gaps / load, services * slower)
