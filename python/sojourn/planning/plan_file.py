"""The text of a plan as Python reads it: its tables, and the line on which each key is set."""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

from sojourn._core import SpecError
from sojourn._internal.formats import toml_value

Path: TypeAlias = Sequence[str | int]

# The longest part of a value that a message repeats.
_SHOWN = 200
# Lines on which a statement may begin: a table, or a key. Some are inside a list or a text.
_START = re.compile(r"""\s*(\[\[?[\w\s."'-]+\]\]?\s*(#.*)?$|[\w"'][\w\s."'-]*=)""")
# The most such lines that are tried as the end of one statement.
_MOST_TRIES = 50
# A longer text, in characters, takes seconds to search.
_LONGEST = 1_000_000


@dataclass(frozen=True)
class PlanFile:
    """A plan's text, its name in messages, and its tables."""

    text: str
    source: str
    document: Mapping[str, Any]

    @staticmethod
    def read(text: str, source: str) -> "PlanFile | None":
        """Read a plan; None where it is no TOML, which the parser of studies explains."""
        try:
            return PlanFile(text, source, tomllib.loads(text))
        except (ValueError, RecursionError):
            return None

    @property
    def plan(self) -> Mapping[str, Any]:
        """The table `plan`; empty where there is none."""
        table = self.document.get("plan")
        return table if isinstance(table, dict) else {}

    def place(self, path: Path) -> str:
        """The file and the line on which `path` is set, or else the table around it."""
        inside = next(
            (path[:end] for end in range(len(path), 0, -1) if _has(self.document, path[:end])), ()
        )
        line = self._line(inside) if inside else None
        return self.source if line is None else f"{self.source}:{line}"

    def refused(self, path: Path, expected: str, value: object = None) -> SpecError:
        """The message about a value, or about a key that is missing where there is no value."""
        said = "is missing" if value is None else f"= {_cut(value)}"
        return SpecError(f"{self.place(path)}: {_dotted(path)} {said}, expected {expected}")

    def check_keys(self, path: Path, table: Mapping[str, object], names: Sequence[str]) -> None:
        """Refuse a table with a key that is none of `names`.

        Raises:
            SpecError: it has one.
        """
        for key in table:
            if key not in names:
                near = get_close_matches(key.lower(), names, n=1)
                hint = f" (did you mean {near[0]}?)" if near else ""
                raise SpecError(
                    f"{self.place([*path, key])}: unknown key {_dotted([*path, key])}, expected"
                    f" {', '.join(names)}{hint}"
                )

    def _line(self, path: Path) -> int | None:
        """The line on which the statement begins that sets `path`, from 1; None if not found.

        The first lines of a file, as many as are needed to end a statement, are TOML themselves.
        """
        if len(self.text) > _LONGEST:
            return None
        lines = self.text.split("\n")
        starts = [place for place, line in enumerate(lines) if _START.match(line)]

        def is_set(number: int) -> bool:
            """Whether `path` is set by the statements up to that one."""
            document = _beginning(lines, [*starts[number + 1 :][:_MOST_TRIES], len(lines)])
            return document is not None and _has(document, path)

        found = bisect_left(range(len(starts)), True, key=is_set)
        return starts[found] + 1 if found < len(starts) and is_set(found) else None


def _beginning(lines: Sequence[str], ends: Sequence[int]) -> Mapping[str, Any] | None:
    """The tables of the lines up to the first end that ends a statement; None if none does."""
    for end in ends:
        try:
            return tomllib.loads("\n".join(lines[:end]))
        except ValueError:
            continue
    return None


def _has(value: Any, path: Path) -> bool:
    for key in path:
        if isinstance(key, int):
            if not isinstance(value, list) or key >= len(value):
                return False
        elif not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _dotted(path: Path) -> str:
    """The keys with dots between; the line number identifies a place in a list."""
    return ".".join(key for key in path if isinstance(key, str))


def _cut(value: object) -> str:
    text = toml_value(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
