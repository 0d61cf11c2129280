"""Measures of whole runs: what arrived, totals of cases, time series; and one that needs no run."""

from dataclasses import dataclass

import numpy as np

from sojourn._internal.units import count
from sojourn.analysis.fanout import Leaf, finish, latest_finish
from sojourn.analysis.ratio_intervals import total_interval
from sojourn.maillog.stats import Ended
from sojourn.reproduction.hours import counted
from sojourn.reproduction.measures.measured import Measured, OfRun, Results
from sojourn.reproduction.results import Point


@dataclass(frozen=True)
class Share(OfRun):
    """The share of the arriving flows, or of their bytes, that flows of `(above, upto]` are."""

    of: str
    above: float = 0
    upto: float = np.inf

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        sections = results[self.run].sizes()
        weights = [section if self.of == "bytes" else np.ones_like(section) for section in sections]
        chosen = [(section > self.above) & (section <= self.upto) for section in sections]
        over = np.array([weight[mine].sum() for weight, mine in zip(weights, chosen, strict=True)])
        under = np.array([weight.sum() for weight in weights])
        value = float(over.sum() / under.sum())
        return Measured((Point(value, total_interval(over, under)),))


@dataclass(frozen=True)
class Waste(OfRun):
    """The share of the data packets sent by hosts that switches drop.

    Of the packets delivered, every second is an acknowledgement.
    """

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        totals = [
            [
                float(record.figures["packets_dropped_at_switches"]),
                float(record.figures["packets_delivered"]) / 2,
            ]
            for record in results[self.run].run.ledger
        ]
        dropped, delivered = np.array(totals).T
        sent = dropped + delivered
        value = float(dropped.sum() / sent.sum())
        return Measured((Point(value, total_interval(dropped, sent)),))


@dataclass(frozen=True)
class Total(OfRun):
    """A total of each case and replication, such as the share of time that a line is busy."""

    figure: str

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        run = results[self.run].run
        totals = np.array([float(record.figures[self.figure]) for record in run.ledger])
        ci95 = total_interval(totals, np.ones_like(totals)) if totals.size > 1 else None
        where = f"{self.run}: {count(totals.size, 'replication')}"
        return Measured((Point(float(totals.mean()), ci95, where),), lacking=run.lacking)


@dataclass(frozen=True)
class Hours(OfRun):
    """What a time series counted in some hours of each case and replication, as a ratio.

    `of` are columns of the series, `over` those that they are divided by, all summed over the hours
    from the first of `hours` to the one before the second.
    """

    of: tuple[str, ...]
    over: tuple[str, ...]
    hours: tuple[int, int]

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        run = results[self.run].run
        parts = [Ended.sum(counted(run.directory, it.key, *self.hours)) for it in run.ledger]
        sums = [
            np.array([sum(getattr(part, name) for name in names) for part in parts], dtype=float)
            for names in (self.of, self.over)
        ]
        above, below = sums
        ci95 = total_interval(above, below) if len(parts) > 1 else None
        where = f"{self.run}: {count(len(parts), 'replication')}"
        value = float(above.sum() / below.sum())
        return Measured((Point(value, ci95, where),), lacking=run.lacking)


@dataclass(frozen=True)
class FanOut:
    """When a `share` of so many leaves has answered, at a percentile of requests; no run.

    `quantiles` are a leaf's latencies at `percentiles`. Leaves are independent; without `leaves`
    the value is the most that leaves can give which hang together in any way.
    """

    percentiles: tuple[float, ...]
    quantiles: tuple[float, ...]
    share: float
    percentile: float
    leaves: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return ()

    def __call__(self, results: Results) -> Measured:  # noqa: ARG002
        """Compute."""
        shares = [percentile / 100 for percentile in self.percentiles]
        leaf = Leaf.fitted(dict(zip(shares, self.quantiles, strict=True)))
        if self.leaves is None:
            value = latest_finish(leaf, self.share, self.percentile / 100)
        else:
            value = finish(leaf, self.leaves, self.share, self.percentile / 100)
        return Measured((Point(value, (value, value)),))
