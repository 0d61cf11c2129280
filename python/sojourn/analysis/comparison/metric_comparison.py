"""One metric of one kind of job, in both of two runs."""

from dataclasses import dataclass

from sojourn.analysis.comparison.difference import MAX, Difference
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.analysis.statistics import Values
from sojourn.store.ledger import Value

SIDES = ("a", "b")
_OF_BOTH = ("case", "kind", "bin", "metric")


@dataclass(frozen=True)
class MetricComparison:
    """One metric of one kind of job in one case, in both runs.

    `differences` are by the names of the numbers: `mean`, `p50`, ..., `max`; None where one of
    the runs has no such number, or A's is zero. `method` says where their intervals come from,
    None where there are none. `ks` is the Kolmogorov-Smirnov
    distance: the largest vertical distance between the two distribution functions, in which a
    job that did not finish took longer than any that did; None where a run has no such job.
    `ks_by_chance` is how probable it is to be so large by chance, None where that cannot be told.
    """

    a: MetricSummary
    b: MetricSummary
    differences: dict[str, Difference | None]
    method: str | None
    ks: float | None
    ks_by_chance: float | None
    values: tuple[Values, Values]

    @property
    def case(self) -> dict[str, Value | None]:
        """The swept parameters that both runs agree in."""
        return self.a.case

    def beyond(self, per_cent: float) -> list[str]:
        """The names of the numbers that are further apart than that; the maximum may be."""
        return [
            name
            for name, difference in self.differences.items()
            if name != MAX and not (difference and abs(difference.per_cent) <= per_cent)
        ]

    def flat(self) -> dict[str, object]:
        """The comparison as a JSON object."""
        a, b = self.a.flat(), self.b.flat()
        return {
            **{name: a[name] for name in _OF_BOTH},
            **{
                side: {name: value for name, value in flat.items() if name not in _OF_BOTH}
                for side, flat in zip(SIDES, (a, b), strict=True)
            },
            "difference_percent": {n: d and d.per_cent for n, d in self.differences.items()},
            "difference_ci95": {
                n: d and d.ci95 and list(d.ci95) for n, d in self.differences.items()
            },
            "difference_method": self.method,
            "ks": self.ks,
            "ks_by_chance": self.ks_by_chance,
        }
