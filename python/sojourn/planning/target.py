"""The target of a plan: a bound of the mean or of a percentile of response times."""

from dataclasses import dataclass

from sojourn._core import Plan
from sojourn.analysis.statistics import Interval


@dataclass(frozen=True)
class Target:
    """A bound that an array has to keep.

    Attributes:
        percentile: in per cent; None where the mean is bounded.
        limit_ps: the bound.
        inclusive: whether the bound itself meets the target: `p95 <= 40 ms`.
        text: the target as tables show it.
    """

    percentile: float | None
    limit_ps: int
    inclusive: bool
    text: str

    @staticmethod
    def of(plan: Plan) -> "Target":
        """The target of a plan."""
        return Target(plan.percentile, plan.limit_ps, plan.inclusive, plan.target)

    @property
    def share(self) -> float | None:
        """The percentile as a share; None for the mean."""
        return None if self.percentile is None else self.percentile / 100

    @property
    def name(self) -> str:
        """What is bounded: `mean` or `p99`."""
        return "mean" if self.percentile is None else f"p{self.percentile:.10g}"

    def excludes(self, least_ps: float) -> bool:
        """Whether a number that is at least that large misses the target."""
        return least_ps > self.limit_ps if self.inclusive else least_ps >= self.limit_ps

    def is_met(self, interval: Interval) -> bool:
        """Whether the whole interval meets the target."""
        return not self.excludes(interval[1])

    def is_missed(self, interval: Interval) -> bool:
        """Whether the whole interval misses the target."""
        return self.excludes(interval[0])
