"""The parts of a page, each with the mark behind it, and the measured numbers in each.

A number is taken as measured where it has a unit of time, rate or share, has decimals, is an
interval, or fills a cell of a table; in a finding, always. Sizes are not, nor are numbers in code,
in "quotations", in headings and in the first column of a table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

_MINUS = "\N{MINUS SIGN}"
_ATOM = rf"[+{_MINUS}-]?\d+(?:,\d{{3}})*(?:\.\d+)?(?![\d/]|[.,]\d)"
_SIZE = re.compile(r"\s?(?:[kKMGT]i?B|B|bytes)\b")
_UNIT = (
    r"x|[nuµm]?s|minutes?|hours?|seconds?|days?|%|per\s+cent|times|[kMG]?b/s|[kMG]B/s|IOPS"
    r"|(?:requests)?/m?s|(?:an?|per)\s+(?:second|hour)"
)
_NUMBER = re.compile(
    rf"(?<![\w.,/#:-])(?P<text>\[{_ATOM},\s+{_ATOM}\]|{_ATOM}\s+±\s+{_ATOM}"
    rf"|{_ATOM}(?:\s+to\s+|[-\N{{EN DASH}}]){_ATOM}|{_ATOM})(?P<unit>\s?(?:{_UNIT}))?(?!\w)"
)
# Words between numbers that share the unit of the last.
_JOINED = re.compile(r"\s*(?:,|,?\s+and|,?\s+or|\s+to|\s+against|/)\s+")
# Words before a number that is a name.
_NAMED = re.compile(
    r"\b(?:loads?|sections?|figures?|tables?|decisions?|RFC|Linux|Python|Debian|version|step)"
    r"(?:\s+of)?\s+$",
    re.IGNORECASE,
)
_STARTS_WITH_A_NUMBER = re.compile(rf"[\s*(\[]*[+{_MINUS}-]?\d")

_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_ANSWER = re.compile(
    r"(?P<not_run><!-- not run: [^\n]* -->\n)?^ *```(?:text|console)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
# A paragraph, a table or an item of a list.
_PASSAGE = re.compile(
    r"^[^\n]*\S[^\n]*\n?(?:^(?! *(?:[-*]|\d+\.) )[^\n]*\S[^\n]*\n?)*", re.MULTILINE
)
_MARK = re.compile(r"<!-- (?P<kind>results|given): (?P<about>.*?) -->", re.DOTALL)
_FINDING = re.compile(r'^finding = "(?P<text>.*)"(?: # results: (?P<rows>.*))?$', re.MULTILINE)
_GIVEN_OF_FINDINGS = re.compile(r"^# given: (.*)$", re.MULTILINE)
_NO_PROSE = [
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"`[^`]*`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r'"[^"]*"'),
    re.compile(r"^#+ .*$", re.MULTILINE),
    re.compile(r"\b9\d %(?=\s+(?:confidence\s+)?intervals?\b)"),
]


@dataclass(frozen=True)
class Number:
    """A number of a text: where it starts, how it is printed, and whether it is measured."""

    start: int
    text: str
    is_measured: bool


@dataclass
class Segment:
    """A part of a page, as far as one mark, and the rows that the mark names."""

    page: Path
    start: int  # in the page
    text: str
    rows: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)  # numbers that its page sets or quotes
    passage: str = ""  # the paragraph that it is part of; of a table, with the paragraph above
    offset: int = 0  # where it starts in its passage
    answers: str = ""  # what the blocks of its page print

    @property
    def is_table(self) -> bool:
        """Whether it is a table of Markdown."""
        return self.text.lstrip().startswith("|")

    def numbers(self) -> list[Number]:
        """All numbers of the text; those that the page lists as given are not measured."""
        shown = hidden(self.text)
        not_given = shown
        for phrase in self.given:
            not_given = re.sub(as_printed(phrase), _blank, not_given)
        cells = value_cells(shown)
        numbers: list[Number] = []
        for match in reversed([*_NUMBER.finditer(shown)]):
            cell = next((it for it in cells if it[0] <= match.start() < it[1]), None)
            is_measured = (
                bool(not_given[match.start() : match.end()].strip())
                and not _NAMED.search(shown[: match.start()])
                and (not self.is_table or cell is not None)
                and self._looks_measured(match, shown, cell, numbers[:1])
            )
            text = " ".join(match[0].split())
            numbers.insert(0, Number(match.start(), text, is_measured))
        return numbers

    def _looks_measured(
        self, match: re.Match[str], shown: str, cell: tuple[int, int] | None, after: list[Number]
    ) -> bool:
        """Whether a number's form is that of a measured one; `after` has the number behind it."""
        if self.page.suffix == ".toml":
            return True
        if _SIZE.match(shown, match.end()):
            return False
        if match["unit"] or re.search(r"[.\[±]", match["text"]):
            return True
        if cell is not None and not re.search(r"[A-Za-z]", _NUMBER.sub("", shown[slice(*cell)])):
            return True
        return any(
            it.is_measured and _JOINED.fullmatch(shown[match.end() : it.start]) is not None
            for it in after
        )


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"\S", " ", match[0])


def as_printed(phrase: str) -> str:
    """A pattern of words with any space between them; no number goes on before or behind it."""
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    before = r"(?<![\w.])" if phrase[0].isalnum() else ""
    return rf"{before}{words}(?!\w|[.,]\d)"


def hidden(text: str) -> str:
    """The text, as long as before, with spaces for what is not prose."""
    for pattern in _NO_PROSE:
        text = pattern.sub(_blank, text)
    return text


def value_cells(text: str) -> list[tuple[int, int]]:
    """Where a table's cells are that start with a number; not its head and its first column."""
    cells = []
    lines = text.splitlines(keepends=True)
    head = next((place for place, it in enumerate(lines) if re.match(r" *\|[ :|-]+$", it)), -1)
    start = 0
    for place, line in enumerate(lines):
        if place > head and line.lstrip().startswith("|"):
            bars = [start + it.start() for it in re.finditer(r"\|", line)]
            cells += [(left + 1, right) for left, right in pairwise(bars[1:])]
        start += len(line)
    return [it for it in cells if _STARTS_WITH_A_NUMBER.match(text[slice(*it)])]


def segments(page: Path, text: str) -> list[Segment]:
    """The parts of a page, each as far as a mark or the end of its paragraph."""
    if page.suffix == ".toml":
        given = [it for line in _GIVEN_OF_FINDINGS.findall(text) for it in listed(line)]
        return [
            Segment(page, it.start("text"), it["text"], listed(it["rows"] or ""), given, it["text"])
            for it in _FINDING.finditer(text)
        ]
    answers = "".join(it["text"] for it in _ANSWER.finditer(text) if not it["not_run"])
    text = _FENCE.sub(_blank, text)
    given = [it for kind, about in _MARK.findall(text) if kind == "given" for it in listed(about)]
    parts: list[Segment] = []
    before = ""
    for passage in _PASSAGE.finditer(text):
        above = before if passage[0].lstrip().startswith("|") else ""
        start, end = passage.span()

        def part(start: int, end: int, rows: str = "", shift: int = len(above) - start) -> Segment:
            whole = above + passage[0]  # noqa: B023 - called in this turn alone
            said = text[start:end]
            return Segment(page, start, said, listed(rows), given, whole, start + shift, answers)

        for mark in _MARK.finditer(text, start, end):
            if mark["kind"] != "results":
                continue
            if text[start : mark.start()].strip():
                parts.append(part(start, mark.start(), mark["about"]))
            elif parts:
                parts[-1].rows += listed(mark["about"])
            start = mark.end()
        if hidden(text[start:end]).strip():
            parts.append(part(start, end))
            before = passage[0]
    return parts


def listed(about: str) -> list[str]:
    """What a mark lists."""
    return [" ".join(it.split()) for it in re.split(r",\s+", about) if it.strip()]


def sentence(text: str, place: int) -> str:
    """The sentence around a place of a text."""
    starts = [it.end() for it in re.finditer(r"[.!?]\**\s+(?=[A-Z\[(*`])", text)]
    start = max((it for it in starts if it <= place), default=0)
    return text[start : min((it for it in starts if it > place), default=len(text))]


def is_printed(number: str, answers: str) -> bool:
    """Whether each part of the number is in the answers, or is one of theirs, rounded."""
    known = [it.replace(",", "") for it in re.findall(rf"(?<![\w.]){_ATOM}", answers)]

    def known_as(value: str) -> bool:
        places = len(value.partition(".")[2])
        return any(
            it == value
            or (len(it.partition(".")[2]) > places and f"{Decimal(it):.{places}f}" == value)
            for it in known
        )

    return all(known_as(it.replace(",", "")) for it in re.findall(_ATOM, number))
