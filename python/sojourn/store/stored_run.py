"""A run directory opened for reading: its rows, its cases, and what made it."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Self

import pyarrow as pa

from sojourn._internal.errors import RunDirectoryError
from sojourn.store import rows
from sojourn.store.ledger import Ledger
from sojourn.store.run_directory import PAUSES, SERIES, TRACE, RunDirectory


@dataclass(frozen=True, eq=False)
class StoredRun:
    """The data of a run directory.

    `missing` counts the cases that are not finished yet, replications counted; `lacking` those
    without any finished replication.
    """

    directory: RunDirectory
    title: str
    meta: dict[str, object]
    ledger: Ledger
    missing: int
    lacking: int

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run directory.

        Raises:
            RunDirectoryError: it is not one, or a file in it cannot be read.
        """
        directory = RunDirectory(path)
        try:
            study = tomllib.loads(directory.read_study())
        except tomllib.TOMLDecodeError as error:
            raise RunDirectoryError(f"{directory.study}: not TOML ({error})") from None
        ledger = directory.ledger()
        cases, replications = _size(study)
        begun = Counter(record.case for record in ledger if record.replication < replications)
        return cls(
            directory=directory,
            title=str(study.get("title", path.name)),
            meta=directory.read_meta(),
            ledger=ledger,
            missing=max(cases * replications - begun.total(), 0),
            lacking=max(cases - len(begun), 0),
        )

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.directory.path

    @cached_property
    def rows(self) -> pa.Table:
        """One row a job of every finished case; columns carry their units in their names.

        Read when first asked for. `.to_pandas()` gives a data frame.

        Raises:
            RunDirectoryError: a file of rows cannot be read.
        """
        return _joined(self.directory.rows(*record.key) for record in self.ledger)

    @cached_property
    def series(self) -> pa.Table:
        """The time series of all finished cases that were asked for some, such as by `sample`.

        A row is a station, such as a switch's port, at one time.

        Raises:
            RunDirectoryError: a file of series cannot be read.
        """
        return self._beside(SERIES)

    @cached_property
    def pauses(self) -> pa.Table:
        """Who stopped whom: a row a port that pauses stopped, of all finished cases with PFC.

        Raises:
            RunDirectoryError: a file cannot be read.
        """
        return self._beside(PAUSES)

    @cached_property
    def trace(self) -> pa.Table:
        """The traced flow: a row a packet at one of its ends, or a pause of a port on its way.

        Raises:
            RunDirectoryError: a file cannot be read.
        """
        return self._beside(TRACE)

    def _beside(self, name: str) -> pa.Table:
        paths = (self.directory.beside(name, *record.key) for record in self.ledger)
        return _joined(path for path in paths if path.exists())

    @cached_property
    def cases(self) -> pa.Table:
        """One row a finished case and replication: parameters, figures, times, warm-up."""
        return self.ledger.table()

    def to_dict(self) -> dict[str, object]:
        """What `sojourn run --json` prints: where the run is, what made it, and its records."""
        records = [asdict(record) for record in self.ledger]
        return {"run": str(self.path), "title": self.title, **self.meta, "cases": records}


def _size(study: Mapping[str, object]) -> tuple[int, int]:
    """How many cases a resolved study has, and how many replications of each it asks for.

    A run may hold more of them than that.
    """

    def lists(value: object) -> Iterator[int]:
        if isinstance(value, list):
            yield len(value)
        elif isinstance(value, dict):
            for inner in value.values():
                yield from lists(inner)

    match study:
        case {"run": {"replications": int(number)}}:
            replications = number
        case _:
            replications = 1
    return prod(lists(study.get("sweep"))), replications


def _joined(paths: Iterable[Path]) -> pa.Table:
    """The tables of some files as one, empty where there are none."""
    tables = [rows.read(path) for path in paths]
    if not tables:
        return pa.table({})
    return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
