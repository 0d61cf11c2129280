"""Pages that add a part, followed to the letter: `make pages`.

A block of such a page whose title is a path is a patch of that file (`diff`, whose hunks begin with
`@@` alone) or a new file (all other kinds). In a fresh checkout of the last commit all blocks are
applied, the study crate and the page's crates are compiled and tested, and the first case of the
page's study is simulated. What that took, in files and lines, has to be what the page says:
`Counted: 1 file, 2 lines`.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "target/pages"
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


def follow(page: Path) -> str:
    """What is wrong with a page; nothing where it holds.

    Raises:
        subprocess.CalledProcessError: a command failed; its output says why.
    """
    text = page.read_text()
    tree = BUILD / page.stem

    def run(*command: str, given: str | None = None) -> str:
        done = subprocess.run(
            command, cwd=tree, input=given, capture_output=True, text=True, check=True
        )
        return done.stdout

    found = [*blocks(text)]
    for block in found:
        if block.file and block.kind == "diff":
            run("git", "apply", "--recount", "-", given=patch(block))
        elif block.file:
            (tree / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tree / block.file).write_text(block.text)
    took = counted(run("git", "status", "--porcelain", "-uall"), run("git", "diff", "--numstat"))
    target = ("--target-dir", str(BUILD / "target"))
    for package in packages(found):
        run("cargo", "test", "--quiet", "--package", package, *target)
    for block in found:
        if block.kind == "toml" and not block.file:
            (tree / "study.toml").write_text(block.text)
            study = ("--package", "sojourn-study", "--example", "first_case")
            run("cargo", "run", "--quiet", *study, *target, "--", "study.toml")
    said = _COUNTED.search(text)
    if said is None or said[1] != took:
        return f"expected `Counted: {took}.`, not {said[0] if said else 'nothing'}"
    return ""


def main() -> int:
    """Follows each page; the exit code."""
    code = 0
    for page in PAGES:
        tree = BUILD / page.stem
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", tree, "HEAD"], cwd=ROOT, check=True
        )
        try:
            wrong = follow(page)
        except subprocess.CalledProcessError as error:
            wrong = f"{' '.join(error.cmd)}\n{error.stderr or error.stdout}"
        finally:
            command = ["git", "worktree", "remove", "--force", tree]
            subprocess.run(command, cwd=ROOT, check=True)
        sys.stderr.write(f"{page.name}: {wrong or 'holds'}\n")
        code = code or bool(wrong)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
