"""What became of each connection of a matrix, in the matrix's order."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from sojourn._internal.errors import InputError
from sojourn._internal.files import write_text
from sojourn._internal.units import PS_PER_US, count
from sojourn.htsim.arguments import PROGRAM
from sojourn.htsim.study import Made
from sojourn.store import rows
from sojourn.store.stored_run import StoredRun

FILE = "connections.csv"
"""What the table is called in a run directory."""

_COLUMNS = ["job", "kind", "src", "dst", "size_bytes", "arrived_ps", "finished_ps", "sojourn_ps"]
_COUNTS = ["packets", "retransmits", "timeouts"]
_NAMED = 8


@dataclass(frozen=True)
class Outcome:
    """One connection in one replication; times in microseconds, None where it did not finish.

    `line` is its line in the matrix, and `id` what the matrix calls it.
    """

    case: int
    replication: int
    line: int
    id: int | None
    src: int
    dst: int
    size_bytes: int
    started_us: float
    finished_us: float | None
    duration_us: float | None
    packets: int
    retransmits: int
    timeouts: int

    def cells(self) -> list[str]:
        """Its columns for people, without the case."""
        own = [getattr(self, name) for name in HEADS]
        return ["-" if cell is None else _shown(cell) for cell in own]


HEADS = ["line", "src", "dst", "size_bytes", "started_us", "finished_us", "retransmits"]
"""The columns for people."""


def _shown(cell: float) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def outcomes(made: Made, run: StoredRun) -> list[Outcome]:
    """A row for each connection in each case and replication of a run.

    Raises:
        InputError: the rows are not those of these connections, or cannot be read.
    """
    return [one for record in run.ledger for one in _of(made, run, record.case, record.replication)]


def _of(made: Made, run: StoredRun, case: int, replication: int) -> Iterator[Outcome]:
    table = rows.read(run.directory.rows(case, replication), [*_COLUMNS, *_COUNTS])
    flows = [row for row in table.to_pylist() if row["kind"] == "flow"]
    if len(flows) != len(made.order):
        raise InputError(f"{run.path}: {count(len(flows), 'flow')}, expected {len(made.order)}")
    by_place = dict(zip(made.order, flows, strict=True))
    for place, connection in enumerate(made.matrix.connections):
        row = by_place[place]
        if (row["src"], row["dst"], row["size_bytes"]) != (
            connection.src,
            connection.dst,
            connection.size,
        ):
            raise InputError(f"{run.path}: its flows are not those of {made.matrix.file}")
        yield Outcome(
            case=case,
            replication=replication,
            line=connection.line.number,
            id=connection.id,
            src=connection.src,
            dst=connection.dst,
            size_bytes=connection.size,
            started_us=row["arrived_ps"] / PS_PER_US,
            finished_us=_us(row["finished_ps"]),
            duration_us=_us(row["sojourn_ps"]),
            **{name: row[name] for name in _COUNTS},
        )


def _us(ps: int | None) -> float | None:
    return None if ps is None else ps / PS_PER_US


def write(found: Sequence[Outcome], directory: Path) -> Path:
    """Write them as CSV into a run directory.

    Raises:
        OSError: it cannot be written.
    """
    names = [field.name for field in fields(Outcome)]
    path = directory / FILE
    write_text(path, csv_text(names, ([getattr(one, name) for name in names] for one in found)))
    return path


def csv_text(names: Sequence[str], lines: Iterator[Sequence[object]]) -> str:
    """A table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(lines)
    return text.getvalue()


def summary(made: Made, found: Sequence[Outcome]) -> Iterator[str]:
    """Lines for people: when the first and the last connection ended, and which did not."""
    ends = [one.finished_us for one in found if one.finished_us is not None]
    packets, again = (
        sum(getattr(one, name) for one in found) for name in ("packets", "retransmits")
    )
    if ends:
        yield (
            f"{len(ends):,} of {count(len(found), 'connection')} finished: first at"
            f" {min(ends):.3f} us, last at {max(ends):.3f} us; {packets:,} packets,"
            f" {again:,} sent again"
        )
    left = [one for one in found if one.finished_us is None]
    if left:
        named = [f"{one.src}->{one.dst} (line {one.line})" for one in left[:_NAMED]]
        more = f" and {len(left) - _NAMED:,} others" if len(left) > _NAMED else ""
        yield (
            f"{len(left):,} unfinished at -end, {made.end_us:,} us, of which {PROGRAM} says"
            f" nothing: {', '.join(named)}{more}"
        )
