"""What is installed beside sojourn, which verb wants it, and how to get it."""

import gzip
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sojourn._core import build_info


@dataclass(frozen=True)
class Finding:
    """One thing that a verb wants.

    `found` says which one is there and is None where none is; `get` how to get it.
    """

    name: str
    verb: str
    found: str | None
    get: str


def findings() -> Iterator[Finding]:
    """Everything that some verb wants, in the order of the verbs."""
    profile = str(build_info()["profile"])
    yield Finding(
        "optimised core",
        "speed",
        profile if profile == "release" else None,
        "make build, or pip install .",
    )
    for name, verb, probe, get in _WANTED:
        yield Finding(name, verb, probe(name), get)


def _program(name: str) -> str | None:
    """The first line that a program says of its version, or its path."""
    path = shutil.which(name)
    if path is None:
        return None
    try:
        said = subprocess.run(  # noqa: S603 - a program by its path
            [path, "-V" if name in ("ip", "tc") else "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return path
    lines = [line.strip() for line in said.stdout.splitlines() if line.strip()]
    return lines[0] if lines and said.returncode == 0 else path


def _package(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _root(_name: str) -> str | None:
    return "yes" if os.geteuid() == 0 else None


def _discipline(name: str) -> str | None:
    """How the kernel was built with a queue discipline, by the list of what it was built with."""
    for path in (Path("/proc/config.gz"), Path(f"/boot/config-{platform.release()}")):
        if path.exists():
            text = path.read_bytes()
            text = gzip.decompress(text) if path.suffix == ".gz" else text
            entry = rf"^CONFIG_NET_{name.upper()}=([ym])$".encode()
            built = re.search(entry, text, re.MULTILINE)
            return {b"y": "built in", b"m": "a module"}[built[1]] if built else None
    return None


_Probe = Callable[[str], str | None]
_WANTED: tuple[tuple[str, str, _Probe, str], ...] = (
    ("pandas", "data frames in notebooks", _package, "pip install 'sojourn[pandas]'"),
    ("numba", "controllers in Python, compiled", _package, "pip install 'sojourn[compiled]'"),
    ("distributed", "run --scheduler: a cluster", _package, "pip install 'sojourn[dask]'"),
    ("sojourn-mail", "mail: the list server", _package, 'pip install "sojourn[mail]"'),
    ("git", "the commit in meta.json", _program, "apt install git"),
    ("root", "measure fabric", _root, "sudo"),
    ("ip", "measure fabric", _program, "apt install iproute2"),
    ("tc", "measure fabric", _program, "apt install iproute2"),
    ("sch_codel", "measure fabric: codel", _discipline, "a kernel that has it"),
    ("sch_fq_codel", "measure fabric: fq-codel", _discipline, "a kernel that has it"),
    ("sch_pie", "measure fabric: pie", _discipline, "a kernel that has it"),
    ("sch_netem", "measure fabric: delay", _discipline, "a kernel that has it"),
    ("mpirun", "measure fabric: collectives", _program, "apt install openmpi-bin"),
    ("mpi4py", "measure fabric: collectives", _package, "pip install 'sojourn[mpi]'"),
    ("fio", "measure array", _program, "apt install fio"),
    ("valgrind", "bench: instructions", _program, "apt install valgrind"),
    ("g++", "bench --beside: ns-3", _program, "apt install g++ libns3-dev"),
    ("simpy", "bench --beside", _package, "pip install simpy"),
    ("ciw", "bench --beside", _package, "pip install ciw"),
    ("postfix", "the tests of sojourn mail, bench --beside", _program, "apt install postfix"),
    ("swaks", "the tests of sojourn mail", _program, "apt install swaks"),
    ("chromium", "the tests of sojourn report", _program, "apt install chromium"),
)
