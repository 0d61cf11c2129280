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

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("papers/*/*.md")])
_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def studies() -> Iterator[object]:
    """The whole studies; not those that name a variant which the page says how to add."""
    for page in sorted(HOW_TO.glob("*.md")):
        for place, block in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
            if {"[topology]", "[workload]"} <= {*block.split()} and not page.stem.startswith(
                "add-a-"
            ):
                yield pytest.param(block, id=f"{page.stem}-{place}")


@pytest.mark.parametrize("study", [*studies()])
def test_a_study_on_a_page_is_a_study(study):
    assert _core.Study.parse(study, "page.toml", []).cases


def sojourn_lines() -> Iterator[object]:
    """Every `sojourn` command in a block of shell, on any page."""
    for page in PAGES:
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


def threads() -> Iterator[object]:
    """Pages that do something, each with those behind it that take up what it leaves."""
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    run = [page for page in PAGES if pages.has_what_runs(texts[page])]
    for first in run:
        if not pages.before(texts[first]):
            after = [(page, ROOT / "docs" / (pages.before(texts[page]) or "")) for page in run]
            then = [page for page, before in after if before == first]
            yield pytest.param([first, *then], id=first.stem)


# What stands on a page as an answer is what comes, to the letter: UPDATE_DOCS=1 writes it anew.
@pytest.mark.parametrize("thread", [*threads()])
def test_pages_can_be_followed(command, tmp_path, monkeypatch, thread):
    def run(words):
        result = command(*words[1:])
        return result.code, result.out + result.err

    for folder in ("docs", "papers"):
        tmp_path.joinpath(folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for page in thread:
        text = page.read_text(encoding="utf-8")
        came = pages.follow(text, tmp_path, run)
        if os.environ.get("UPDATE_DOCS"):
            page.write_text(came, encoding="utf-8")
        assert came == text
