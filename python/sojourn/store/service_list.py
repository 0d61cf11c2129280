"""Lists of service times, and from which accesses they were learnt.

The disk `empirical` draws from such a list. It answers for any size, operation and load, but knows
only those that were measured. Lines of comment at the list's head say which these are:

    # learnt.size = "16384B"
    # learnt.rates = [7.0, 62.8]

the size of every access, and the accesses a second of the lightest and the heaviest load.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sojourn._core import quantity
from sojourn._internal.errors import InputError, did_you_mean, reason
from sojourn.store.ledger import Value

OUTSIDE = "outside_learnt"
"""The figure of a case that says what it asks of its disks beyond what was learnt, in words with
semicolons between."""

SERVICES = "listed_services"
"""The figure of a case that says how many service times its percentiles come from."""

OPS = ("read", "write")

_MARK = "# learnt."
_KEYS = ("size", "rates")
_MOST_LINES, _LONGEST = 1000, 1000  # of the comment at a list's head
_FASTEST = 1_000_000_000  # accesses a second


@dataclass(frozen=True)
class Range:
    """What a device was learnt from.

    Attributes:
        size_bytes: of every access.
        rates: accesses a second of the lightest and of the heaviest load.
    """

    size_bytes: int
    rates: tuple[float, float]

    def lines(self) -> list[str]:
        """The comment that says so at the head of a list."""
        low, high = (float(f"{rate:.4g}") for rate in self.rates)
        return [f'{_MARK}size = "{self.size_bytes}B"', f"{_MARK}rates = [{low}, {high}]"]


@dataclass(frozen=True)
class Services:
    """A list: how many services it has of each operation, and what they were learnt from.

    `learnt` is None of a list that does not say.
    """

    counts: Mapping[str, int]
    learnt: Range | None

    @staticmethod
    def read(path: Path) -> "Services":
        """A list, which the simulator can read.

        Raises:
            InputError: it cannot be read, or its comment does not say what it should.
        """
        try:
            with path.open(encoding="utf-8-sig") as lines:
                learnt = _learnt(path, lines)
                kinds = [line.lstrip(' \t"')[:1] for line in lines]
        except OSError as error:
            raise InputError(f"cannot read the service times: {reason(error)}") from None
        counts = {op: kinds.count(op[0]) for op in OPS}
        return Services(counts, learnt)

    def drawn(self, op: str) -> int:
        """How many services an access draws from; of an operation without any, the other's."""
        return self.counts[op] or max(self.counts.values())


def _learnt(path: Path, lines: Iterator[str]) -> Range | None:
    """What the comment at the head of a list says; reads on to the line with the columns."""
    said: dict[str, object] = {}
    for place, line in enumerate(islice(lines, _MOST_LINES), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            break
        if text.startswith(_MARK):
            said |= _setting(path, place, text)
    if not said:
        return None
    for key in _KEYS:
        if key not in said:
            raise InputError(f"{path}: {_MARK}{key} is missing, expected beside the other one")
    size, rates = said["size"], said["rates"]
    assert isinstance(size, int) and isinstance(rates, tuple)  # noqa: S101, PT018 - checked there
    return Range(size, rates)


def _setting(path: Path, line: int, text: str) -> dict[str, object]:
    """One key of the comment and its value."""
    where = f"{path}:{line}"
    try:
        ((key, value),) = tomllib.loads(text[: _LONGEST + 1].removeprefix(_MARK)).items()
    except (tomllib.TOMLDecodeError, ValueError):
        raise InputError(f'{where}: {text[:80]!r}, expected {_MARK}size = "16KiB"') from None
    if key == "size":
        return {key: _size(where, value)}
    if key == "rates":
        return {key: _rates(where, value)}
    raise InputError(f"{where}: {_MARK}{key} is unknown{did_you_mean(key, _KEYS)}")


def _size(where: str, value: object) -> int:
    try:
        found = quantity(value) if isinstance(value, str) and value.endswith("B") else 0
    except ValueError:
        found = 0
    if found < 1:
        raise InputError(f'{where}: {_MARK}size = {value!r}, expected a size such as "16KiB"')
    return found


def _rates(where: str, value: object) -> tuple[float, float]:
    match value:
        case [float() | int() as low, float() | int() as high] if 0 < low <= high < _FASTEST:
            return float(low), float(high)
    raise InputError(
        f"{where}: {_MARK}rates = {value!r}, expected two numbers of accesses a second, such as"
        " [7.0, 62.8]"
    )


def fewest_services(figures: Sequence[Mapping[str, Value]]) -> int | None:
    """How many service times a case's percentiles come from; None where it has no list."""
    return min((int(own[SERVICES]) for own in figures if SERVICES in own), default=None)
