"""A map: the claims of a paper over the points of a plane of two parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.reproduction.claims import Claim
from sojourn.reproduction.papers import MapPlan, Paper
from sojourn.store.ledger import Value


@dataclass(frozen=True)
class Judged:
    """What was measured of a claim at a point, and whether it holds; None where nothing was."""

    measured: float | Sequence[float] | None
    holds: bool | None


@dataclass(frozen=True)
class Point:
    """A point of a map: its place, the claims judged there, and whether it is the paper's study."""

    x: Value
    y: Value
    judged: tuple[Judged, ...]
    as_studied: bool

    @property
    def holding(self) -> int:
        """How many claims hold."""
        return sum(bool(one.holds) for one in self.judged)


@dataclass(frozen=True)
class Map:
    """Claims over the points of a plane; each point has the claims in their order."""

    paper: Paper
    plan: MapPlan
    reading: str | None
    claims: tuple[Claim, ...]
    points: tuple[Point, ...]
    picture: Path

    @property
    def title(self) -> str:
        """The plan's, with the reading that it is drawn under."""
        return f"{self.plan.title} ({self.reading})" if self.reading else self.plan.title

    def to_list(self) -> list[dict[str, object]]:
        """What `sojourn reproduce --map NAME --json` prints."""
        return [
            {
                "paper": self.paper.name,
                "reading": self.reading,
                "figure": ", ".join(claim.figures),
                "claim": claim.claim,
                "source": claim.source,
                self.plan.x.path: point.x,
                self.plan.y.path: point.y,
                "measured": judged.measured,
                "holds": judged.holds,
            }
            for point in self.points
            for claim, judged in zip(self.claims, point.judged, strict=True)
        ]

    def with_most(self) -> list[Point]:
        """The points at which as many claims hold as at any."""
        most = max(point.holding for point in self.points)
        return [point for point in self.points if point.holding == most]

    def by_point(self, claim: Claim) -> list[bool | None]:
        """Whether a claim holds at each point; None where it was not measured."""
        place = self.claims.index(claim)
        return [point.judged[place].holds for point in self.points]
