"""What claims put between quotation marks stands in the paper's text, as far as that is there."""

import sys
from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[2] / "papers"
sys.path.insert(0, str(PAPERS))

import quotations  # noqa: E402

TEXTS = PAPERS.parents[1] / "shared" / "papers"


def test_every_quotation_was_found_in_its_text():
    """`make papers` looks them up; a word changed since then is not among what it found."""
    listed = quotations.listed()
    missing = [one for one in quotations.quotations() if quotations.digest(*one) not in listed]
    assert missing == []
    said = [*quotations.quotations()]
    assert len(said) > 60
    for paper, words in said:
        first, *rest = words.split()
        assert quotations.digest(paper, " ".join([f"{first}s", *rest])) not in listed


def test_quotations_are_in_the_texts():
    if not TEXTS.is_dir():
        pytest.skip("the papers' texts are not beside this repository, in shared/papers")
    for paper, words in quotations.quotations():
        text = quotations.plain((TEXTS / f"{paper}.txt").read_text(encoding="utf-8"))
        assert quotations.is_in(words, text), words


def test_what_does_not_count_in_a_quotation():
    text = quotations.plain(
        "within $\\sim 10\\%$ of\nthe *Ideal* scheme \u2013 a factor of 2.5 \u2013 11 \\times"
    )
    assert quotations.is_in("within ~10% of the ideal scheme", text)
    assert quotations.is_in("the Ideal ... 2.5\u201311\u00d7", text)
    assert not quotations.is_in("2.5-11x ... the Ideal", text)
    assert not quotations.is_in("within 20% of the ideal scheme", text)
