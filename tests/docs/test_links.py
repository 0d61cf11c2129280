"""Links of pages lead to files of this repository, and to headings that exist."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("papers/*/*.md")])

_NOT_TEXT = re.compile(r"<!--.*?-->|^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\s*([^)\s]+)\s*\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# Pages that `make docs` generates.
BUILT = "docs/reference/parts/"


def anchor(heading):
    """The name of a heading in a link, as Python-Markdown and GitHub make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


@cache
def anchors(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {anchor(it) for it in _HEADING.findall(text)}


def broken(text, page):
    """Links of a page's text that lead nowhere."""
    for link in _LINK.findall(_NOT_TEXT.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if target.is_relative_to(ROOT / BUILT):
            continue
        if not target.exists() or (heading and heading not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_a_page_lead_somewhere(page):
    assert [*broken(page.read_text(encoding="utf-8"), page)] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[code](../crates/fabric/src/lib.rs) and [a page](architecture.md#code-map)", []),
        ("[code](../crates/fabric/src/library.rs)", ["../crates/fabric/src/library.rs"]),
        ("[a heading](architecture.md#map-of-code)", ["architecture.md#map-of-code"]),
        ("[elsewhere](https://example.org/none)", []),
        ("`[not a link](none.md)`", []),
    ],
)
def test_a_broken_link_is_found(text, wrong):
    assert [*broken(text, ROOT / "docs/index.md")] == wrong
