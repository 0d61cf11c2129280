"""What holds delivery back: each cause taken away alone.

A cause's share is by how much sooner a percentile of the delays would be without it, everything
else as it was: the same hosts, answers and outages. That is what doing away with it would bring,
and nothing else. Shares need not sum to one: where two causes hide each other, taking away either
brings little; where one makes the other worse, both count what they do together. What remains
without any of them, a round trip or several and the engine's own turns, is reported too. A share
below zero is a cause whose absence brings others to bear.
"""

from dataclasses import dataclass

from sojourn._internal.registry import topic
from sojourn.analysis.statistics import Interval
from sojourn.mail.plan.policy import Policy
from sojourn.mail.plan.predict import NOTHING, PERCENTILES, Scenario, sooner

_EVERYTHING = "everything"


@dataclass(frozen=True)
class Cause:
    """What holds delivery back.

    Attributes:
        name: as a study's `without` has it; `everything` is all of them together.
        shares: of the percentiles' times, with 95 % intervals.
        delivered: the share of deliveries that is made without it.
    """

    name: str
    shares: dict[int, tuple[float, Interval | None]]
    delivered: float

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        shares = {
            f"p{percentile}": {"share": share, "ci95": interval}
            for percentile, (share, interval) in self.shares.items()
        }
        return {"cause": self.name, "delivered": self.delivered, **shares}


def names() -> list[str]:
    """The causes there are."""
    return [entry["name"] for entry in topic("causes") if entry["name"] != NOTHING]


def explain(scenario: Scenario, policy: Policy, replications: int) -> list[Cause]:
    """The share of each cause in the delay under a policy, the largest first, all of them last."""
    whole = scenario.predict(policy, replications)
    found = []
    for name in names():
        without = scenario.predict(policy, replications, without=name)
        shares = {percentile: sooner(without, whole, percentile) for percentile in PERCENTILES}
        found.append(Cause(name, shares, without.delivered))
    return sorted(found, key=lambda cause: cause.name == _EVERYTHING)
