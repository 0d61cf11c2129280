"""Words of the handbook, page by page: `python tools/words.py`.

A word is what a reader sees as text: tables and captions count, code and its output do not. The
users' handbook is every page of the navigation outside the part for developers. The pages of parts
are generated from parameters, so they are not counted.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DEVELOPERS = "For developers"
GENERATED = "reference/parts/"
LIMIT = 45_000

_NOT_TEXT = re.compile(r"<!--.*?-->|^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_WORD = re.compile(r"\S*\w\S*")


def words(page: str) -> int:
    """The number of words that a reader of a page sees."""
    return len(_WORD.findall(_LINK.sub(r"\1", _NOT_TEXT.sub("", page))))


def pages(nav: Any) -> Iterator[str]:
    """The pages of a navigation, in order."""
    if isinstance(nav, str):
        yield nav
    for entry in nav if isinstance(nav, list) else nav.values() if isinstance(nav, dict) else ():
        yield from pages(entry)


def handbook(root: Path) -> dict[str, list[str]]:
    """The pages for users and those for developers."""
    nav = tomllib.loads(root.joinpath("zensical.toml").read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = {"users": [], "developers": []}
    for entry in nav["project"]["nav"]:
        group = "developers" if DEVELOPERS in entry else "users"
        groups[group] += [it for it in pages(entry) if not it.startswith(GENERATED)]
    return groups


def counts(root: Path, names: list[str]) -> dict[str, int]:
    """The words of each page."""
    docs = root / "docs"
    return {name: words(docs.joinpath(name).read_text(encoding="utf-8")) for name in names}


def main() -> int:
    """Print the words of each page and of each part; exit code 1 if users have too many."""
    totals = {}
    for group, names in handbook(ROOT).items():
        of_pages = counts(ROOT, names)
        for name, number in sorted(of_pages.items(), key=lambda it: -it[1]):
            sys.stdout.write(f"{number:7,} {name}\n")
        totals[group] = sum(of_pages.values())
        sys.stdout.write(f"{totals[group]:7,} for {group}\n\n")
    return 1 if totals["users"] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
