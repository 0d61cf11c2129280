"""Whether the tree is what a release can be made of: `make release` asks first.

The version of Cargo.toml has a section of its own in CHANGELOG.md, with a date; everything is
committed; no tag has that name. Prints the section: the text of the release.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Print the section, or say what is missing and exit with code 2."""
    cargo = tomllib.loads(Path("Cargo.toml").read_text("utf-8"))
    version = cargo["workspace"]["package"]["version"]
    section = _section(Path("CHANGELOG.md").read_text("utf-8"), version)
    faults = []
    if section is None:
        faults.append(f"CHANGELOG.md: expected a section ## [{version}] - YEAR-MONTH-DAY")
    elif not section:
        faults.append(f"CHANGELOG.md: nothing in the section of {version}")
    if _git("status", "--porcelain"):
        faults.append("git status: expected everything committed")
    if _git("tag", "--list", f"v{version}"):
        faults.append(f"git tag: v{version} is there already; Cargo.toml wants a new version")
    if faults:
        sys.stderr.write("".join(f"release: {fault}\n" for fault in faults))
        sys.exit(2)
    sys.stdout.write(f"{section}\n")


def _section(changelog: str, version: str) -> str | None:
    """The text below a version's head, up to the next."""
    head = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    found = re.search(rf"{head}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found and found[1].strip()


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
