"""Where in a plane of two parameters each claim of a paper holds."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from sojourn._internal import build
from sojourn._internal.errors import InputError, Interrupted
from sojourn._internal.files import read_text, write_text
from sojourn._internal.formats import json_text
from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import count
from sojourn.reproduction import reproduce
from sojourn.reproduction.claims import Claim
from sojourn.reproduction.map_drawing import draw
from sojourn.reproduction.map_points import Judged, Map, Point
from sojourn.reproduction.papers import Figure, MapPlan, Paper

POINTS = "points.json"


def mapped(
    paper: Paper,
    name: str,
    out: Path,
    *,
    reading: str | None,
    command: str,
    report: Callable[[str], None],
) -> Map:
    """Judge the claims of a map at each of its points, in brief runs, and draw it.

    Args:
        paper: the paper.
        name: which of its maps.
        out: holds `points.json` and `map.png` afterwards. A point that stands there, of the same
            version, studies and claims, is not run again; the rows of its runs are not kept.
        reading: one of the paper's, or as it is studied.
        command: what goes into the runs' `meta.json`.
        report: is called with a line for each point that is done.

    Raises:
        InputError: no such map, or a reading that changes nothing on it; something cannot be
            written.
        SpecError: a study cannot be run at some point.
        Interrupted: Ctrl-C; finished points are kept.
    """
    plan = paper.map_plan(name)
    read = paper.under(reading)
    figures = [
        replace(figure, panels=(), table={})
        for figure in paper.figures.values()
        if set(figure.runs) <= set(plan.runs)
    ]
    claims = paper.claims_of(figures)
    places = list(product(plan.x.values, plan.y.values))
    own = _digest(read, plan, claims)
    digests = [_digest(read.at(plan, x, y), plan, claims) for x, y in places]
    if reading and digests == [_digest(paper.at(plan, x, y), plan, claims) for x, y in places]:
        raise InputError(
            f"{paper.name}: the reading {reading!r} changes nothing on the map {name!r}"
        )
    picture = out / "map.png"
    if picture.is_dir():
        raise InputError(f"{picture}: expected a place for the picture, but it is a directory")
    out.mkdir(parents=True, exist_ok=True)
    stored = _stored(out / POINTS)
    points = []
    for number, ((x, y), digest) in enumerate(zip(places, digests, strict=True), 1):
        known = stored.get(f"{x}, {y}")
        if known is None or known.studies != digest or len(known.claims) != len(claims):
            try:
                judged = _judge(read.at(plan, x, y), figures, claims, out, command=command)
            except Interrupted:
                done = f"{number - 1} of {len(places)} points finished and kept in {out / POINTS}"
                raise Interrupted(f"interrupted: {done}; the same command resumes") from None
            known = stored[f"{x}, {y}"] = _Stored(digest, judged)
            texts = {key: asdict(point) for key, point in stored.items()}
            write_text(out / POINTS, json_text(texts))
        points.append(Point(x, y, tuple(known.claims), as_studied=digest == own))
        holding = f"{points[-1].holding} of {len(claims)} hold"
        report(f"{number} of {len(places)}: {_place(plan, points[-1])}: {holding}")
    found = Map(paper, plan, reading, tuple(claims), tuple(points), picture)
    draw(found).write(picture)
    return found


def _digest(paper: Paper, plan: MapPlan, claims: Sequence[Claim]) -> str:
    """What tells the version, the studies of a point and the claims from all others."""
    texts = [paper.runs[run].parsed(full=False).resolved() for run in plan.runs]
    text = "\n".join([build.version(), *texts, *map(repr, claims)])
    return hashlib.sha256(text.encode()).hexdigest()


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
            key: _Stored(point["studies"], [_judged(**one) for one in point["claims"]])
            for key, point in json.loads(read_text(path, "points of a map")).items()
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        expected = "expected the points of a map; remove it to run them again"
        raise InputError(f"{path}: {expected}") from None


def _judged(measured: object, holds: object) -> Judged:
    """What a file says of a claim.

    Raises:
        ValueError: it is not that.
    """
    match measured, holds:
        case (float() | int() | None) as value, (bool() | None) as held:
            return Judged(value, held)
        case [float() | int() as low, float() | int() as high], (bool() | None) as held:
            return Judged([low, high], held)
    raise ValueError(f"{measured!r}, {holds!r}")


def _judge(
    paper: Paper, figures: Sequence[Figure], claims: Sequence[Claim], out: Path, *, command: str
) -> list[Judged]:
    with TemporaryDirectory(prefix="runs-", dir=out) as place:
        done = reproduce(paper, figures, Path(place), full=False, command=command)
    found = {(one.claim, one.source): one for one in done.verdicts}
    verdicts = [found[claim.claim, claim.source] for claim in claims]
    return [Judged(one.measured, None if one.measured is None else one.holds) for one in verdicts]


_MOST_NAMED = 12


def show(found: Map) -> None:
    """Print at how many points each claim holds, and where most of them do."""
    points = len(found.points)
    lines = []
    for claim in found.claims:
        held = found.by_point(claim)
        missing = held.count(None)
        said = f"{held.count(True)} of {points}" + (f", {missing} not measured" if missing else "")
        lines.append([", ".join(claim.figures), claim.claim, said])
    title = f"{found.title} ({found.paper.source})"
    print_table([lines], ["figure", "claim", "holds at"], title=title, numbers=1)
    print_lines(_lines(found))


def _lines(found: Map) -> Iterator[str]:
    best, points = found.with_most(), len(found.points)
    holding = f"{best[0].holding} of {len(found.claims)} claims hold"
    more = "" if best[0].holding == len(found.claims) else ", more at none"
    yield f"{holding} at {len(best)} of {points} points{more}"
    yield from (f"  {_place(found.plan, point)}" for point in best[:_MOST_NAMED])
    if len(best) > _MOST_NAMED:
        yield f"  and {count(len(best) - _MOST_NAMED, 'more point')}"
    yield f"picture: {found.picture}"


def _place(plan: MapPlan, point: Point) -> str:
    return f"{plan.x.path} = {point.x}, {plan.y.path} = {point.y}"
