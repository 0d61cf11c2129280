"""Lines of htsim's files as words, and numbers in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sojourn._internal.errors import InputError, one_line
from sojourn._internal.files import read_text

LARGEST_FILE = 10**8
"""In bytes: a matrix of a million connections has 35 MB."""

LARGEST_NUMBER = 10**15
_LONGEST_DIGITS = 16


@dataclass(frozen=True)
class Line:
    """A line that says something: its place, and its words."""

    file: str
    number: int
    words: tuple[str, ...]

    def refused(self, what: str) -> InputError:
        """The error that names this line."""
        return InputError(one_line(f"{self.file}: line {self.number}: {what}"))

    def whole(self, place: int, least: int = 0, most: int = LARGEST_NUMBER) -> int:
        """The whole number that the word at a place is.

        Raises:
            InputError: there is no such word, or it is no such number.
        """
        name = self.words[place - 1]
        if place >= len(self.words):
            raise self.refused(f"{name!r}, expected a whole number behind it")
        found = whole(self.words[place])
        if found is None or not least <= found <= most:
            expected = f"expected a whole number from {least:,} to {most:,}"
            raise self.refused(f"{name} {self.words[place]!r}, {expected}")
        return found


def lines_of(path: Path, what: str) -> Iterator[Line]:
    """The lines of a file that are neither empty nor comments.

    Raises:
        InputError: it cannot be read, is no text, or too large.
    """
    text = read_text(path, what, largest=LARGEST_FILE)
    for number, line in enumerate(text.splitlines(), 1):
        words = tuple(line.split())
        if words and not words[0].startswith("#"):
            yield Line(str(path), number, words)


def whole(word: str) -> int | None:
    """The whole number that a word is, if it is one of a few digits."""
    digits = word.isascii() and word.isdigit() and len(word) <= _LONGEST_DIGITS
    return int(word) if digits else None
