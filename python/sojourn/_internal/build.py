"""Which sojourn this is: version, commit, and a name for exactly this build."""

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from sojourn._core import build_info

_PACKAGE = Path(__file__).parents[1]
_CODE = (".py", ".so", ".pyd")


def version() -> str:
    """The version of the package."""
    return str(build_info()["version"])


def commit(root: Path = _PACKAGE.parents[1]) -> str | None:
    """The commit of the checkout this package runs from, `-dirty` where it was edited since.

    Installed elsewhere, the commit that `make wheel` built it from. None where git has nothing to
    say, or another made the wheel.
    """
    if not (root / ".git").exists():
        return build_info().get("commit")
    describe = ["git", "--no-optional-locks", "-C", str(root), "describe", "--always", "--dirty"]
    try:
        said = subprocess.run(  # noqa: S603 - git, by its name
            [*describe, "--abbrev=40", "--exclude=*"],
            capture_output=True,
            check=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip() or None


@cache
def identity(package: Path = _PACKAGE) -> str:
    """A name for the code that runs: equal where every file of code in the package is equal.

    Two machines that say the same give the same rows for a case.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in package.rglob("*") if path.suffix in _CODE):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def described() -> str:
    """What `sojourn --version` says: version, commit where there is one, and the build."""
    known = commit()
    return f"{version()} ({f'commit {known}, ' if known else ''}build {identity()})"
