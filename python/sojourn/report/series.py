"""Charts of what stations were doing over time, where a run looked at them."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from sojourn import rows
from sojourn.layout import label
from sojourn.ledger import Record
from sojourn.report.charts import Chart, Line, short
from sojourn.runs import Run
from sojourn.statistics import Values
from sojourn.units import shown_in

CASES = 6
_POINTS = 400
_COLUMNS = ["at_ps", "port", "waiting_bytes", "busy"]
_KB = 1000


def series(run: Run) -> Iterator[Chart]:
    """Two charts a case, of its first replication, for the first cases that have any.

    A point is what was seen between it and the one before: the most that waited, and the share of
    the time that ports were sending, on average. A port that was idle between two looks has no row;
    one that never had any does not count.

    Raises:
        InputError: a file cannot be read.
    """
    first = (record for record in run.ledger if record.replication == 0)
    seen = (record for record in first if run.directory.series(*record.key).exists())
    for record in islice(seen, CASES):
        yield from _charts(run, record)


def _charts(run: Run, record: Record) -> Iterator[Chart]:
    table = rows.read(run.directory.series(*record.key), _COLUMNS)
    at, port, waiting, busy = (table[name].to_numpy() for name in _COLUMNS)
    looks, look = np.unique(at, return_inverse=True)
    fullest, together = np.zeros(looks.size), np.zeros(looks.size)
    np.maximum.at(fullest, look, waiting)
    np.add.at(together, look, waiting)
    busiest, shares = np.zeros(looks.size), np.zeros(looks.size)
    np.maximum.at(busiest, look, busy)
    np.add.at(shares, look, busy)
    edges = np.unique(np.linspace(0, looks.size, _POINTS + 1).astype(int)[:-1])
    ends = looks[np.append(edges[1:], looks.size) - 1]
    scale, unit = shown_in("at_ps")
    where = label(record.axes) or run.title

    def chart(y_label: str, lines: dict[str, Values]) -> Chart:
        return Chart(
            title=f"{where}, looked at every {record.parameters['sample']}",
            x_label=f"time{unit}",
            y_label=y_label,
            x=short(ends / scale),
            lines=[Line(name, short(values)) for name, values in lines.items()],
            names=None,
            log="",
            steps=False,
        )

    most = {
        "fullest port": np.maximum.reduceat(fullest, edges) / _KB,
        "all ports": np.maximum.reduceat(together, edges) / _KB,
    }
    yield chart("waiting [KB]", most)
    looked = np.diff(np.append(edges, looks.size))
    mean = {
        "busiest port": np.add.reduceat(busiest, edges) / looked,
        "all ports": np.add.reduceat(shares, edges) / looked / np.unique(port).size,
    }
    yield chart("share of time sending", mean)
