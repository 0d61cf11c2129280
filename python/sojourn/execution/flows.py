"""Flows that come from Python, handed over with a study."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sojourn._internal.errors import InputError
from sojourn.store import flow_tables, rows


@contextmanager
def handed_over(flows: object) -> Iterator[dict[str, object]]:
    """The workload that a table of flows is, as long as the block lasts; see `table_of`.

    Raises:
        InputError: it is no table, or a column has a type that flows have not.
    """
    try:
        table = flow_tables.table_of(flows)
    except InputError as error:
        raise InputError(f"flows: {error}") from None
    with TemporaryDirectory(prefix="sojourn-flows-") as folder:
        path = Path(folder, "flows.parquet")
        rows.write(table, path)
        yield {"kind": "table", "file": str(path)}
