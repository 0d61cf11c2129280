"""Queues of a Linux kernel and the simulator's: what waits, what is carried, what is sent again.

A kernel that is a process (User Mode Linux) measures the study beside this file, so that it need
not be the machine's own, which often lacks these queues. Where it was built with a virtual clock,
that is used: a busy machine then takes longer and changes nothing.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import click
import numpy as np

from sojourn._core import quantity
from sojourn._internal.units import PS_PER_S
from sojourn.analysis.statistics import Values, student_t
from sojourn.store import rows
from sojourn.store.ledger import Record
from sojourn.store.stored_run import StoredRun

_HERE = Path(__file__).parent
_VIRTUAL_CLOCK = "time-travel=inf-cpu"
_NO_CLOCK = "this kernel has no virtual clock: what else this machine does changes what is measured"
# The root is this machine's, through hostfs; what is said goes to the first console.
_START = (
    "mem=2G root=/dev/root rootfstype=hostfs hostfs=/ rw quiet"
    " console=tty0 con=null con0=null,fd:1 PYTHONDONTWRITEBYTECODE=1"
)
_SOJOURN = (sys.executable, "-m", "sojourn")
_SWEPT = ("workload.parallel", "scheme.queue.kind")
_FIGURES = ("mean wait [ms]", "p95 of wait [ms]", "goodput [Mb/s]", "sent again [1/s]")


def main() -> None:
    """Measure, simulate, and print both side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="linux.uml", help="the kernel, a program")
    parser.add_argument("--study", type=Path, default=_HERE / "study.toml")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--out", type=Path, default=Path("out/kernel-queues"))
    asked = parser.parse_args()
    kernel = which(asked.kernel)
    if kernel is None:
        click.echo(f"skipped: there is no {asked.kernel} (Debian's package user-mode-linux)")
        return
    out = asked.out.resolve()
    measured, simulated = out / "kernel", out / "simulator"
    out.mkdir(parents=True, exist_ok=True)
    study = [str(asked.study.resolve())]
    study += [word for setting in asked.settings for word in ("--set", setting)]
    inside(kernel, out, [*_SOJOURN, "measure", "fabric", *study, "--quiet", "--out", str(measured)])
    subprocess.run([*_SOJOURN, "run", *study, "--quiet", "--out", str(simulated)], check=True)
    for line in table(StoredRun.open(measured), StoredRun.open(simulated)):
        click.echo(line)


def inside(kernel: str, folder: Path, command: list[str]) -> None:
    """Let a kernel run a command on this machine's files, as the root of its own.

    Raises:
        SystemExit: the command failed; the folder has what it said.
    """
    told = subprocess.run([kernel, "--help"], capture_output=True, check=False, text=True)
    clock = [_VIRTUAL_CLOCK] if "time-travel" in told.stdout + told.stderr else []
    if not clock:
        click.echo(_NO_CLOCK)
    # a kernel's command line knows no spaces inside a word
    (folder / "command.sh").write_text(shlex.join(command), encoding="utf-8")
    code = folder / "code"
    code.unlink(missing_ok=True)
    with (folder / "kernel.log").open("wb") as log:
        subprocess.run(
            [kernel, *_START.split(), *clock, f"init={_HERE / 'init.sh'}", "--", folder],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if not code.exists() or code.read_text(encoding="ascii") != "0\n":
        raise SystemExit(f"the measurement failed: {folder / 'kernel.log'} says why")


def table(measured: StoredRun, simulated: StoredRun) -> Iterator[str]:
    """Two lines for each case: means of replications, with half of their 95 % intervals."""
    yield f"| | | {' | '.join(_FIGURES)} |"
    yield f"| --- | --- | {' | '.join(['---:'] * len(_FIGURES))} |"
    kernels, ours = figures_by_case(measured), figures_by_case(simulated)
    for case, own in ours.items():
        yield f"| {case} | kernel | {' | '.join(interval(values) for values in kernels[case].T)} |"
        yield f"| | simulator | {' | '.join(interval(values) for values in own.T)} |"


def interval(values: Values) -> str:
    """Their mean, and half of its 95 % interval."""
    half = student_t(values.size - 1) * values.std(ddof=1) / np.sqrt(values.size)
    return f"{values.mean():.2f} ± {half:.2f}"


def figures_by_case(run: StoredRun) -> dict[str, Values]:
    """`_FIGURES` of each case, a replication a row."""
    found: dict[str, list[list[float]]] = {}
    for record in run.ledger:
        flows, kind = (record.parameters[name] for name in _SWEPT)
        name = f"{flows} x {kind}"
        found.setdefault(name, []).append(figures(run, record))
    return {name: np.array(values) for name, values in found.items()}


def figures(run: StoredRun, record: Record) -> list[float]:
    """`_FIGURES` of one case and replication, at the slow port."""
    wait = waits_ms(run, record)
    flows = rows.read(run.directory.rows(*record.key))
    carried, again = (rows.numbers(flows[name]).sum() for name in ("goodput_bps", "retransmits"))
    window_s = asked(record, "workload.window") / PS_PER_S
    return [wait.mean(), np.quantile(wait, 0.95), carried / 1e6, again / window_s]


def waits_ms(run: StoredRun, record: Record) -> Values:
    """How long the bytes that wait at the slow port take to send, at each look in the window.

    In a queue that serves in order of arrival, that is what a packet that comes then waits. In any
    queue its mean is the packets' mean wait (Little's law), where the port is busy all the time.
    """
    series = rows.read(run.directory.series(*record.key))
    at, port, waiting = (rows.numbers(series[n]) for n in ("at_ps", "port", "waiting_bytes"))
    begins, every = asked(record, "workload.warm_up"), asked(record, "sample")
    seen = (port == port.max()) & (at > begins)
    looks = np.zeros(max(asked(record, "workload.window") // every, seen.sum()))
    looks[: seen.sum()] = waiting[seen]  # a port that was idle has no row
    return looks * 8e3 / asked(record, "topology.uplink")


def asked(record: Record, name: str) -> int:
    """A quantity among the parameters of a case."""
    return quantity(str(record.parameters[name]))


if __name__ == "__main__":
    main()
