"""The files that the change at hand touches."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def touched() -> set[str]:
    """The files that the change touches, against the main branch or, on it, the commit before."""
    for base in ("origin/main", "HEAD~1"):
        found = subprocess.run(
            ["git", "diff", "--name-only", base],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
        )
        if found.returncode == 0 and found.stdout:
            return set(found.stdout.splitlines())
    return set()
