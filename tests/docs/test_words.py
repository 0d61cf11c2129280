"""The handbook for users is short enough to be read, and every page has a place in one part."""

from pathlib import Path

import pytest

import words

ROOT = Path(__file__).parents[2]


def test_the_handbook_for_users_is_within_its_limit():
    users = words.counts(ROOT, words.handbook(ROOT)["users"])
    assert sum(users.values()) < words.LIMIT, sorted(users.items(), key=lambda it: -it[1])[:10]


def test_every_page_is_in_the_navigation_once():
    named = [it for part in words.handbook(ROOT).values() for it in part]
    there = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    there = {it for it in there if not it.startswith(words.GENERATED)}
    assert sorted(named) == sorted(there)


@pytest.mark.parametrize(
    ("page", "number"),
    [
        ("One word [and a link](to/some/page.md).", 5),
        ("Text.\n\n```sh\nsojourn run study.toml\n```\n\nMore.", 2),
        ("| load | 0.8 |\n| --- | --- |", 2),
        ("Text <!-- results: long.tail --> more - text.", 3),
    ],
)
def test_words_are_what_a_reader_sees(page, number):
    assert words.words(page) == number
