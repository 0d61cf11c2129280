"""How claims of the paper about big buffers are measured that no other makes, and drawn.

Fan-out: how long a request waits for most, or all, of the leaves it was sent to. One leaf's latency
is taken to be log-normal, fitted to its published quantiles; everything else is exact. Of `n`
independent leaves, the share of latencies below the `k`-th finish is distributed as
Beta(k, n - k + 1), whatever the latency's own distribution. For leaves that depend on each other
in any way there is a bound: when a share `s` of them is still missing at `t` with probability `p`,
one leaf taken at random is later than `t` with probability `s p` at least.

Source: Dean and Barroso, "The Tail at Scale", CACM 2013, table 1, as the big-buffers paper quotes
it; for the Beta law David and Nagaraja, Order Statistics, section 2.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, exp, inf
from statistics import NormalDist

import numpy as np
from matplotlib.axes import Axes

from sojourn._core import beta_quantile
from sojourn._internal.units import count
from sojourn.analysis.fairness import NoAverageError
from sojourn.analysis.intervals import sectioned_interval
from sojourn.presentation.fairness import draw_statistic, finish_panel
from sojourn.reproduction.drawing import Curve
from sojourn.reproduction.measures import Measured, Results, of_cells
from sojourn.reproduction.papers import Panel
from sojourn.reproduction.results import Point, Quantity, Result
from sojourn.store.ledger import Value

_NORMAL = NormalDist()


@dataclass(frozen=True)
class Leaf:
    """A log-normal latency: its median, and the deviation of its logarithm."""

    median: float
    sigma: float

    @staticmethod
    def fitted(quantiles: Mapping[float, float]) -> "Leaf":
        """The one nearest to latencies by their probability, by least squares of logarithms."""
        scores = np.array([_NORMAL.inv_cdf(share) for share in quantiles])
        logarithms = np.log([*quantiles.values()])
        sigma, centre = np.polyfit(scores, logarithms, 1)
        return Leaf(exp(centre), float(sigma))

    def quantile(self, share: float) -> float:
        """The latency that `share` of the requests to one leaf stay below."""
        return self.median * exp(self.sigma * _NORMAL.inv_cdf(share))

    def later(self, share: float) -> float:
        """The latency that only `share` of the requests exceed; exact where shares are tiny."""
        return self.median * exp(-self.sigma * _NORMAL.inv_cdf(share))


def finish(leaf: Leaf, leaves: int, share: float, quantile: float) -> float:
    """The time by which `share` of independent leaves has answered, at a quantile of requests."""
    k = ceil(round(share * leaves, 9))
    # The share of leaves that are later, from above: near 1 its complement would lose digits.
    later = beta_quantile(leaves - k + 1, k, 1 - quantile)
    return leaf.later(later)


def latest_finish(leaf: Leaf, share: float, quantile: float) -> float:
    """The most that `finish` can be, however leaves of one distribution hang together.

    `share` is below 1: about the last of many leaves nothing can be said without their number.
    """
    return leaf.later((1 - share) * (1 - quantile))


def averaged(
    results: Results,
    run: str,
    lines: Sequence[str],
    at: Sequence[Value],
    *,
    over: str,
    statistic: str,
) -> Measured:
    """How evenly long flows share over the averaging time `over`, in each line at each of `at`.

    `statistic` is one of `fairness.STATISTICS`.
    """
    result = results[run]
    points: list[Point] = []
    lacking, too_short = 0, None
    for line, x in product(lines, at):
        try:
            found = result.fairness(line, x, "bulk", [over])
        except NoAverageError:
            too_short = f"no run is long enough for an average over {over}"
            continue
        lacking += not found
        for own in found:
            if own.withheld:
                too_short = own.withheld.why
            if own.shares:
                value = getattr(own.shares, statistic)
                value = inf if value is None else value
                where = f"{result.name} at {result.axis} {x}: {line}, over {over}"
                points.append(Point(value, own.ci95.get(statistic), where))
    return Measured(tuple(points), lacking=lacking, too_short=too_short)


def attained(
    results: Results, run: str, line: str, at: Value, least: float, **what: str
) -> Measured:
    """The share of replications in which the metric of each job is at least `least`."""
    cell = results[run].cell(line, at, Quantity(**what))
    if len(cell.sample.parts) < 2:
        return of_cells((), [cell])
    reached = np.array([float(own.min() >= least) for own in cell.replications()])
    where = f"{cell.run}: {count(len(reached), 'replication')}"
    value = float(reached.mean())
    return of_cells([Point(value, sectioned_interval(value, reached), where)], [cell])


def fan_out(
    _results: Results,
    percentiles: Sequence[float],
    quantiles: Sequence[float],
    share: float,
    percentile: float,
    leaves: int | None = None,
) -> Measured:
    """The time by which a `share` of leaves has answered, at a percentile; no run.

    `quantiles` are a leaf's latencies at `percentiles`. Leaves are independent; without `leaves`
    the value is the most that leaves can give which hang together in any way.
    """
    shares = [own / 100 for own in percentiles]
    leaf = Leaf.fitted(dict(zip(shares, quantiles, strict=True)))
    if leaves is None:
        value = latest_finish(leaf, share, percentile / 100)
    else:
        value = finish(leaf, leaves, share, percentile / 100)
    return Measured((Point(value, (value, value)),))


def draw_averages(
    axes: Axes, panel: Panel, result: Result, curves: Sequence[Curve], term: str
) -> None:
    """How evenly long flows share, against the averaging time; nothing where it is not told."""
    statistic = panel.what.statistic
    for curve in curves:
        found = result.fairness(curve.line, curve.value or 0, panel.what.jobs, None)
        draw_statistic(axes, found, statistic, curve.name, curve.place)
    finish_panel(axes, statistic)
    axes.set_ylabel(f"{term}, {axes.get_ylabel()}")


MEASURES = {"averaged": averaged, "attained": attained, "fan-out": fan_out}
PANELS = {"averages": draw_averages}
