"""The ledger of a run, `cases.parquet`: one record a case and replication that is finished."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from sojourn._internal.errors import RunDirectoryError
from sojourn._internal.units import count
from sojourn.store import rows

PROCESSORS_BUSY = "processors_busy"
"""The figure of a measured case that says which share of the time the processors were busy."""

PROCESSORS_BUSY_ELSEWHERE = "processors_busy_elsewhere"
"""The one that says which share other programs took."""

Value: TypeAlias = bool | int | float | str


def written(value: Value | None) -> str:
    """A value as a study writes it, texts without their quotation marks."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Record:
    """What is known of one finished case and replication.

    `axes` are the swept parameters under their short names, `parameters` all of them under
    dotted paths, `figures` what the simulation counted, `warmup_jobs` how many jobs arrived
    before `warmup_ps`, the arrival of the first job after the warm-up.
    """

    case: int
    replication: int
    jobs: int
    wall_s: float
    cpu_s: float
    warmup_jobs: int
    warmup_ps: int
    axes: Mapping[str, Value]
    parameters: Mapping[str, Value]
    figures: Mapping[str, Value]

    @property
    def key(self) -> tuple[int, int]:
        """Case and replication."""
        return self.case, self.replication

    @property
    def processors_busy(self) -> float:
        """The share of the time that the machine's processors were busy; 0 if nobody measured."""
        return float(self.figures.get(PROCESSORS_BUSY, 0))

    @property
    def processors_busy_elsewhere(self) -> float:
        """The share of that time which other programs took; 0 if nobody measured."""
        return float(self.figures.get(PROCESSORS_BUSY_ELSEWHERE, 0))

    @property
    def columns(self) -> dict[str, Value]:
        """Axes and parameters under one roof: what a summary may group by."""
        return {**self.axes, **self.parameters}


class Ledger:
    """The records of a run in order of case and replication."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records = {record.key: record for record in records}

    def __iter__(self) -> Iterator[Record]:
        return (self._records[key] for key in sorted(self._records))

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: tuple[int, int]) -> bool:
        return key in self._records

    def add(self, record: Record) -> None:
        """Enter a finished case and replication."""
        self._records[record.key] = record

    def axes(self) -> list[str]:
        """The names of what is swept."""
        return [*dict.fromkeys(name for record in self for name in record.axes)]

    def by_case(self) -> dict[int, list[Record]]:
        """The records of each case, in order of replication."""
        found: dict[int, list[Record]] = {}
        for record in self:
            found.setdefault(record.case, []).append(record)
        return found

    def size(self) -> str:
        """How much is in it: `4 cases x 2 replications, 480 jobs`."""
        jobs = sum(record.jobs for record in self)
        cases = len({record.case for record in self})
        often = "" if cases == len(self) else f" x {self.replications()}"
        return f"{count(cases, 'case')}{often}, {count(jobs, 'job')}"

    def replications(self) -> str:
        """How often each case is in it: `2 replications`, `1 to 3 replications`."""
        often = Counter(record.case for record in self).values()
        fewest, most = min(often, default=0), max(often, default=0)
        said = count(most, "replication")
        return said if fewest == most else f"{fewest} to {said}"

    def table(self) -> pa.Table:
        """The records as one flat table; a field's metadata says whose column it is.

        A parameter that one case lacks is null there. Whole and decimal numbers in one column
        become decimal, other mixtures text.
        """
        flat = [_flat(record) for record in self]
        roles = {name: role for entry in flat for name, (_, role) in entry.items()}
        fields, arrays = [], []
        for name, role in roles.items():
            values = [entry[name][0] if name in entry else None for entry in flat]
            kind = _type(values)
            fields.append(pa.field(name, kind, metadata={_ROLE: role}))
            arrays.append(pa.array([_cast(value, kind) for value in values], type=kind))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def write(self, path: Path) -> None:
        """Write `cases.parquet`, whole or not at all."""
        rows.write(self.table(), path)

    @staticmethod
    def read(path: Path) -> "Ledger":
        """Read `cases.parquet`.

        Raises:
            RunDirectoryError: the file is not a ledger.
        """
        table = rows.read(path)
        roles = {
            field.name: (field.metadata or {}).get(_ROLE, b"").decode() for field in table.schema
        }
        try:
            return Ledger(_record(entry, roles) for entry in table.to_pylist())
        except (KeyError, TypeError) as error:
            raise RunDirectoryError(
                f"{path}: not the ledger of a run ({error} is missing)"
            ) from None


_ROLE = b"role"
_OWN = ("case", "replication", "jobs", "wall_s", "cpu_s", "warmup_jobs", "warmup_ps")
_GROUPS = ("axes", "parameters", "figures")


def _flat(record: Record) -> dict[str, tuple[Value, str]]:
    """Every value of a record with its role; of two equal names the first one stays."""
    flat: dict[str, tuple[Value, str]] = {}
    for name in _OWN[:2]:
        flat[name] = getattr(record, name), ""
    for role in _GROUPS:
        for name, value in getattr(record, role).items():
            flat.setdefault(name, (value, role))
    for name in _OWN:
        flat.setdefault(name, (getattr(record, name), ""))
    return flat


def _record(entry: dict[str, Value | None], roles: dict[str, str]) -> Record:
    groups = {
        group: {
            name: value
            for name, value in entry.items()
            if roles[name] == group and value is not None
        }
        for group in _GROUPS
    }
    return Record(**{name: entry[name] for name in _OWN}, **groups)  # type: ignore[arg-type]


def _type(values: Iterable[Value | None]) -> pa.DataType:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    if kinds <= {int, float}:
        return pa.float64()
    return pa.string()


def _cast(value: Value | None, kind: pa.DataType) -> Value | None:
    if value is None:
        return None
    if kind == pa.string():
        return str(value)
    return float(value) if kind == pa.float64() else value
