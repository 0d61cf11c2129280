"""Fan-out: how long a request waits for most, or all, of the leaves it was sent to.

One leaf's latency is taken to be log-normal, fitted to its published quantiles; everything else is
exact. Of `n` independent leaves, the share of latencies below the `k`-th finish is distributed as
Beta(k, n - k + 1), whatever the latency's own distribution. For leaves that depend on each other
in any way there is a bound: when a share `s` of them is still missing at `t` with probability `p`,
one leaf taken at random is later than `t` with probability `s p` at least.

Source: Dean and Barroso, "The Tail at Scale", CACM 2013, table 1, as the big-buffers paper quotes
it; for the Beta law David and Nagaraja, Order Statistics, section 2.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, erfc, exp, log, log1p, sqrt
from statistics import NormalDist

import numpy as np

from sojourn._core import beta_quantile

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
    """When `share` of so many independent leaves have answered, at that quantile of requests."""
    k = ceil(round(share * leaves, 9))
    # The share of leaves that are later, from above: near 1 its complement would lose digits.
    later = beta_quantile(leaves - k + 1, k, 1 - quantile)
    return leaf.later(later)


def latest_finish(leaf: Leaf, share: float, quantile: float) -> float:
    """The most that `finish` can be, however leaves of one distribution hang together.

    `share` is below 1: about the last of many leaves nothing can be said without their number.
    """
    return leaf.later((1 - share) * (1 - quantile))


def leaves_for(leaf: Leaf, latest: float, quantile: float) -> float:
    """How many independent leaves put the last one's finish at `latest`, at that quantile."""
    score = log(latest / leaf.median) / leaf.sigma
    # The logarithm of the normal distribution at the score, exact where it is near zero.
    return log(quantile) / log1p(-erfc(score / sqrt(2)) / 2)
