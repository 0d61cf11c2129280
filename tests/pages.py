"""The handbook's pages as scripts: files that they tell the reader to write, commands with answers.

A comment before a block of TOML says where it goes: `<!-- write: buffers.toml -->` or, behind what
is there, `<!-- append: buffers.toml -->`. A block of `console` holds commands after `$` and, below
each, what it prints; an answer that is not shown is not compared.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:<!-- (?P<verb>write|append): (?P<file>\S+) -->\n)?"
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


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
            for line in block["text"].replace("\\\n", " ").splitlines():
                yield shlex.split(line, comments=True)


def follow(page: str, place: Path, run: Callable[[list[str]], str]) -> str:
    """Do what a page says in a directory; returns the page with the answers that came."""

    def done(block: re.Match[str]) -> str:
        if block["verb"]:
            mode = "w" if block["verb"] == "write" else "a"
            with place.joinpath(block["file"]).open(mode, encoding="utf-8") as file:
                file.write(block["text"])
        if block["kind"] != "console":
            return block[0]
        answered = ""
        for command in commands(block["text"]):
            said = run(command.words)
            shown = "".join(f"{line.rstrip()}\n" for line in said.strip().splitlines())
            answered += f"{command.line}\n{shown if command.answer else ''}"
        return f"```console\n{answered}```"

    return _BLOCK.sub(done, page)
