"""Hours of a simulated list server, counted as mailstat counts those of a log.

Source: R. Kolstad, LISA 1997, figures 3 and 4.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sojourn._internal.units import PS_PER_S
from sojourn.maillog.stats import Ended
from sojourn.presentation.mailstat_table import mailstat
from sojourn.store import rows
from sojourn.store.run_directory import RunDirectory
from sojourn.store.stored_run import StoredRun

_HOUR_PS = 3600 * PS_PER_S


@dataclass(frozen=True)
class Table:
    """A figure that is a table of hours, as mailstat prints them.

    `hours` are the first one shown of the run, counted from its beginning, and the one after the
    last; it began at `midnight`.
    """

    run: str
    midnight: datetime
    hours: tuple[int, int]


def counted(directory: RunDirectory, key: tuple[int, int], first: int, end: int) -> list[Ended]:
    """What attempts came to in each hour of a case and replication, out of its time series.

    Args:
        directory: of the run.
        key: the case and the replication.
        first: the first hour, counted from the beginning.
        end: the hour after the last.

    Raises:
        InputError: there is no time series, or it cannot be read.
    """
    table = rows.read(directory.series(*key))
    hour = (rows.numbers(table["at_ps"]) - 1) // _HOUR_PS
    return [Ended.sum(Ended.of(table.filter(hour == number))) for number in range(first, end)]


def lines(table: Table, run: StoredRun) -> Iterator[str]:
    """The paper's table, of the run's first case.

    Raises:
        InputError: there is no time series, or it cannot be read.
    """
    record = next(iter(run.ledger))
    found = counted(run.directory, record.key, *table.hours)
    names = [table.midnight + timedelta(hours=number) for number in range(*table.hours)]
    yield f"mailstat: {names[0]:%a %b %d %H:%M} to {names[-1]:%H:59 %Y}, simulated"
    yield from mailstat([(f"{it:%b %d %H}", own) for it, own in zip(names, found, strict=True)])
