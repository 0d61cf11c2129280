"""Rows of results: an outcome's columns as Arrow, and Arrow as Parquet that is whole or absent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sojourn._internal.errors import RunDirectoryError
from sojourn._internal.files import whole

Column: TypeAlias = npt.NDArray[Any] | tuple[npt.NDArray[np.uint8], list[str]]

# The rows of a group are held a second time, encoded, until it is written.
_GROUP = 100_000


def table_of(case: int, replication: int, columns: Mapping[str, Column]) -> pa.Table:
    """The rows of one case and replication, `case` and `replication` in front.

    Arrays are handed over without copying. -1 in a column of whole numbers, none of which can be
    below zero, and NaN in a float column become null.
    """
    fields = {name: _array(column) for name, column in columns.items()}
    number = len(next(iter(fields.values()), ()))
    place = {"case": _all_alike(case, number), "replication": _all_alike(replication, number)}
    return pa.table(place | fields)


def _all_alike(value: int, number: int) -> pa.ChunkedArray:
    """So many times the same number, held in memory once for each group of rows."""
    group = array_over(np.full(min(number, _GROUP), value, dtype=np.int32))
    many, rest = divmod(number, _GROUP)
    return pa.chunked_array([*[group] * many, group.slice(0, rest)], pa.int32())


def array_over(column: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """An array over a column's own memory, null where values are missing.

    `pa.array` would import pandas, where there is one.
    """
    kind = pa.from_numpy_dtype(column.dtype)
    valid = None
    if missing is not None and missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    values = pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(kind, len(column), [valid, values])


def numbers(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[Any]:
    """A column of numbers, copied only where it has to be; with NaN where some are missing.

    `to_numpy` would import pandas, where there is one.
    """
    pieces = [_numbers(piece) for piece in getattr(column, "chunks", [column])]
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.empty(0, np.int64)


def _numbers(piece: pa.Array) -> npt.NDArray[Any]:
    kind = np.dtype(piece.type.to_pandas_dtype())
    if kind.kind not in "iuf":
        raise TypeError(f"a column of {piece.type}, expected numbers")
    valid, memory = piece.buffers()
    if memory is None:
        return np.empty(0, kind)
    found = np.frombuffer(memory, kind, len(piece), piece.offset * kind.itemsize)
    if not piece.null_count:
        return found
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
    there = bits[piece.offset : piece.offset + len(piece)].astype(np.bool_)
    return np.where(there, found.astype(np.float64), np.nan)


def write(table: pa.Table, path: Path) -> None:
    """Write a Parquet file, whole or not at all."""
    with whole(path) as partial:
        names = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
        pq.write_table(
            table, partial, compression="zstd", row_group_size=_GROUP, use_dictionary=names
        )


def read(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file, or only some of its columns.

    Raises:
        RunDirectoryError: the file is missing, or is not Parquet, or lacks a column.
    """
    try:
        # `pq.read_table` would import pandas, where there is one.
        with pq.ParquetFile(path, memory_map=True) as file:
            lacking = set(columns or ()).difference(file.schema_arrow.names)
            if lacking:
                raise pa.ArrowInvalid(f"no column {min(lacking)}")
            return file.read(columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None


def schema(path: Path) -> pa.Schema:
    """The columns of a Parquet file.

    Raises:
        RunDirectoryError: the file is missing or is not Parquet.
    """
    try:
        return pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None


def holds(path: Path, column: str) -> bool:
    """Whether a Parquet file has a column, and anything in it, by its footer.

    Raises:
        RunDirectoryError: the file is missing or is not Parquet.
    """
    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    names = footer.schema.names
    if column not in names:
        return False
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    counted = [(group, group.column(names.index(column)).statistics) for group in groups]
    return any(s is None or s.null_count < group.num_rows for group, s in counted)


def kinds(path: Path) -> list[str]:
    """The kinds of job in a Parquet file of rows.

    Raises:
        RunDirectoryError: the file is missing, or is not Parquet, or lacks the column.
    """
    column = read(path, ["kind"])["kind"].unify_dictionaries().combine_chunks()
    names = column.dictionary.to_pylist()
    return [names[code] for code in np.unique(numbers(column.indices))]


def number(path: Path) -> int | None:
    """How many rows a Parquet file has, by its footer; None where it has none or is not there."""
    try:
        found: int = pq.read_metadata(path).num_rows
    except (pa.ArrowException, OSError):
        return None
    return found


def _unreadable(path: Path, error: Exception) -> RunDirectoryError:
    if isinstance(error, FileNotFoundError):
        return RunDirectoryError(f"{path}: no such file")
    what = (
        str(error).splitlines()[0].removeprefix(f"Could not open Parquet input source '{path}': ")
    )
    return RunDirectoryError(
        f"{path}: not a readable Parquet file ({what}); delete it and run the study again"
    )


def whole_numbers(column: npt.NDArray[np.generic]) -> pa.Array:
    """Whole numbers of the engine, which has -1 for a missing one."""
    return array_over(column, column == -1)


def _array(column: Column) -> pa.Array:
    if isinstance(column, tuple):
        codes, names = column
        return pa.DictionaryArray.from_arrays(array_over(codes), pa.array(names, type=pa.string()))
    if np.issubdtype(column.dtype, np.signedinteger):
        return whole_numbers(column)
    if np.issubdtype(column.dtype, np.floating):
        return array_over(column, np.isnan(column))
    return array_over(column)
