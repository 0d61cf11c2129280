"""Other simulators beside ours: the same study, and what a unit of it costs them.

Each is a program of its own in this folder, written as its users would write it, and runs where
what it needs is installed. They draw for themselves what a study leaves to chance, so their times
are near ours, not equal to them.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from sojourn._internal.errors import InputError
from sojourn._internal.vocabulary import models
from sojourn.bench import Cost


@dataclass(frozen=True)
class Outcome:
    """What one simulator did.

    Attributes:
        units: packets sent by ports; requests to an array.
        finished: jobs of which all was done.
        mean_ps: their mean sojourn time.
        cpu_s: processor time of the simulation alone.
        peak_mb: the most memory it held.
    """

    units: int
    finished: int
    mean_ps: float
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


@dataclass(frozen=True)
class Contest:
    """A benchmark that others can do too.

    Attributes:
        case: its name.
        task: of its study, what the others read, and what this project's engine does with it,
            without its costs.
        simulators: all of them, those that lack something too.
    """

    case: str
    task: Callable[[str], tuple[str, Outcome]]
    simulators: Callable[[], Sequence[Simulator]]


def contest(model: str) -> Contest:
    """The one of a model."""
    from sojourn.beside import array, fabric

    contests = {"fabric": fabric, "array": array}
    found = contests[model]
    return Contest(found.CASE, found.task, found.simulators)


def measure(
    model: str,
    studies: Mapping[str, str],
    *,
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> list[Cost]:
    """What the benchmark that all can do costs each simulator that is installed.

    Args:
        model: of the benchmarks.
        studies: those that were asked for; without the one that all can do nothing is done.
        say: is told what is being done.
        warn: is told what is left out, and why.

    Raises:
        InputError: a simulator failed.
    """
    found = contest(model)
    if found.case not in studies:
        warn(f"beside: only {found.case} has others to stand beside")
        return []
    costs = []
    reads, _ = found.task(studies[found.case])
    for simulator in found.simulators():
        if simulator.missing:
            warn(f"{simulator.name}: left out, it lacks {simulator.missing}")
            continue
        say(f"{found.case}: {simulator.name}")
        done = simulator.run(reads)
        costs.append(
            Cost(
                case=f"{found.case} ({simulator.name})",
                unit=next(iter(models()[model].work)),
                units=done.units,
                cpu_s=done.cpu_s,
                per_cpu_s=done.units / done.cpu_s,
                ns_per_unit=done.cpu_s / done.units * 1e9,
                instructions_per_unit=None,
                peak_mb=done.peak_mb,
            )
        )
    return costs


def in_python(name: str, package: str, program: str) -> Simulator:
    """A simulator that is a Python package, and the module of this folder that uses it."""
    try:
        name, missing = f"{name} {version(package)}", None
    except PackageNotFoundError:
        missing = f"the package {package}"

    def run(reads: str) -> Outcome:
        return outcome(ran(name, [sys.executable, "-m", f"sojourn.beside.{program}"], reads))

    return Simulator(name, missing, run)


def ran(name: str, command: list[str], reads: str) -> str:
    """What a program prints.

    Raises:
        InputError: it failed.
    """
    done = subprocess.run(  # noqa: S603 - our own programs and the compiler
        command, input=reads, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.splitlines() or ["it said nothing"])[-1]
        raise InputError(f"{name} ended with {done.returncode}: {last}")
    return done.stdout


def outcome(said: str) -> Outcome:
    """An outcome, out of the JSON that a program prints."""
    return Outcome(**json.loads(said))
