"""The same flows over the same fabric.

`ns3_fabric.cc`, which has DCTCP too, needs ns-3's headers and libraries (Debian's `libns3-dev`) and
a C++ compiler, `simpy_fabric.py` SimPy. They draw their own choices among paths and know a flow
only from its arrival to its end.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from peers.simulator import Outcome, Simulator, in_python, outcome, ran
from sojourn._core import Case, Progress, quantity
from sojourn.execution import inputs

# The benchmark that all of them can do, and as many of its flows as they do in a while.
CASE = "k6-droptail"
FLOWS = 50
# Likewise what ns-3 can do alone.
DCTCP = "dctcp built in"
FLOWS_OF_DCTCP = 200

_NS3_SOURCE = Path(__file__).with_name("ns3_fabric.cc")
_NS3 = ["point-to-point", "internet", "bridge", "traffic-control", "network", "stats", "core"]


def simulators() -> list[Simulator]:
    """All of them, those that lack something too."""
    return [_ns3(), in_python("SimPy", "simpy", "simpy_fabric")]


def with_dctcp() -> list[Simulator]:
    """Those that have DCTCP, those that lack something too."""
    return [_ns3()]


# What the others do: their hosts send exactly on time, through a port like a switch's, and a flow
# is complete when its sender knows.
_AS_THEIRS = [("hosts.overhead", "0"), ("hosts.port", "switch-port"), ("completion", "sender")]


def task(study: str, flows: int = FLOWS) -> tuple[str, Outcome]:
    """The fabric of `study`'s first case and its first flows, as the others read them.

    With it comes what this project's engine does with them, without its costs.
    """
    case = inputs.study(study, CASE, [("workload.flows", str(flows)), *_AS_THEIRS]).cases()[0]
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
        of("scheme.queue.threshold") if about["scheme.queue.kind"] == "ecn" else 0,
    ]
    return " ".join(map(str, values))


def _ns3() -> Simulator:
    name, missing = "ns-3", None
    if not shutil.which("g++"):
        missing = "g++"
    elif not Path("/usr/include/ns3/core-module.h").exists():
        missing = "ns-3's headers (Debian: libns3-dev)"

    def run(reads: str) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/ns3_fabric"
            libraries = [f"-lns3-{library}" for library in _NS3]
            ran(name, ["g++", "-O2", "-std=c++17", "-o", program, str(_NS3_SOURCE), *libraries], "")
            return outcome(ran(name, [program], reads))

    return Simulator(name, missing, run)
