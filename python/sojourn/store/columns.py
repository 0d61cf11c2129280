"""Columns a result can be grouped by: axes, parameters, and the rows' dictionary columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from sojourn._internal.errors import InputError, RunDirectoryError, did_you_mean
from sojourn.store import rows
from sojourn.store.ledger import Ledger, Record, Value
from sojourn.store.run_directory import RunDirectory

# Which workload of several a job is of.
_PART = "part"

Key: TypeAlias = tuple[Value | None, ...]


@dataclass(frozen=True)
class Column:
    """A column under the label the user gave it; `in_rows` says that each job has its own value."""

    label: str
    name: str
    in_rows: bool = False


@dataclass(frozen=True)
class Columns:
    """The columns of a run: its axes, all its parameters, and what its rows have to offer."""

    axes: tuple[str, ...]
    parameters: tuple[str, ...]
    of_rows: tuple[str, ...]

    @property
    def apart(self) -> tuple[str, ...]:
        """What is kept apart by default: axes, and the parts of a workload."""
        return (*self.axes, *(name for name in self.of_rows if name == _PART))

    @staticmethod
    def of(directory: RunDirectory, ledger: Ledger) -> "Columns":
        """The columns of a run with at least one finished case.

        Raises:
            InputError: no case is finished, or its rows cannot be read.
        """
        first = next(iter(ledger), None)
        if first is None:
            raise RunDirectoryError(
                f"{directory.path}: no case is finished yet; `sojourn run` resumes it"
            )
        fields = rows.schema(directory.rows(*first.key))
        return Columns(
            axes=tuple(ledger.axes()),
            parameters=tuple(dict.fromkeys(n for record in ledger for n in record.parameters)),
            of_rows=tuple(field.name for field in fields if pa.types.is_dictionary(field.type)),
        )

    def find(self, given: str) -> Column:
        """The column of that name; the last parts of a parameter's path, or a table, will do.

        `load` finds `workload.load`, `scheme` finds `scheme.name`, and `queue` finds
        `scheme.queue.kind`.

        Raises:
            InputError: there is none, or more than one.
        """
        if given in self.axes or given in self.parameters:
            return Column(given, given)
        if given in self.of_rows:
            return Column(given, given, in_rows=True)
        found = paths_of(given, self.parameters)
        if len(found) == 1:
            return Column(given, found[0])
        if found:
            raise InputError(f"column {given!r} is ambiguous; available: {', '.join(found)}")
        short = [name.rpartition(".")[2] for name in self.parameters]
        names = dict.fromkeys([*self.axes, *self.of_rows, *self.parameters, *short])
        raise InputError(f"no column {given!r}{did_you_mean(given, names)}")


def paths_of(short: str, parameters: Iterable[str]) -> list[str]:
    """The parameters that a short name may mean: those that end in it, else tables of that name."""
    known = [*parameters]
    ending = [path for path in known if f".{path}".endswith(f".{short}")]
    if ending:
        return ending
    kinds = [path for path in known if f".{path}".endswith(f".{short}.kind")]
    names = [path for path in known if f".{path}".endswith(f".{short}.name")]
    # What has a kind may have a name beside it.
    return kinds + [path for path in names if f"{path.removesuffix('name')}kind" not in kinds]


def groups(ledger: Ledger, columns: Sequence[Column]) -> dict[Key, list[Record]]:
    """Records by the values of columns; None for a column of the rows.

    They stand in the order of the first column, its values as they come in the cases, then of the
    second.
    """
    found: dict[Key, list[Record]] = {}
    for record in ledger:
        values = {**record.parameters, **record.axes}
        key = tuple(None if column.in_rows else values.get(column.name) for column in columns)
        found.setdefault(key, []).append(record)
    places = [{v: n for n, v in enumerate(dict.fromkeys(of))} for of in zip(*found, strict=True)]
    ordered = sorted(found, key=lambda key: [of[v] for of, v in zip(places, key, strict=True)])
    return {key: found[key] for key in ordered}
