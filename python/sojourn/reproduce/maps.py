"""Where in a plane of two parameters each claim of a paper holds."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

from sojourn import document, textfile
from sojourn.errors import InputError
from sojourn.files import write_text
from sojourn.ledger import Value
from sojourn.reproduce import reproduce, study_of
from sojourn.reproduce.claims import Claim
from sojourn.reproduce.papers import Figure, MapPlan, Paper
from sojourn.terminal import print_lines, print_table

POINTS = "points.json"


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
    claims: tuple[Claim, ...]
    points: tuple[Point, ...]
    picture: Path

    def to_list(self) -> list[dict[str, object]]:
        """What `sojourn reproduce --map NAME --json` prints."""
        return [
            {
                "paper": self.paper.name,
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

    def where_all_hold(self) -> list[Point]:
        """The points at which every claim holds."""
        return [point for point in self.points if point.holding == len(self.claims)]

    def holds(self, claim: Claim) -> list[bool | None]:
        """Whether a claim holds, point by point."""
        place = self.claims.index(claim)
        return [point.judged[place].holds for point in self.points]


def mapped(paper: Paper, name: str, out: Path, *, command: str, told: Callable[[str], None]) -> Map:
    """Judge the claims of a map at each of its points, in brief runs, and draw it.

    Args:
        paper: the paper, or one of its readings.
        name: which of its maps.
        out: holds `points.json` and `map.png` afterwards. A point that stands there, of the same
            studies and claims, is not run again; the rows of its runs are not kept.
        command: what goes into the runs' `meta.json`.
        told: is told of each point that is done.

    Raises:
        InputError: no such map; something cannot be written.
        SpecError: a study cannot be run at some point.
        Interrupted: Ctrl-C; finished points are kept.
    """
    from sojourn.reproduce.mapdrawing import draw

    plan = paper.map_plan(name)
    figures = [
        replace(figure, panels=(), table=None)
        for figure in paper.figures.values()
        if set(figure.runs) <= set(plan.runs)
    ]
    claims = paper.claims_of(figures)
    own = _studies(paper, plan, claims)
    stored = _stored(out / POINTS)
    points = []
    places = list(product(plan.x.values, plan.y.values))
    for number, (x, y) in enumerate(places, 1):
        there = paper.at(plan, x, y)
        studies = _studies(there, plan, claims)
        known = stored.get(f"{x}, {y}")
        if known is None or known.studies != studies or len(known.claims) != len(claims):
            judged = _judge(there, figures, claims, out / "runs", command=command)
            known = stored[f"{x}, {y}"] = _Stored(studies, judged)
            texts = {key: asdict(point) for key, point in stored.items()}
            write_text(out / POINTS, document.dumps(texts))
        points.append(Point(x, y, tuple(known.claims), as_studied=studies == own))
        holding = f"{points[-1].holding} of {len(claims)} hold"
        told(f"{number} of {len(places)}: {_place(plan, points[-1])}: {holding}")
    done = Map(paper, plan, tuple(claims), tuple(points), out / "map.png")
    draw(done).write(done.picture)
    return done


def _studies(paper: Paper, plan: MapPlan, claims: Sequence[Claim]) -> str:
    """What tells the studies of a point and the claims from all others."""
    texts = [study_of(paper, run, full=False).resolved() for run in plan.runs]
    told = "\n".join([*texts, *map(repr, claims)])
    return hashlib.sha256(told.encode()).hexdigest()


@dataclass(frozen=True)
class _Stored:
    """A point of `points.json`: what tells its studies from others, and its claims in order."""

    studies: str
    claims: list[Judged]


def _stored(path: Path) -> dict[str, _Stored]:
    if not path.exists():
        return {}
    try:
        return {
            key: _Stored(point["studies"], [Judged(**one) for one in point["claims"]])
            for key, point in json.loads(textfile.read(path, "points of a map")).items()
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        expected = "expected the points of a map; remove it to run them again"
        raise InputError(f"{path}: {expected}") from None


def _judge(
    paper: Paper, figures: Sequence[Figure], claims: Sequence[Claim], place: Path, *, command: str
) -> list[Judged]:
    shutil.rmtree(place, ignore_errors=True)
    done = reproduce(paper, figures, place, full=False, command=command)
    shutil.rmtree(place)
    found = {(one.claim, one.source): one for one in done.verdicts}
    verdicts = [found[claim.claim, claim.source] for claim in claims]
    return [
        Judged(one.measured, one.holds if one.measured is not None else None) for one in verdicts
    ]


def show(found: Map) -> None:
    """Print at how many points each claim holds, and where all do."""
    points = len(found.points)
    lines = []
    for claim in found.claims:
        held = found.holds(claim)
        lines.append([", ".join(claim.figures), claim.claim, f"{sum(map(bool, held))} of {points}"])
    title = f"{found.plan.title} ({found.paper.source})"
    print_table([lines], ["figure", "claim", "holds at"], title=title, numbers=1)
    print_lines(_lines(found))


def _lines(found: Map) -> Iterator[str]:
    all_hold = found.where_all_hold()
    yield f"all of them hold at {len(all_hold)} of {len(found.points)} points"
    yield from (f"  {_place(found.plan, point)}" for point in all_hold)
    if not all_hold:
        most = max(point.holding for point in found.points)
        yield f"at most {most} of {len(found.claims)}:"
        yield from (f"  {_place(found.plan, p)}" for p in found.points if p.holding == most)
    yield f"picture: {found.picture}"


def _place(plan: MapPlan, point: Point) -> str:
    return f"{plan.x.path} = {point.x}, {plan.y.path} = {point.y}"
