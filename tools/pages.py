"""Pages that add a part, followed to the letter: `make pages`.

A block of such a page whose title is a path is a patch of that file (`diff`, whose hunks begin with
`@@` alone) or a new file (all other kinds). In a fresh checkout of the last commit all blocks are
applied, the study crate and the page's crates are compiled and tested, and the first case of the
page's study is simulated. What that took, in files and lines, has to be what the page says:
`Counted: 1 file, 2 lines`. With `--touched` all blocks are applied and counted, and only a page
that the change touches is compiled, without tests.
"""

import argparse
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from changes import touched

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "target/pages"
TREE = BUILD / "tree"
PAGES = sorted(ROOT.glob("docs/how-to/add-a-*.md"))

_BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
_COUNTED = re.compile(r"^Counted: (.+)\.$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of code of a page, and the file that its title names."""

    kind: str
    file: str | None
    text: str


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page, in order."""
    for found in _BLOCK.finditer(page):
        yield Block(found["kind"], found["title"], found["text"])


def patch(block: Block) -> str:
    """A block of `diff` as `git apply` reads it: hunks say nothing about where they stand."""
    hunks = re.sub(r"^@@$", "@@ -2 +2 @@", block.text, flags=re.MULTILINE)
    return f"--- a/{block.file}\n+++ b/{block.file}\n{hunks}"


def packages(found: list[Block]) -> Iterator[str]:
    """The crates that are tested: that of studies, and those whose manifests the page has."""
    yield "sojourn-study"
    for block in found:
        if block.file and block.kind == "toml" and Path(block.file).name == "Cargo.toml":
            yield str(tomllib.loads(block.text)["package"]["name"])


def counted(status: str, numbers: str) -> str:
    """What was added, of `git status --porcelain -uall` and `git diff --numstat`."""
    files = sum(line.startswith("??") for line in status.splitlines())
    lines = sum(int(line.split()[0]) for line in numbers.splitlines())
    return f"{files} file{'' if files == 1 else 's'}, {lines} line{'' if lines == 1 else 's'}"


def run(*command: str, given: str | None = None) -> str:
    """What a command says that runs in the checkout.

    Raises:
        subprocess.CalledProcessError: it failed; its output says why.
    """
    done = subprocess.run(
        command, cwd=TREE, input=given, capture_output=True, text=True, check=True
    )
    return done.stdout


def apply(text: str) -> str:
    """Applies a page's blocks; what is wrong with its count, nothing where it holds.

    Raises:
        subprocess.CalledProcessError: a patch does not fit.
    """
    for block in blocks(text):
        if block.file and block.kind == "diff":
            run("git", "apply", "--recount", "-", given=patch(block))
        elif block.file:
            (TREE / block.file).parent.mkdir(parents=True, exist_ok=True)
            (TREE / block.file).write_text(block.text)
    took = counted(run("git", "status", "--porcelain", "-uall"), run("git", "diff", "--numstat"))
    said = _COUNTED.search(text)
    if said is None or said[1] != took:
        return f"expected `Counted: {took}.`, not {said[0] if said else 'nothing'}"
    return ""


def simulate(text: str, *options: str) -> None:
    """Compiles what was applied and simulates the first case of the page's study.

    Raises:
        subprocess.CalledProcessError: it does not compile, or the study is refused.
    """
    for block in blocks(text):
        if block.kind == "toml" and not block.file:
            (TREE / "study.toml").write_text(block.text)
            study = ("--package", "sojourn-study", "--example", "first_case")
            run("cargo", "run", "--quiet", *study, *options, "--", "study.toml")


def follow(text: str) -> str:
    """What is wrong with a page, its crates' tests included; nothing where it holds.

    Raises:
        subprocess.CalledProcessError: a command failed; its output says why.
    """
    wrong = apply(text)
    target = ("--target-dir", str(BUILD / "target"))
    for package in packages([*blocks(text)]):
        run("cargo", "test", "--quiet", "--package", package, *target)
    simulate(text, *target)
    return wrong


# Crates of others are there already, as tests use them; what the page changes is compiled quickly.
QUICKLY = (
    *("--target-dir", str(ROOT / "target")),
    *("--config", "profile.dev.opt-level=0"),
    *("--config", 'profile.dev.package."*".opt-level=2'),
)


def look_at(text: str, *, is_touched: bool, deadline: float) -> tuple[str, str]:
    """What is wrong with a page, and how far it was followed.

    Its blocks are applied and counted in any case. If the change touches it and there is time, it
    is compiled too, and its study's first case simulated.

    Raises:
        subprocess.CalledProcessError: a command failed; its output says why.
    """
    wrong = apply(text)
    if not is_touched:
        return wrong, "can be applied"
    if time.monotonic() > deadline:
        return wrong, "can be applied; no time is left to compile it"
    simulate(text, *QUICKLY)
    return wrong, "can be applied and simulated"


def touches(page: str, text: str, changed: set[str]) -> bool:
    """Whether a change of these files touches a page, or what it edits."""
    return page in changed or any(block.file in changed for block in blocks(text))


def main() -> int:
    """Follows each page; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--touched",
        type=float,
        metavar="SECONDS",
        help="compile only the pages that the change touches, and none after so long",
    )
    seconds = parser.parse_args().touched
    changed = touched() if seconds is not None else set()
    deadline = time.monotonic() + (seconds or 0)
    code = 0
    # One checkout for all: what a page leaves as it is need not be compiled again for the next.
    checkout("add", "--quiet", "--detach", "--force", str(TREE), "HEAD")
    try:
        for page in PAGES:
            run("git", "checkout", "--quiet", "--force", "HEAD")
            run("git", "clean", "--quiet", "--force", "-d")
            text, how = page.read_text(), "holds"
            is_touched = touches(page.relative_to(ROOT).as_posix(), text, changed)
            try:
                if seconds is None:
                    wrong = follow(text)
                else:
                    wrong, how = look_at(text, is_touched=is_touched, deadline=deadline)
            except subprocess.CalledProcessError as error:
                wrong = f"{' '.join(error.cmd)}\n{error.stderr or error.stdout}"
            sys.stderr.write(f"{page.name}: {wrong or how}\n")
            code = code or bool(wrong)
    finally:
        checkout("remove", "--force", str(TREE))
    return int(code)


def checkout(*command: str) -> None:
    """Adds or removes the checkout; one that an earlier run left is removed."""
    if command[0] == "add":
        shutil.rmtree(TREE, ignore_errors=True)
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
    subprocess.run(["git", "worktree", *command], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
