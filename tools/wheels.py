"""Whether the wheels in dist/ install and run without a compiler: `make release-check`.

Each has the tag of the oldest glibc that the project claims, and asks for no newer symbol. Then
they are installed in a fresh environment whose PATH has neither cargo nor a C compiler, from files
that are built already, and a study is run and shown there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

GLIBC = (2, 28)
"""The oldest glibc that the wheels run on: that of RHEL 8 and Debian 10."""

CLEAN = Path("target/clean")
FIRST = (
    ("sojourn", "run", "@pfabric/websearch-quick", "--set", "workload.flows=500", "--out", "out"),
    ("sojourn", "show", "out", "--by", "scheme,load"),
)
_VERSION = re.compile(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)")


def newest(library: bytes) -> tuple[int, int]:
    """The newest glibc whose symbols a library asks for."""
    return max(((int(a), int(b)) for a, b in _VERSION.findall(library)), default=(0, 0))


def faults(wheel: Path) -> Iterator[str]:
    """What keeps a wheel from running on the oldest system."""
    tag = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_"
    if tag not in wheel.name:
        yield f"{wheel.name}: expected {tag}"
    with zipfile.ZipFile(wheel) as packed:
        for name in (name for name in packed.namelist() if name.endswith(".so")):
            found = newest(packed.read(name))
            if found > GLIBC:
                yield f"{wheel.name}: {name} asks for glibc {found[0]}.{found[1]}"


def install(wheels: list[Path], extra: str) -> None:
    """Make a fresh environment with these wheels, and run the first study there."""
    shutil.rmtree(CLEAN, ignore_errors=True)
    venv.create(CLEAN, with_pip=True)
    bare = {**os.environ, "PATH": str(CLEAN.resolve() / "bin")}
    named = [f"{wheel.resolve()}{extra * wheel.name.startswith('sojourn-')}" for wheel in wheels]
    built = ["--only-binary", ":all:"]
    pip = ["python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *built]
    for command in ([*pip, *named], *FIRST):
        subprocess.run(command, cwd=CLEAN, env=bare, check=True)


def main() -> int:
    """Check the wheels that are named; the exit code."""
    wheels = [Path(name) for name in sys.argv[1:]]
    wrong = [fault for wheel in wheels for fault in faults(wheel)]
    if not wheels:
        wrong.append("no wheel: expected those of `make wheel`")
    sys.stderr.writelines(f"{fault}\n" for fault in wrong)
    if wrong:
        return 1
    install(wheels, "[compiled]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
