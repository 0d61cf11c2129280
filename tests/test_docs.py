"""The handbook: its studies can be run, its commands exist, its answers are those that come."""

import os
import re
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path

import click
import pytest

import pages
from sojourn import _core
from sojourn.cli import commands

ROOT = Path(__file__).parents[1]
HOW_TO = ROOT / "docs" / "how-to"
_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def studies() -> Iterator[object]:
    """The whole studies; not those that name the variants one page says how to add."""
    for page in sorted(HOW_TO.glob("*.md")):
        for place, block in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
            if {"[topology]", "[workload]"} <= {*block.split()} and page.stem != "add-a-variant":
                yield pytest.param(block, id=f"{page.stem}-{place}")


@pytest.mark.parametrize("study", [*studies()])
def test_a_study_on_a_page_is_a_study(study):
    assert _core.Study.parse(study, "page.toml", []).cases


def sojourn_lines() -> Iterator[object]:
    """Every `sojourn` command in a block of shell, on any page."""
    for page in sorted(
        [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("papers/*/*.md")]
    ):
        for line in pages.shell_lines(page.read_text(encoding="utf-8")):
            words = [*dropwhile(lambda word: "=" in word, line)]  # what is set for the command
            if words and Path(words[0]).name == "sojourn":
                yield pytest.param(words[1:], id=f"{page.stem}: {' '.join(words[1:])}")


@pytest.mark.parametrize("words", [*sojourn_lines()])
def test_a_command_on_a_page_is_a_command(words):
    group, context = commands, commands.make_context("sojourn", list(words))
    while isinstance(group, click.Group):
        name, group, words = group.resolve_command(context, words)
        if not isinstance(group, click.Group):
            group.make_context(name, list(words), parent=context)


# What stands on such a page is what comes, to the letter: UPDATE_DOCS=1 writes it anew.
@pytest.mark.parametrize("page", ["tutorial.md", "how-to/read-mail-logs.md"])
def test_the_answers_on_a_page_are_those_that_come(command, tmp_path, monkeypatch, page):
    def run(words):
        assert words[0] == "sojourn"
        result = command(*words[1:])
        return result.out + result.err

    path = ROOT / "docs" / page
    text = path.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    came = pages.follow(text, tmp_path, run)
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(came, encoding="utf-8")
    assert came == text
