"""Where each claim of the history holds, over how many hosts are slow and how slow they are.

    python papers/sendmail/hosts.py [READING]

judges the claims about some of the paper's runs at each point of a plane (decision 0041), in brief
runs, says at how many points each holds and where most of them do, and draws `map.png`, all in
`out/sendmail-map-hosts`, with a READING in a folder of its name. Points that are done stand in
`points.json` and are not run again unless a study, a claim or the version changed. Rows are not
kept.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sojourn._internal import build
from sojourn._internal.errors import InputError, Interrupted
from sojourn._internal.files import write_text
from sojourn._internal.formats import json_text
from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import count
from sojourn.presentation import style
from sojourn.presentation.style import Picture
from sojourn.reproduction import papers, reproduce
from sojourn.reproduction.claims import Claim
from sojourn.reproduction.papers import Figure, Paper

RUNS = ["lists", "order", "checkpoint", "timeouts", "queues", "biggest"]
SLOW = [0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9]
REPLIES = [f"{s:g}s" for s in (1, 1.5, 2, 2.5, 2.8, 3.1, 3.4, 3.7, 4, 5, 7, 10, 14)]

_TITLE = "Three kinds of hosts: where each claim of the history holds"
_NOTE = "1,400 subscribers; some hosts are unavailable, the others prompt or slow"
_AXES = {
    "xlabel": "share of hosts that are slow",
    "ylabel": "a slow host's time for an answer, median",
}
_IN_A_ROW, _TITLE_WIDE, _MOST_NAMED = 4, 44, 12
_FAILS, _HOLDS, _UNKNOWN, _ALL = "#E8E8E8", style.COLOURS[5], style.COLOURS[4], style.COLOURS[2]
_HERE: dict[str, Any] = {"marker": "*", "color": "black", "markersize": 9, "linestyle": ""}
_CELLS = (True, False, None)
_ALIKE = {
    True: "These hold at every point",
    False: "These hold at none",
    None: "These were measured at none",
}


@dataclass(frozen=True)
class Point:
    """A point of the plane: whether each claim holds there, None where it could not be measured."""

    slow: float
    reply: str
    holds: Sequence[bool | None]
    as_studied: bool

    @property
    def holding(self) -> int:
        """How many claims hold."""
        return sum(map(bool, self.holds))

    def __str__(self) -> str:
        return f"internet.slow = {self.slow}, internet.slow_reply = {self.reply}"


def judged(paper: Paper, out: Path) -> tuple[list[Claim], list[Point]]:
    """The claims, and the points of the plane at which they were judged.

    Raises:
        InputError: `points.json` cannot be written, or is none.
        Interrupted: Ctrl-C; finished points are kept.
    """
    figures = [
        replace(figure, panels=(), table={})
        for figure in paper.figures.values()
        if set(figure.runs) <= set(RUNS)
    ]
    claims, points = paper.claims_of(figures), list[Point]()
    file, as_studied = out / "points.json", _digest(paper, claims)
    out.mkdir(parents=True, exist_ok=True)
    stored, number = _stored(file), len(SLOW) * len(REPLIES)
    for slow, reply in product(SLOW, REPLIES):
        there, key = _at(paper, slow, reply), f"{slow}, {reply}"
        studies = _digest(there, claims)
        if stored.get(key, {}).get("studies") != studies:
            try:
                verdicts = _verdicts(there, figures, claims, out)
            except Interrupted:
                done = f"{len(points)} of {number} points finished and kept in {file}"
                raise Interrupted(f"interrupted: {done}; the same command resumes") from None
            stored[key] = {"studies": studies, "claims": verdicts}
            write_text(file, json_text(stored))
        holds = [one["holds"] for one in stored[key]["claims"]]
        points.append(Point(slow, reply, holds, studies == as_studied))
        if sys.stderr.isatty():
            holding = f"{points[-1].holding} of {len(claims)} hold"
            sys.stderr.write(f"{len(points)} of {number}: {points[-1]}: {holding}\n")
    return claims, points


def _stored(file: Path) -> dict[str, Any]:
    """The points that are done: what tells their studies from others, and the verdicts."""
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        expected = "expected the points of a map; remove it to run them again"
        raise InputError(f"{file}: {expected}") from None
    return found


def _at(paper: Paper, slow: float, reply: str) -> Paper:
    """The paper at a point of the plane."""
    settings = [f"internet.slow = {slow}", f'internet.slow_reply = "{reply}"']
    return replace(
        paper, runs={**paper.runs, **{run: paper.runs[run].changed(settings) for run in RUNS}}
    )


def _digest(paper: Paper, claims: Sequence[Claim]) -> str:
    """What distinguishes the version, the studies of a point and the claims from all others."""
    studies = [paper.runs[run].parsed(full=False).resolved() for run in RUNS]
    text = "\n".join([build.version(), *studies, *map(repr, claims)])
    return hashlib.sha256(text.encode()).hexdigest()


def _verdicts(
    paper: Paper, figures: Sequence[Figure], claims: Sequence[Claim], out: Path
) -> list[dict[str, object]]:
    with TemporaryDirectory(prefix="runs-", dir=out) as place:
        done = reproduce(paper, figures, Path(place), full=False, command="hosts.py")
    found = {(one.claim, one.source): one for one in done.verdicts}
    verdicts = [found[claim.claim, claim.source] for claim in claims]
    return [{"measured": one.measured, "holds": one.answer} for one in verdicts]


def _by_claim(
    claims: Sequence[Claim], points: Sequence[Point]
) -> list[tuple[Claim, tuple[bool | None, ...]]]:
    """Each claim, and whether it holds at each point."""
    return [*zip(claims, zip(*(point.holds for point in points), strict=True), strict=True)]


def show(title: str, claims: Sequence[Claim], points: Sequence[Point]) -> None:
    """Print at how many points each claim holds, and where most of them do."""
    lines = []
    for claim, held in _by_claim(claims, points):
        missing = f", {held.count(None)} not measured" if None in held else ""
        said = f"{held.count(True)} of {len(points)}{missing}"
        lines.append([", ".join(claim.figures), claim.claim, said])
    heads = ["figure", "claim", "holds at"]
    print_table([lines], heads, title=title, numbers=1)
    most = max(point.holding for point in points)
    best = [point for point in points if point.holding == most]
    more = "" if most == len(claims) else ", more at none"
    holding = f"{most} of {len(claims)} claims hold"
    print_lines([f"{holding} at {len(best)} of {len(points)} points{more}"])
    print_lines(f"  {point}" for point in best[:_MOST_NAMED])
    if len(best) > _MOST_NAMED:
        print_lines([f"  and {count(len(best) - _MOST_NAMED, 'more point')}"])


def draw(title: str, claims: Sequence[Claim], points: Sequence[Point]) -> Picture:
    """Draw a panel for each claim that holds at some points and not at others, and their sum.

    Claims that are alike at all points stand in the note.
    """
    held = _by_claim(claims, points)
    divided = [(claim, own) for claim, own in held if len(set(own)) > 1]
    notes = [_NOTE]
    for answer, said in _ALIKE.items():
        names = [claim.claim for claim, own in held if set(own) == {answer}]
        notes += [f"{said}: {'; '.join(names)}"] if names else []
    with style.applied():
        number = len(divided) + 1
        rows, columns = -(-number // _IN_A_ROW), min(number, _IN_A_ROW)
        size = (1.5 + 3.4 * columns, 1.6 + 3.3 * rows)
        picture, grid = style.panels(rows, columns, title, ". ".join(notes), size=size)
        panels = [panel for row in grid for panel in row]
        for panel, (claim, own) in zip(panels, divided, strict=False):
            cells = [_CELLS.index(answer) for answer in own]
            _cells(panel, cells, ListedColormap([_HOLDS, _FAILS, _UNKNOWN]), 2)
            for place, point in enumerate(points):
                if point.as_studied:
                    panel.plot(*divmod(place, len(REPLIES)), **_HERE)
            panel.set_title(fill(claim.claim, _TITLE_WIDE), fontsize=7.5)
        _sum(panels[len(divided)], points, len(claims))
        for panel in panels[number:]:
            panel.set_axis_off()
        for panel in panels[:number]:
            panel.set(**_AXES)
        if signs := _signs(points, len(claims), any_divided=bool(divided)):
            picture.legend(handles=signs, loc="outside right upper", frameon=False, fontsize=8)
    return picture


def _signs(points: Sequence[Point], most: int, *, any_divided: bool) -> list[Any]:
    """What the legend explains: nothing that is not drawn."""
    signs: list[Any] = []
    if any_divided:
        signs += [Patch(color=_HOLDS, label="holds"), Patch(color=_FAILS, label="does not")]
    if any(None in point.holds for point in points):
        signs.append(Patch(color=_UNKNOWN, label="not measured"))
    if any(point.holding == most for point in points):
        signs.append(Patch(color=_ALL, label="all hold"))
    if any(point.as_studied for point in points) and any_divided:
        signs.append(Line2D([], [], label="as studied", **_HERE))
    return signs


def _sum(panel: Axes, points: Sequence[Point], most: int) -> None:
    """How many claims hold at each point: from white to light grey, and where all do."""
    levels = [round(255 - 60 * number / most) for number in range(most)]
    colours = ListedColormap([*(f"#{level:02x}{level:02x}{level:02x}" for level in levels), _ALL])
    _cells(panel, [point.holding for point in points], colours, most)
    for place, point in enumerate(points):
        weight = "bold" if point.holding == most else "normal"
        where = divmod(place, len(REPLIES))
        panel.text(*where, str(point.holding), ha="center", va="center", fontsize=6, weight=weight)
    panel.set_title(f"How many of the {count(most, 'claim')} hold", fontsize=7.5)


def _cells(panel: Axes, values: Sequence[int], colours: ListedColormap, top: int) -> None:
    """A cell for each point, of equal size whatever lies between their values."""
    grid = np.array(values).reshape(len(SLOW), len(REPLIES)).T
    panel.pcolormesh(
        np.arange(len(SLOW)), np.arange(len(REPLIES)), grid,
        cmap=colours, vmin=0, vmax=top, edgecolors="white", linewidth=0.6,
    )  # fmt: skip
    panel.set_xticks(range(len(SLOW)), [str(value) for value in SLOW], fontsize=7)
    panel.set_yticks(range(len(REPLIES)), REPLIES, fontsize=7)
    panel.grid(visible=False)


def main(reading: str | None = None) -> None:
    """Judge, print and draw."""
    (paper,) = papers.find("sendmail")
    out = Path("out", "-".join(["sendmail", *([reading] if reading else []), "map-hosts"]))
    claims, points = judged(paper.under(reading), out)
    title = f"{_TITLE} ({reading})" if reading else _TITLE
    show(f"{title} ({paper.source})", claims, points)
    draw(title, claims, points).write(out / "map.png")
    print_lines([f"picture: {out / 'map.png'}"])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except (InputError, Interrupted) as error:
        sys.exit(f"sojourn: {error}")
