"""Collectives of Open MPI over the kernel's own TCP, in the rows that the simulator writes.

A rank is a process in a host's namespace. Open MPI is told which algorithm to take, so that it
sends what the study's collective sends; what it does not have is refused.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn._core import Case, Outcome, quantity
from sojourn._internal.errors import MeasurementError
from sojourn._internal.units import NS_PER_S, PS_PER_NS, PS_PER_S
from sojourn.measurement.measured import Ints, Measured, ints
from sojourn.measurement.star import Star
from sojourn.store.ledger import Value
from sojourn.store.rows import Column

# What Open MPI calls the algorithms (coll_tuned_*_algorithm of ompi_info, version 4.1).
_ALGORITHMS: Mapping[str, tuple[str, int] | None] = {
    "ring-all-reduce": ("allreduce", 4),
    "halving-doubling-all-reduce": ("allreduce", 6),
    "ring-all-gather": ("allgatherv", 3),
    "ring-reduce-scatter": ("reduce_scatter", 3),
    "binomial-broadcast": ("bcast", 6),
    "all-to-all": ("alltoallv", 1),
    "send-receive": None,
}
# What Open MPI lacks, and the value without it.
_WITHOUT = {"pieces": 1, "channels": 1, "skew": 0.0, "node": 1}
_GRACE_S = 10.0
_PROGRAM = Path(__file__).with_name("mpi_rank.py")


def check(case: Case, source: str) -> None:
    """Refuse a case that Open MPI cannot do, or this machine.

    Raises:
        MeasurementError: which parameter, or which program is missing.
    """
    given, under = case.parameters, "workload.collective"
    kind = given[f"{under}.kind"]
    if kind not in _ALGORITHMS:
        names = ", ".join(_ALGORITHMS)
        raise MeasurementError(f'{source}: {under}.kind = "{kind}", expected one of {names}')
    for name, only in _WITHOUT.items():
        value = given.get(f"{under}.{name}", only)
        if value != only:
            raise MeasurementError(
                f"{source}: {under}.{name} = {value}, expected {only}: Open MPI has no other"
            )
    if case.parameters["completion"] != "receiver":
        raise MeasurementError(
            f'{source}: completion = "sender", expected "receiver": a collective is over when all'
            " has come"
        )
    if shutil.which("mpirun") is None:
        raise MeasurementError(
            "measuring collectives needs Open MPI: there is no command 'mpirun'"
            " (Debian: openmpi-bin)"
        )
    if importlib.util.find_spec("mpi4py") is None:
        raise MeasurementError("measuring collectives needs mpi4py: pip install 'sojourn[mpi]'")


def carried(case: Case, offered: Outcome, star: Star) -> tuple[Measured, float]:
    """Run the ranks of a case over a star; `offered` is what the simulator made of it.

    Returns:
        The rows, and for how many seconds collectives were under way.

    Raises:
        MeasurementError: Open MPI failed, or took longer than the study's `drain`.
    """
    times = _run(case, star)
    began, ended = times[:, :, 0].T, times[:, :, 1].T
    origin, compute_ps = began.min(), quantity(str(case.parameters["workload.compute"]))
    kind, names = offered.columns["kind"]
    of_ranks = {name: code for code, name in enumerate(names)}
    rows = np.flatnonzero(np.isin(kind, [of_ranks[name] for name in ("collective", "iteration")]))
    columns = {name: _rows_of(column, rows) for name, column in offered.columns.items()}
    own: dict[str, npt.NDArray[Any]] = {name: ints(columns, name).copy() for name in _TIMES}
    bus_bps = own["bus_bps"]
    whole = columns["kind"][0] == of_ranks["iteration"]
    places = np.flatnonzero(~whole)
    places = places[np.argsort(own["joined_ps"][places], kind="stable")]
    if len(places) != len(began):
        given = f"{len(places)} collectives in the study's rows, expected {len(began)}"
        raise MeasurementError(given)
    bits = bus_bps[places] * (own["finished_ps"][places] - own["joined_ps"][places])
    # The first rank computes before it begins, as it does in the simulator.
    first, last, over = (
        (at - origin) * PS_PER_NS + compute_ps
        for at in (began.min(axis=1), began.max(axis=1), ended.max(axis=1))
    )
    own["arrived_ps"][places] = first
    own["joined_ps"][places] = last
    own["finished_ps"][places] = over
    own["rank"][places] = began.argmax(axis=1)
    # Both have the same bits, and bandwidths differ as times do.
    bus_bps[places] = bits / (over - last)
    own["finished_ps"][whole] = over.max()
    own["acknowledged_ps"] = own["finished_ps"]
    own["sojourn_ps"] = own["finished_ps"] - own["arrived_ps"]
    own["slowdown"] = own["sojourn_ps"] / ints(columns, "ideal_ps")
    own["exposed_ps"][whole] = own["finished_ps"][whole] - ints(columns, "computed_ps")[whole]
    for name in ("path_computing_ps", "path_on_server_ps", "path_network_ps"):
        own[name][whole] = -1
    figures: dict[str, Value] = {"unfinished": 0, "ideal": offered.figures["ideal"]}
    return Measured({**columns, **own}, figures), float(ended.max() - origin) / NS_PER_S


_TIMES = (
    "arrived_ps",
    "finished_ps",
    "acknowledged_ps",
    "sojourn_ps",
    "slowdown",
    "joined_ps",
    "rank",
    "bus_bps",
    "exposed_ps",
    "path_computing_ps",
    "path_on_server_ps",
    "path_network_ps",
)


def _rows_of(column: Column, rows: npt.NDArray[np.intp]) -> Column:
    return (column[0][rows], column[1]) if isinstance(column, tuple) else column[rows]


def _run(case: Case, star: Star) -> Ints:
    """When each rank began and ended each collective: ranks, iterations, and these two, in ns."""
    given = case.parameters
    ranks = given["workload.ranks"]
    ranks = len(star.hosts) if ranks == "none" else int(ranks)
    hosts = [star.address(host) for host in range(ranks)]
    collective = str(given["workload.collective.kind"])
    numbers = (
        quantity(str(given["workload.size"])),
        int(given["workload.iterations"]),
        quantity(str(given["workload.compute"])) / PS_PER_S,
    )
    longest_s = quantity(str(given["drain"])) / PS_PER_S
    with tempfile.TemporaryDirectory(prefix="sojourn-mpi-") as folder:
        agent = Path(folder, "agent")
        agent.write_text(_agent(star, ranks), encoding="ascii")
        agent.chmod(0o700)
        command = [
            *("mpirun", "--allow-run-as-root", "-np", str(ranks)),
            *("--host", ",".join(f"{host}:1" for host in hosts)),
            *_mca(collective, agent),
            *(sys.executable, str(_PROGRAM), collective, *map(str, numbers)),
        ]
        with star.hosts[0].inside():
            printed = _printed(command, longest_s)
    times: Ints = np.array(json.loads(printed), dtype=np.int64)
    return times


def _printed(command: list[str], longest_s: float) -> str:
    """What mpirun prints. It ends its ranks when it is asked to end."""
    with subprocess.Popen(  # noqa: S603 - mpirun, by its name
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as mpirun:
        try:
            printed, said = mpirun.communicate(timeout=longest_s)
        except subprocess.TimeoutExpired:
            raise MeasurementError(
                f"the collectives are not over after {longest_s:g} s, the study's drain"
            ) from None
        finally:
            if mpirun.poll() is None:
                _end(mpirun)
    if mpirun.returncode:
        why = next((line for line in said.splitlines() if line.strip("- ")), "no reason given")
        raise MeasurementError(f"mpirun: {why.strip()}")
    return printed


def _end(mpirun: subprocess.Popen[str]) -> None:
    """End mpirun, which ends its ranks if it is given the time."""
    mpirun.terminate()
    try:
        mpirun.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        mpirun.kill()


def _agent(star: Star, ranks: int) -> str:
    """A program that Open MPI takes for ssh: it runs a command in the namespace of a host."""
    where = [f"{star.address(n)}) net={star.hosts[n].path} ;;" for n in range(ranks)]
    lines = [
        "#!/bin/sh",
        "host=$1",
        "shift",
        "case $host in",
        *where,
        "esac",
        'exec nsenter --net="$net" -- sh -c "$*"',
    ]
    return "".join(f"{line}\n" for line in lines)


def _mca(collective: str, agent: Path) -> list[str]:
    """Open MPI's parameters: TCP between hosts alone, and the study's algorithm."""
    settings = {
        "plm": "rsh",
        "plm_rsh_agent": str(agent),
        "plm_rsh_no_tree_spawn": "1",
        "oob_tcp_if_include": "eth0",
        "pml": "ob1",
        "btl": "tcp,self",
        "btl_tcp_if_include": "eth0",
        # A rank that waits leaves the processor to others.
        "mpi_yield_when_idle": "1",
        "coll_tuned_use_dynamic_rules": "1",
    }
    chosen = _ALGORITHMS[collective]
    if chosen:
        operation, algorithm = chosen
        settings[f"coll_tuned_{operation}_algorithm"] = str(algorithm)
    return [word for name, value in settings.items() for word in ("--mca", name, value)]
