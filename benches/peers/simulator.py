"""A simulator of other people: what it lacks here, how it is run, and what it did."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sojourn._internal.errors import InputError

_FOLDER = Path(__file__).parents[1]


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
    """One simulator.

    Attributes:
        name: what it is called.
        missing: what it lacks on this machine; None if it can run.
        run: gives it what it reads, and brings what it did.
    """

    name: str
    missing: str | None
    run: Callable[[str], Outcome]


def in_python(name: str, package: str, program: str) -> Simulator:
    """A simulator that is a Python package, and the module of this folder that uses it."""
    try:
        name, missing = f"{name} {version(package)}", None
    except PackageNotFoundError:
        missing = f"the package {package}"

    def run(reads: str) -> Outcome:
        return outcome(ran(name, [sys.executable, "-m", f"peers.{program}"], reads))

    return Simulator(name, missing, run)


def ran(name: str, command: list[str], reads: str) -> str:
    """What a program prints.

    Raises:
        InputError: it failed.
    """
    done = subprocess.run(
        command, input=reads, cwd=_FOLDER, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.splitlines() or ["it said nothing"])[-1]
        raise InputError(f"{name} ended with {done.returncode}: {last}")
    return done.stdout


def outcome(said: str) -> Outcome:
    """An outcome, out of the JSON that a program prints."""
    return Outcome(**json.loads(said))
