"""Candidates of a plan, and the choice among them."""

import re
from dataclasses import dataclass
from math import inf

from sojourn.analysis.statistics import Interval
from sojourn.store.ledger import Value

MEETS, MISSES, UNCLEAR = "meets", "misses", "unclear"
SMALL, OVERLOADED, SLOW, DEARER = "too small", "overloaded", "too slow", "dearer"
IMPOSSIBLE = "impossible"

# A disk whose load exceeds the mean by this factor is busier than chance explains.
_UNEVEN = 1.2


@dataclass(frozen=True)
class Candidate:
    """An array on offer and its verdict.

    Attributes:
        case: its number in the plan, from 0.
        axes: the layout and what else the plan varies, by name.
        offer: the name of the disk on offer.
        disks: how many disks it has; None where it is impossible.
        price: of all disks; None where it is impossible.
        capacity_bytes: what the disks hold without redundancy; None where the plan does not say.
        least_ps: a lower bound of the target's number by formulas; None where they know none.
        exact: whether `least_ps` is the number itself.
        utilisation: the load: the share of the time that its disks have to be busy, on average.
            Formulas compute it where they can; otherwise it is measured.
        busiest_utilisation: the measured load of its busiest disk.
        value_ps: the target's number, simulated.
        ci95_ps: its 95 % interval.
        replications: how many were simulated.
        verdict: one of the words above.
        why: the reason of the verdict, in a few words.
        outside_learnt: what it asks of its disks beyond what these were learnt from; empty for
            nothing.
    """

    case: int
    axes: dict[str, Value]
    disks: int | None
    price: float | None
    capacity_bytes: int | None
    offer: str = ""
    least_ps: float | None = None
    exact: bool = False
    utilisation: float | None = None
    busiest_utilisation: float | None = None
    value_ps: float | None = None
    ci95_ps: Interval | None = None
    replications: int = 0
    verdict: str = ""
    why: str = ""
    outside_learnt: str = ""

    @property
    def simulated(self) -> bool:
        """Whether it was simulated."""
        return self.replications > 0

    @property
    def cost(self) -> float:
        """Its price; infinite where it is impossible."""
        return inf if self.price is None else self.price

    @property
    def uneven(self) -> bool:
        """Whether its busiest disk is busier than chance explains."""
        if self.utilisation is None or self.busiest_utilisation is None:
            return False
        return self.busiest_utilisation > _UNEVEN * self.utilisation

    @property
    def settings(self) -> dict[str, str]:
        """Its axes apart from the disk, whose name and number have separate places."""
        kept = {name: str(value) for name, value in self.axes.items() if name not in _SHOWN}
        if self.disks is not None and "layout" in kept:
            kept["layout"] = _NUMBER_OF_DISKS.sub("", kept["layout"])
        return kept

    def __str__(self) -> str:
        """What one orders: `raid10 of 12 x NVMe`."""
        number = "" if self.disks is None else f"{self.disks} x "
        return f"{self.arrangement or 'an array'} of {number}{self.offer or 'disk'}"

    @property
    def arrangement(self) -> str:
        """Its layout and other settings in words; empty where the plan varies none."""
        settings = self.settings
        layout = settings.pop("layout", "")
        others = (f"{name} {value}" for name, value in settings.items())
        return ", ".join(word for word in (layout, *others) if word)


_SHOWN = ("disk", "disks")
_NUMBER_OF_DISKS = re.compile(r" disks=\d+")


@dataclass(frozen=True)
class Choice:
    """The candidates of a plan by rising price, and the cheapest that meets the target."""

    title: str
    target: str
    percentile: float | None
    limit_ps: int
    capacity_bytes: int | None
    candidates: tuple[Candidate, ...]

    @property
    def cheapest(self) -> Candidate | None:
        """The cheapest that meets the target, of several at one price the quickest; or None."""
        return min(self._meeting, key=lambda c: (c.cost, c.value_ps), default=None)

    @property
    def ties(self) -> tuple[Candidate, ...]:
        """The others that meet the target at the price of the cheapest."""
        best = self.cheapest
        return tuple(c for c in self._meeting if best and c is not best and c.cost == best.cost)

    @property
    def cheaper_unclear(self) -> tuple[Candidate, ...]:
        """Candidates that may meet the target at a lower price; all unclear ones if none meets."""
        best = inf if self.cheapest is None else self.cheapest.cost
        return tuple(c for c in self.candidates if c.verdict == UNCLEAR and c.cost < best)

    @property
    def _meeting(self) -> list[Candidate]:
        return [c for c in self.candidates if c.verdict == MEETS]

    def to_dict(self) -> dict[str, object]:
        """The document that `sojourn array plan --json` prints."""
        cheapest = self.cheapest
        return {
            "title": self.title,
            "target": self.target,
            "limit_ps": self.limit_ps,
            "capacity_bytes": self.capacity_bytes,
            "cheapest": cheapest and cheapest.case,
            "ties": [c.case for c in self.ties],
            "cheaper_unclear": [c.case for c in self.cheaper_unclear],
            "candidates": [vars(candidate) for candidate in self.candidates],
        }
