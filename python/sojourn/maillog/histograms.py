"""Percentiles of times that were counted in classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn._core import MailLog
from sojourn.maillog import reading
from sojourn.store import rows

# What a class of times is about: how old messages were when delivered, how long attempts took that
# delivered, and that did not.
DELAY, TOOK, TOOK_IN_VAIN = range(3)

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Histogram:
    """Times in classes that are at most 1/128 of them wide: from, below, how many."""

    from_us: Counts
    below_us: Counts
    count: Counts

    @property
    def n(self) -> int:
        """How many times there are."""
        return int(self.count.sum())

    def percentiles(self, wanted: Sequence[float]) -> list[float | None]:
        """Percentiles in microseconds, right within 0.8 %; None where there are no times.

        Each is the roundest number of the class that it is in: logs round too, so that it mostly
        is what stood there.
        """
        if not self.count.size:
            return [None for _ in wanted]
        below = np.cumsum(self.count)
        ranks = np.ceil(np.asarray(wanted) / 100 * below[-1])
        places = np.searchsorted(below, np.maximum(ranks, 1))
        ends = zip(self.from_us[places].tolist(), self.below_us[places].tolist(), strict=True)
        return [float(_roundest(low, high)) for low, high in ends]

    def to_dict(self, wanted: Sequence[float]) -> dict[str, float | int | None]:
        """For `--json`: `n`, and percentiles in seconds."""
        shown = zip(wanted, self.percentiles(wanted), strict=True)
        seconds = {f"p{p:g}_s": None if value is None else value / 1e6 for p, value in shown}
        return {"n": self.n, **seconds}


def _roundest(low: int, high: int) -> int:
    """The number from `low` to below `high` that ends with the most zeros."""
    unit = 1
    while (low + 10 * unit - 1) // (10 * unit) * 10 * unit < high:
        unit *= 10
        if not low:
            return 0
    return (low + unit - 1) // unit * unit


def by_row(log: MailLog, name: str) -> dict[tuple[int, int], Histogram]:
    """The histograms of a table, by its row and what they are about."""
    table = reading.table(log, name)
    columns = {column: rows.numbers(table[column]) for column in table.column_names}
    keys = columns["row"] * 3 + columns["what"]
    found: dict[tuple[int, int], Histogram] = {}
    for key in np.unique(keys):
        of = keys == key
        found[divmod(int(key), 3)] = Histogram(
            columns["from_us"][of], columns["below_us"][of], columns["count"][of]
        )
    return found


NONE = Histogram(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
