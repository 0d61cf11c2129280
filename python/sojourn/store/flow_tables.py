"""Tables of flows: what a user hands over as Arrow, Arrow as Parquet with its hash, and as columns.

The names of columns and what stands in them is judged by the compiled half, which reads a CSV file
by the same rules; here is only which types a column may have.
"""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn._internal.errors import InputError, reason
from sojourn._internal.files import whole
from sojourn.store import rows

Table: TypeAlias = pa.Table
_NO_NAME = "no file has such a name"
HandedOver: TypeAlias = tuple[int, list[tuple[str, npt.NDArray[Any], npt.NDArray[Any] | None]]]

FOLDER = "flows"
"""The folder of tables in a run directory."""

SHOWN = 16
"""How many digits of its SHA-256 are in the name of a file that a run keeps."""


def table_of(flows: object) -> pa.Table:
    """A table as it is kept: whole numbers, numbers and texts, missing ones null.

    Args:
        flows: a pandas or Arrow table, another one that Arrow can read, or a dictionary of arrays.
            Lists of names, as in a column `after`, become texts.

    Raises:
        InputError: it is no table, or a column has another type.
    """
    if isinstance(flows, Mapping):
        flows = {str(name): _values(str(name), column) for name, column in flows.items()}
    elif not any(hasattr(flows, f"__arrow_c_{what}__") for what in ("stream", "array")):
        expected = "a table of pandas or Arrow, or a dictionary of NumPy arrays"
        raise InputError(f"{_a(flows)}, expected {expected}")
    try:
        found = pa.table(flows)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"no table: {_first_line(error)}") from None
    # Rows of a data frame that were chosen from others still have their old numbers.
    names = [name for name in found.column_names if not name.startswith("__index_level_")]
    columns = [_plain(name, found.column(found.column_names.index(name))) for name in names]
    return pa.Table.from_arrays(columns, names).combine_chunks()


def packed(table: pa.Table) -> bytes:
    """A table as a Parquet file: the same for the same table."""
    into = pa.BufferOutputStream()
    pq.write_table(table, into, compression="zstd", use_dictionary=False)
    return bytes(into.getvalue().to_pybytes())


def name(sha256: str) -> str:
    """What a run calls a table of that SHA-256, seen from its directory."""
    return f"{FOLDER}/{sha256[:SHOWN]}.parquet"


def keep(table: pa.Table, folder: Path, key: str) -> None:
    """Write a table that was drawn; the beginning of its hash is in its name."""
    folder.mkdir(exist_ok=True)
    nameless = folder / f".{key}.partial"
    rows.write(table, nameless)
    nameless.replace(folder / f"{key}-{sha256(str(nameless))[:SHOWN]}.parquet")


def has(folder: Path, key: str) -> bool:
    """Whether the table of that key is in a folder."""
    return any(folder.glob(f"{key}-*.parquet"))


def drawn(folder: str, key: str) -> str:
    """The file of the table of that key in a folder.

    Raises:
        InputError: there is none, or it is not the one that was drawn.
    """
    try:
        is_folder = Path(folder).is_dir()
    except (OSError, ValueError):  # no name that a folder can have
        is_folder = False
    if not is_folder:
        raise InputError("there is no such folder")
    found = sorted(Path(folder).glob(f"{key}-*.parquet"))
    if not found:
        raise InputError(
            "it has none for this seed, replication, fabric, `set` and `sha256`;"
            ' `drawn = "none"` has the function draw them'
        )
    _expect(found[0], found[0].stem.partition("-")[2])
    return str(found[0])


def sha256(file: str) -> str:
    """The SHA-256 of a file, in hexadecimal digits.

    Raises:
        InputError: it cannot be read.
    """
    path = Path(file)
    try:
        if path.exists() and not path.is_file():
            raise InputError("it is no regular file")
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        error.filename = None
        raise InputError(reason(error)) from None
    except ValueError as error:  # a null byte in the name
        raise error if isinstance(error, InputError) else InputError(_NO_NAME) from None


def copy(file: str, expected: str | None, into: str) -> None:
    """Copy a table, if it is not there yet.

    Raises:
        InputError: it cannot be read, or does not have the SHA-256 that is expected.
        OSError: it cannot be written.
    """
    target = Path(into)
    if target.exists():
        _expect(target, expected)
        return
    _expect(Path(file), expected)
    target.parent.mkdir(exist_ok=True)
    with whole(target) as partial:
        shutil.copyfile(file, partial)


def columns(file: str, expected: str | None) -> HandedOver:
    """The columns of a Parquet file, as the compiled half takes them.

    Raises:
        InputError: it cannot be read, does not have the SHA-256 that is expected, is not Parquet,
            or a column has a type that flows have not.
    """
    _expect(Path(file), expected)
    try:
        with pq.ParquetFile(file) as opened:
            found = opened.read()
    except (pa.ArrowException, OSError) as error:
        other = 'a CSV file has workload.kind = "csv"'
        raise InputError(f"it is not Parquet ({_first_line(error)}); {other}") from None
    return handed_over(table_of(found))


def handed_over(table: pa.Table) -> HandedOver:
    """How many rows a table has, and its columns by name, each as one array or two.

    Numbers are an array with NaN where one is missing; whole numbers an array, with another of
    where they are missing or None; texts their octets, and where each of them begins.
    """
    return table.num_rows, [
        (name, *_arrays(column.combine_chunks()))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]


def _arrays(column: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    if pa.types.is_floating(column.type):
        return rows.numbers(pc.fill_null(column, np.nan)), None
    if pa.types.is_integer(column.type):
        missing = rows.numbers(column.is_null().cast(pa.uint8())).astype(np.bool_)
        return rows.numbers(pc.fill_null(column, 0)), missing if column.null_count else None
    texts = pa.concat_arrays(
        [pc.fill_null(column, "")]
    )  # from its beginning, whatever it was cut of
    _, begins, octets = texts.buffers()
    if not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    starts = np.frombuffer(begins, np.int64, len(texts) + 1, texts.offset * 8)
    text = np.frombuffer(octets, np.uint8) if octets else np.empty(0, np.uint8)
    return text[starts[0] : starts[-1]], starts - starts[0]


def _values(name: str, column: object) -> pa.Array:
    """A column of a dictionary."""
    if isinstance(column, pa.ChunkedArray):
        return column
    try:
        return pa.array(column)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        expected = "one of numbers or texts"
        raise InputError(f"column {name!r}, expected {expected}: {_first_line(error)}") from None


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with one of the three types that are kept."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    try:
        if pa.types.is_integer(kind):
            return column.cast(pa.int64())
        if pa.types.is_floating(kind):
            numbers = column.cast(pa.float64())
            return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            column = pc.binary_join(column.cast(pa.list_(pa.string())), " ")
        # Truths, dates and the like are of no column of flows, and may be of a further one.
        return column.cast(pa.large_string())
    except pa.ArrowNotImplementedError:
        expected = "whole numbers, numbers or texts"
        raise InputError(f"column {name!r} holds {kind}, expected {expected}") from None
    except pa.ArrowException as error:
        raise InputError(f"column {name!r}: {_first_line(error)}") from None


def _expect(path: Path, expected: str | None) -> None:
    """Refuse a file whose SHA-256 does not begin with what is expected."""
    found = sha256(str(path))
    if expected is not None and not (len(expected) >= SHOWN and found.startswith(expected)):
        raise InputError(
            f"{path.name} has changed since: its SHA-256 is {found}, expected {expected!r}"
        )


def _a(value: object) -> str:
    return "None" if value is None else f"an object of the type {type(value).__name__}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
