"""Flows that come from Python: handed over with a study, and kept with a run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sojourn._core import Case
from sojourn._internal.errors import InputError
from sojourn.execution.execute import Task
from sojourn.store import flow_tables, rows
from sojourn.store.run_directory import RunDirectory


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


def kept(cases: Sequence[Case], tasks: Sequence[Task], directory: RunDirectory) -> bool:
    """Put the tables of flows and the code that tasks need into a run directory.

    Tables are drawn where they have to be.

    The first replication of every case is there too, without which a study cannot be checked.

    Returns:
        Whether there are such.

    Raises:
        SpecError: a file cannot be read or drawn, or is not the one that it was.
    """
    wanted = {(case.index, 0): case for case in cases}
    wanted |= {(task.case.index, task.replication): task.case for task in tasks}
    folder = str(directory.path)
    found = [case.keep(replication, folder) for (_, replication), case in wanted.items()]
    return any(found)
