"""The handbook's pages as scripts: files that they tell the reader to write, commands with answers.

A comment before a block says what it does here: `<!-- write: buffers.toml -->` that it is that
file, `<!-- append: buffers.toml -->` that it goes behind what is there, `<!-- with: --set
workload.flows=200 -->` what its simulations are given beside what stands there, so that they take a
second, `<!-- not run: WHY -->` that nothing of it is done, `<!-- excerpt: WHICH -->` that it is
some lines of what the last command printed, with some of their columns.

A block of `console` holds commands after `$` and, below each, what it prints; an answer that is not
shown is not compared. One of `sh` holds commands alone. What a block of `python` prints is the
block of `text` that follows it, if one does. Any other block of `text` is an excerpt, or says why
nothing compares it.
"""

import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:<!-- (?P<verb>write|append|with|not run|excerpt): (?P<about>[^\n]+) -->\n)?"
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

_AFTER = re.compile(r"^<!-- after: (\S+) -->$", re.MULTILINE)
_NOT_RUN = re.compile(r"<!--\s*not run(?P<why>.*?)-->", re.DOTALL)
_SIMULATE = {"run", "measure", "estimate"}


@dataclass(frozen=True)
class Command:
    """A command of a page, the line after which its answer stands, and that answer."""

    words: list[str]
    line: str
    answer: str


def commands(text: str) -> Iterator[Command]:
    """The commands of a block of `console`, or of `sh`, whose lines are all commands."""
    for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        line, _, answer = part.partition("\n")
        if line.startswith("$ "):
            yield Command(shlex.split(line[2:], comments=True), line, answer)


def shell_lines(page: str) -> Iterator[list[str]]:
    """The words of every line of a page's `sh` blocks, continued lines together."""
    for block in _BLOCK.finditer(page):
        if block["kind"] == "sh":
            yield from _lines(block["text"])


def _lines(text: str) -> Iterator[list[str]]:
    for line in text.replace("\\\n", " ").splitlines():
        yield shlex.split(line, comments=True)


def before(page: str) -> str | None:
    """The page whose results this one takes up: `<!-- after: PAGE -->`."""
    found = _AFTER.search(page)
    return found and found[1]


def has_what_runs(page: str) -> bool:
    """Whether `follow` would do anything of a page."""
    return any(
        block["verb"] != "not run"
        and (block["kind"] in ("console", "python") or "sojourn " in block["text"])
        for block in _BLOCK.finditer(page)
        if block["kind"] in ("console", "python", "sh")
    )


def unexplained(page: str) -> Iterator[str]:
    """Blocks that nothing runs or compares, and that do not say why in their own words."""
    for mark in _NOT_RUN.finditer(page):
        words = re.findall(r"[\w/.-]+", mark["why"])
        if len(words) < 4 or words[-1] == "above":
            yield mark[0]
    before = None
    for block in _BLOCK.finditer(page):
        if block["kind"] == "text" and not block["verb"] and before != "python":
            yield block["text"]
        before = None if block["verb"] == "not run" else block["kind"]


def follow(page: str, place: Path, run: Callable[[list[str]], tuple[int, str]]) -> str:
    """Do what a page says in the directory where this process is; the page with what then came.

    `run` is called with the words of each `sojourn` command; it returns the exit code, which in a
    block of `sh` may be 1, the verdict no, and what was printed.
    """
    names: dict[str, object] = {}
    printed: str | None = None
    last = ""

    def done(block: re.Match[str]) -> str:
        nonlocal printed, last
        kind, text, verb = block["kind"], block["text"], block["verb"]
        answer, printed = printed, None
        head = block[0].partition("```")[0]
        if verb == "not run":
            return block[0]
        if verb in ("write", "append"):
            with place.joinpath(block["about"]).open("w" if verb == "write" else "a") as file:
                file.write(text)
        more = shlex.split(block["about"]) if verb == "with" else []

        def do(words: list[str]) -> tuple[int, str]:
            return run([*words, *(more if words[1] in _SIMULATE else [])])

        if kind == "sh":
            for words in _lines(text):
                if words[:1] == ["sojourn"]:
                    code, said = do(words)
                    assert code in (0, 1), f"{shlex.join(words)}: {said}"
        elif kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(text, names)  # noqa: S102 - the handbook's own
            printed = out.getvalue() or None
        elif verb == "excerpt":
            return block[0] if is_excerpt(text, last) else f"{head}```text\n{last}```"
        elif kind == "text" and answer is not None:
            return f"{head}```text\n{_trimmed(answer)}```"
        elif kind == "console":
            answered = ""
            for command in commands(text):
                last = _trimmed(do(command.words)[1].strip())
                answered += f"{command.line}\n{last if command.answer else ''}"
            return f"{head}```console\n{answered}```"
        return block[0]

    return _BLOCK.sub(done, page)


def is_excerpt(text: str, whole: str) -> bool:
    """Whether each line of the text has some words of a line of the whole, both in their order.

    A line that leaves its first columns out has those of the line above it.
    """
    lines = _filled(whole)
    for part in text.splitlines():
        words = [word for word in part.split() if word != "..."]
        if words and not any(_has(line.split(), words) for line in lines):
            return False
    return True


def _filled(table: str) -> Iterator[str]:
    above = ""
    for line in table.splitlines():
        indent = len(line) - len(line.lstrip())
        above = above[:indent].ljust(indent) + line[indent:] if line else ""
        yield above


def _has(line: list[str], words: list[str]) -> bool:
    rest = iter(line)
    return all(word in rest for word in words)


def _trimmed(said: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in said.strip("\n").splitlines())
