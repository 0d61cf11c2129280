"""Subscribers: a file of addresses, one a line or a column of a CSV table."""

import csv
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn._core import mail_address, mail_canonical
from sojourn._internal.errors import InputError, did_you_mean, reason

_LARGEST_LIST = 1 << 30
_SEPARATORS = ",;\t"
_HEADS = ("email", "e-mail", "address", "mail", "email address", "e-mail address", "recipient")


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Addresses in the order of their file, none twice.

    `refused` has a text for each row without an address: its line, and why.
    """

    addresses: list[str]
    duplicates: int = 0
    suppressed: int = 0
    refused: tuple[str, ...] = ()

    def without(self, mailboxes: Collection[str]) -> "Subscribers":
        """Those whose mailbox is not among `mailboxes`, which are in canonical form."""
        kept = [it for it in self.addresses if mail_canonical(it) not in mailboxes]
        suppressed = len(self.addresses) - len(kept)
        return replace(self, addresses=kept, suppressed=suppressed)


def read(path: Path, column: str | None = None) -> Subscribers:
    """The addresses of a file, or of standard input where it is called `-`.

    One address a line; or a CSV table (comma, semicolon or tab), whose column is named, or is the
    one with a head like `email`, or the one whose first cell is an address. Blank lines, and lines
    that begin with `#`, are ignored. Of several spellings of one mailbox the first counts. A row
    without an address is refused alone.

    Raises:
        InputError: the file cannot be read, or no row has an address, and why.
    """
    addresses: dict[str, str] = {}
    refused: list[str] = []
    count = 0
    for number, given in _rows(path, _lines(path), column, refused):
        try:
            addresses.setdefault(mail_canonical(given), mail_address(given))
            count += 1
        except ValueError as error:
            refused.append(f"{path}:{number}: {given!r} is no address: {error}")
    if not addresses:
        raise InputError("; ".join(refused) or f"{path}: no addresses in it")
    return Subscribers(list(addresses.values()), count - len(addresses), refused=tuple(refused))


def suppressed(path: Path) -> set[str]:
    """The mailboxes of a suppression list, or of any list of subscribers, in canonical form.

    Raises:
        InputError: the file cannot be read, or a row has no address: such a row may be for one who
            is to get no mail.
    """
    found = read(path)
    if found.refused:
        raise InputError("; ".join(found.refused))
    return {mail_canonical(it) for it in found.addresses}


def table(
    path: Path, heads: Sequence[str], refused: list[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV table with the columns `heads`, of which `address` has to be there.

    A row with more cells is added to `refused`: its line, and why.

    Raises:
        InputError: the file cannot be read, or has other columns.
    """
    rows = csv.reader(_lines(path), strict=True)
    try:
        names = [cell.strip().lower() for cell in next(rows, [])]
        if wrong := [name for name in names if name not in heads]:
            raise InputError(f"{path}:1: no column {wrong[0]!r}{did_you_mean(wrong[0], heads)}")
        if "address" not in names:
            raise InputError(f"{path}:1: no column address; expected {', '.join(heads)}")
        for row in rows:
            if len(row) > len(names):
                refused.append(f"{path}:{rows.line_num}: {len(row)} cells, expected {len(names)}")
            elif any(row):
                cells = (cell.strip() for cell in row)
                yield rows.line_num, {"address": "", **dict(zip(names, cells, strict=False))}
    except csv.Error as error:
        raise InputError(f"{path}:{rows.line_num}: not CSV: {error}") from None


def _lines(path: Path) -> list[str]:
    try:
        if path == Path("-"):
            data = sys.stdin.buffer.read(_LARGEST_LIST + 1)
        else:
            with path.open("rb") as file:
                data = file.read(_LARGEST_LIST + 1)
    except OSError as error:
        raise InputError(f"cannot read the list: {reason(error)}") from None
    if len(data) > _LARGEST_LIST:
        raise InputError(f"{path}: over {_LARGEST_LIST:,} bytes, that is no list")
    try:
        return data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}: not UTF-8 text") from None


def _rows(
    path: Path, lines: Sequence[str], column: str | None, refused: list[str]
) -> Iterator[tuple[int, str]]:
    """Line numbers and what stands for an address there; rows without that column are `refused`."""
    told = [(n, line.strip("\r\n \t")) for n, line in enumerate(lines, start=1)]
    told = [(n, line) for n, line in told if line and not line.startswith("#")]
    if not told:
        return
    separator = _separator(told[0][1])
    if separator is None:
        if column is not None:
            raise InputError(f"{path}: no table with columns, so none is called {column!r}")
        yield from told
        return
    numbers = [number for number, _ in told]
    table = csv.reader((line for _, line in told), delimiter=separator, strict=True)
    try:
        head = [cell.strip() for cell in next(table)]
        place, is_head = _place(path, head, column)
        if not is_head:
            yield numbers[0], head[place]
        for row in table:
            number = numbers[table.line_num - 1]
            if len(row) <= place:
                why = f"{len(row)} columns, the address is in number {place + 1}"
                refused.append(f"{path}:{number}: {why}")
            else:
                yield number, row[place].strip()
    except csv.Error as error:
        raise InputError(f"{path}:{numbers[table.line_num - 1]}: not CSV: {error}") from None


def _separator(line: str) -> str | None:
    """What parts the columns of a table; None where a line is one address."""
    if _is_address(line):
        return None
    found = {separator: line.count(separator) for separator in _SEPARATORS}
    separator = max(found, key=lambda it: found[it])
    if found[separator]:
        return separator
    return "," if line.strip('"').lower() in _HEADS or line.startswith('"') else None


def _place(path: Path, head: Sequence[str], column: str | None) -> tuple[int, bool]:
    """Which column has the addresses, and whether the first line is the table's head."""
    if column is not None:
        if column not in head:
            raise InputError(f"{path}: no column {column!r}{did_you_mean(column, head)}")
        return head.index(column), True
    for place, cell in enumerate(head):
        if cell.lower() in _HEADS:
            return place, True
    for place, cell in enumerate(head):
        if _is_address(cell):
            return place, False
    raise InputError(
        f"{path}:1: no column is named email or starts with an address; name one with --column:"
        f" {', '.join(map(repr, head))}"
    )


def _is_address(text: str) -> bool:
    try:
        mail_address(text)
    except ValueError:
        return False
    return True
