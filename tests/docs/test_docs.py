"""The handbook: its studies can be run, its commands exist, its answers are those that come."""

import os
import re
import tomllib
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path

import click
import pytest

import pages
from sojourn.cli import commands
from sojourn.execution import inputs

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("papers/*/*.md")])
_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_block_is_run_or_says_why_not(page):
    assert [*pages.unexplained(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("page", "is_refused"),
    [
        ("<!-- not run -->\n```sh\nls\n```\n", True),
        ("<!-- not run: -->\n```sh\nls\n```\n", True),
        ("<!-- not run: minutes -->\n```sh\nls\n```\n", True),
        ("<!-- not run: for the reason above -->\n```sh\nls\n```\n", True),
        ("<!-- not run: it needs a disk -->\n```sh\nls\n```\n", False),
        ("```text\n3.688\n```\n", True),
        ("<!-- excerpt: of the means -->\n```text\n3.688\n```\n", False),
        ("```python\nprint(3.688)\n```\n\n```text\n3.688\n```\n", False),
        ("<!-- not run: it needs DuckDB here -->\n```python\n3\n```\n\n```text\n3\n```\n", True),
    ],
)
def test_a_bare_reason_is_refused(page, is_refused):
    assert bool([*pages.unexplained(page)]) == is_refused


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("size  ...  p99\nall        1.5\n", True),
        ("size  ...  p99\nall        1.6\n", False),
        ("DCTCP  all  1.5\nDCTCP  small  1.2\n", True),
        ("DCTCP  all  1.5\nTCP  small  1.2\n", False),
        ("all  10\nsize  mean\n", False),
        ("all  1.5  10\n", False),
    ],
)
def test_an_excerpt_has_lines_and_words_in_order(text, is_one):
    table = " scheme  size   mean  p99\n\n DCTCP   all      10  1.5\n         small     9  1.2\n"
    assert pages.is_excerpt(text, f"A title\n\n{table}") == is_one


def test_pictures_name_every_choice_of_their_command():
    page = (HOW_TO / "plot.md").read_text(encoding="utf-8")
    options = commands.get_command(None, "plot").params
    choices = [choice for it in options for choice in getattr(it.type, "choices", [])]
    assert [choice for choice in choices if f"`{choice}`" not in page] == []


def studies() -> Iterator[object]:
    """The whole studies; not those that name a variant which the page says how to add."""
    for page in sorted(HOW_TO.glob("*.md")):
        for place, block in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
            if {"[topology]", "[workload]"} <= {*block.split()} and not page.stem.startswith(
                "add-a-"
            ):
                yield pytest.param(block, id=f"{page.stem}-{place}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_toml_on_a_page_is_toml(page):
    for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        tomllib.loads(block)


@pytest.mark.parametrize("study", [*studies()])
def test_a_study_on_a_page_is_a_study(study):
    assert inputs.study(study, "page.toml", []).cases


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


# A run that takes long, as on a busy machine, also says how far it is.
_PROGRESS = re.compile(r"^\d+/\d+ cases, .*\n", re.MULTILINE)


# What stands on a page as an answer is what comes, to the letter: UPDATE_DOCS=1 writes it anew.
@pytest.mark.share
@pytest.mark.parametrize("thread", [*threads()])
def test_pages_can_be_followed(command, tmp_path, monkeypatch, thread):
    def run(words):
        result = command(*words[1:])
        said = result.out + _PROGRESS.sub("", result.err)
        return result.code, said.replace(str(tmp_path), "...")

    for folder in ("docs", "papers"):
        tmp_path.joinpath(folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for page in thread:
        text = page.read_text(encoding="utf-8")
        came = pages.follow(text, tmp_path, run)
        if os.environ.get("UPDATE_DOCS"):
            page.write_text(came, encoding="utf-8")
            continue
        assert came == text
