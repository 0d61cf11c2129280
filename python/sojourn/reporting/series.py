"""Charts of what stations were doing over time, where a run looked at them."""

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sojourn._core import quantity
from sojourn.analysis import pauses
from sojourn.analysis.statistics import Values
from sojourn.presentation.axes import Labels
from sojourn.reporting.charts import Chart, Line, short
from sojourn.store import rows
from sojourn.store.ledger import Record
from sojourn.store.run_directory import SERIES
from sojourn.store.stored_run import StoredRun

CASES = 6
_LINKS = 8
_POINTS = 400
_COLUMNS = ["at_ps", "port", "waiting_bytes", "busy"]
_KB = 1000

# The axis' name, the ends of intervals, what was seen in them by name.
_Lines: TypeAlias = tuple[str, Values, dict[str, Values]]


def series(run: StoredRun) -> Iterator[Chart]:
    """Charts of the first replication of each of the first cases that have any.

    A point is what was seen between it and the one before. Of a list server: the recipients it
    delivered to, and those it did not. Of a fabric, in two charts: the most that waited, and the
    share of the time that ports were sending, on average; a port that was idle between two looks
    has no row, one that never had any does not count.

    Raises:
        InputError: a file cannot be read.
    """
    first = (record for record in run.ledger if record.replication == 0)
    seen = (record for record in first if run.directory.beside(SERIES, *record.key).exists())
    labels = Labels.of(record.axes for record in run.ledger)
    for record in islice(seen, CASES):
        table = rows.read(run.directory.beside(SERIES, *record.key))
        of_ports = "port" in table.column_names
        unit, lines = ("ms", _ports(table)) if of_ports else ("h", _attempts(table))
        for own in lines:
            yield _chart(labels.case(record.axes) or run.title, record, unit, own)


def stopped(run: StoredRun) -> Iterator[Chart]:
    """Charts of who stopped whom in the first cases: the links that were stopped for longest.

    Raises:
        InputError: a file cannot be read.
    """
    labels = Labels.of(record.axes for record in run.ledger)
    records: dict[int, list[Record]] = {}
    for record in run.ledger:
        records.setdefault(record.case, []).append(record)
    drawn = 0
    for own in records.values():
        links = pauses.stopped(own[0].axes, own, run.directory)[:_LINKS]
        if not links or drawn == CASES:
            continue
        drawn += 1
        yield Chart(
            title=f"{labels.case(own[0].axes) or run.title}: who stopped whom",
            x_label="",
            y_label="stopped [% of the time]",
            x=[float(place) for place in range(len(links))],
            lines=[Line("", [100 * link.share for link in links])],
            names=[f"{link.by} stops {link.whom}" for link in links],
            log="",
            steps=False,
        )


def _attempts(table: pa.Table) -> Iterator[_Lines]:
    found = {name: rows.numbers(table[name]) for name in ("delivered", "deferred", "bounced")}
    yield "recipients", rows.numbers(table["at_ps"]), found


def _ports(table: pa.Table) -> Iterator[_Lines]:
    at, port, waiting, busy = (rows.numbers(table[name]) for name in _COLUMNS)
    looks, look = np.unique(at, return_inverse=True)
    fullest, together = np.zeros(looks.size), np.zeros(looks.size)
    np.maximum.at(fullest, look, waiting)
    np.add.at(together, look, waiting)
    busiest, shares = np.zeros(looks.size), np.zeros(looks.size)
    np.maximum.at(busiest, look, busy)
    np.add.at(shares, look, busy)
    edges = np.unique(np.linspace(0, looks.size, _POINTS + 1).astype(int)[:-1])
    ends = looks[np.append(edges[1:], looks.size) - 1]
    most = {
        "fullest port": np.maximum.reduceat(fullest, edges) / _KB,
        "all ports": np.maximum.reduceat(together, edges) / _KB,
    }
    yield "waiting [KB]", ends, most
    looked = np.diff(np.append(edges, looks.size))
    mean = {
        "busiest port": np.add.reduceat(busiest, edges) / looked,
        "all ports": np.add.reduceat(shares, edges) / looked / np.unique(port).size,
    }
    yield "share of time sending", ends, mean


def _chart(where: str, record: Record, unit: str, own: _Lines) -> Chart:
    y_label, ends, lines = own
    return Chart(
        title=f"{where}, looked at every {record.parameters['sample']}",
        x_label=f"time [{unit}]",
        y_label=y_label,
        x=short(ends / quantity(f"1{unit}")),
        lines=[Line(name, short(values)) for name, values in lines.items()],
        names=None,
        log="",
        steps=False,
    )
