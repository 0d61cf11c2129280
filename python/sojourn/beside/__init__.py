"""Other simulators beside ours: the same flows over the same fabric, and what a hop costs them.

Each is a program of its own in this folder, written as its users would write it, and runs where
what it needs is installed: `ns3_fabric.cc` with ns-3's headers and libraries (Debian's
`libns3-dev`) and a C++ compiler, `simpy_fabric.py` with SimPy. They draw their own choices among
paths and know a flow only from its arrival to its end, so their completion times are near ours,
not equal to them.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from sojourn._core import Case, Progress, Study, quantity
from sojourn.bench import Cost
from sojourn.errors import InputError

# The benchmark that all of them can do, and as many of its flows as they do in a while.
CASE = "k6-droptail"
FLOWS = 50

_NS3 = ["point-to-point", "internet", "bridge", "traffic-control", "network", "stats", "core"]


@dataclass(frozen=True)
class Outcome:
    """What one simulator did with the flows.

    Attributes:
        hops: packets sent by ports.
        finished: flows of which all arrived.
        mean_fct_ps: their mean completion time.
        cpu_s: processor time of the simulation alone.
        peak_mb: the most memory it held.
    """

    hops: int
    finished: int
    mean_fct_ps: float
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True)
class Simulator:
    """One of the others.

    Attributes:
        name: what it is called.
        missing: what it lacks on this machine; None if it can run.
        run: gives it what it reads, and brings what it did.
    """

    name: str
    missing: str | None
    run: Callable[[str], Outcome]


def simulators() -> list[Simulator]:
    """All of them, those that lack something too."""
    return [_ns3(), _simpy()]


def task(study: str, flows: int = FLOWS) -> tuple[str, Outcome]:
    """The fabric of `study`'s first case and its first flows, as the others read them.

    With it comes what this project's engine does with them, without its costs.
    """
    case = Study.parse(study, CASE, [("workload.flows", str(flows))]).cases()[0]
    done = case.run(0, Progress())
    columns = dict(done.columns)
    arrived, source, to, size, sojourn = (
        np.asarray(columns[name])
        for name in ("arrived_ps", "src", "dst", "size_bytes", "sojourn_ps")
    )
    lines = [_fabric(case)]
    lines += [f"{a} {s} {t} {b}" for a, s, t, b in zip(arrived, source, to, size, strict=True)]
    ours = Outcome(int(done.figures["hops"]), case.jobs, float(sojourn.mean()), 0.0, 0.0)
    return "\n".join(lines) + "\n", ours


def measure(
    studies: Mapping[str, str], *, say: Callable[[str], None], warn: Callable[[str], None]
) -> list[Cost]:
    """What the benchmark that all can do costs each simulator that is installed.

    Args:
        studies: the benchmarks that were asked for; without `CASE` nothing is done.
        say: is told what is being done.
        warn: is told what is left out, and why.

    Raises:
        InputError: a simulator failed.
    """
    if CASE not in studies:
        warn(f"beside: only {CASE} has others to stand beside")
        return []
    costs = []
    reads, _ = task(studies[CASE])
    for simulator in simulators():
        if simulator.missing:
            warn(f"{simulator.name}: left out, it lacks {simulator.missing}")
            continue
        say(f"{CASE}: {simulator.name}")
        done = simulator.run(reads)
        costs.append(
            Cost(
                case=f"{CASE} ({simulator.name})",
                unit="packet-hop",
                units=done.hops,
                cpu_s=done.cpu_s,
                per_cpu_s=done.hops / done.cpu_s,
                ns_per_unit=done.cpu_s / done.hops * 1e9,
                instructions_per_unit=None,
                peak_mb=done.peak_mb,
            )
        )
    return costs


def _fabric(case: Case) -> str:
    about = case.parameters

    def of(name: str) -> int:
        return quantity(str(about[name]))

    values = [
        about["topology.k"],
        of("topology.rate"),
        of("topology.delay"),
        of("scheme.queue.buffer"),
        of("packets.payload"),
        about["scheme.transport.initial_window"],
        of("scheme.transport.min_rto"),
    ]
    return " ".join(map(str, values))


def _ns3() -> Simulator:
    name, missing = "ns-3", None
    if not shutil.which("g++"):
        missing = "g++"
    elif not Path("/usr/include/ns3/core-module.h").exists():
        missing = "ns-3's headers (Debian: libns3-dev)"

    def run(reads: str) -> Outcome:
        with tempfile.TemporaryDirectory() as folder, as_file(_source("ns3_fabric.cc")) as source:
            program = f"{folder}/ns3_fabric"
            libraries = [f"-lns3-{library}" for library in _NS3]
            _ran(name, ["g++", "-O2", "-std=c++17", "-o", program, str(source), *libraries], "")
            return _outcome(_ran(name, [program], reads))

    return Simulator(name, missing, run)


def _simpy() -> Simulator:
    try:
        name, missing = f"SimPy {version('simpy')}", None
    except PackageNotFoundError:
        name, missing = "SimPy", "the package simpy"

    def run(reads: str) -> Outcome:
        return _outcome(_ran(name, [sys.executable, "-m", "sojourn.beside.simpy_fabric"], reads))

    return Simulator(name, missing, run)


def _source(name: str) -> Any:
    return files("sojourn").joinpath("beside", name)


def _ran(name: str, command: list[str], reads: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own programs and the compiler
        command, input=reads, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.splitlines() or ["it said nothing"])[-1]
        raise InputError(f"{name} ended with {done.returncode}: {last}")
    return done.stdout


def _outcome(said: str) -> Outcome:
    return Outcome(**json.loads(said))
