"""A choice between arrays as a picture: what they cost, and how long requests take."""

from sojourn._internal.units import PS_PER_MS, count
from sojourn.planning import Candidate, Choice
from sojourn.presentation import style
from sojourn.presentation.points import Point, draw_points
from sojourn.presentation.style import Picture


def draw(choice: Choice) -> Picture:
    """The simulated candidates by price, the limit, and a ring around the cheapest."""
    shown = [c for c in choice.candidates if c.value_ps is not None]
    left_out = len(choice.candidates) - len(shown)
    said = ["a number beside a point: how many disks"]
    if any(c.ci95_ps for c in shown):
        said.append("bars: 95 % intervals")
    if left_out:
        said.append(f"{count(left_out, 'candidate')} not simulated")
    lines: dict[str, list[Candidate]] = {}
    for candidate in shown:
        lines.setdefault(_line(candidate), []).append(candidate)
    of = "mean" if choice.percentile is None else f"{choice.percentile:g}th percentile of the"
    with style.applied():
        title = f"{choice.title}: {choice.target}"
        picture, ((panel,),) = style.panels(1, 1, title, "; ".join(said))
        picture.set_size_inches(7, 4.5)
        numbered: set[tuple[float, int | None]] = set()
        for place, (line, candidates) in enumerate(lines.items()):
            look = style.look(place) | {"linestyle": ""}
            draw_points(panel, [_point(candidate) for candidate in candidates], line, look)
            for candidate in candidates:
                if (candidate.cost, candidate.disks) in numbered:
                    continue
                numbered.add((candidate.cost, candidate.disks))
                price, (value, _, _) = _point(candidate)
                panel.annotate(
                    str(candidate.disks),
                    (price, value),
                    xytext=(5, 4),
                    textcoords="offset points",
                    fontsize=7,
                    color="0.35",
                )
        limit = choice.limit_ps / PS_PER_MS
        panel.axhline(limit, color="0.4", linewidth=1, linestyle="--", label="target")
        if choice.cheapest is not None:
            price, (value, _, _) = _point(choice.cheapest)
            panel.scatter(
                [price],
                [value],
                s=140,
                facecolors="none",
                edgecolors="0.2",
                zorder=5,
                label="cheapest that meets it",
            )
        panel.set_xlabel("price, as the plan gives it")
        panel.set_ylabel(f"{of} response time [ms]")
        if shown:
            style.logarithmic(panel, "y")
        style.legend(picture, [panel])
    return picture


def _line(candidate: Candidate) -> str:
    """What the candidates of a line have in common: all but how many disks they have."""
    words = [str(value).partition(" disks")[0] for value in candidate.axes.values()]
    return ", ".join(words)


def _point(candidate: Candidate) -> tuple[float, Point]:
    """Where a candidate is drawn: its price; its value and the ends of its interval, in ms."""
    assert candidate.value_ps is not None  # noqa: S101 - only simulated ones are drawn
    middle = candidate.value_ps
    low, high = candidate.ci95_ps or (middle, middle)
    return candidate.cost, (middle / PS_PER_MS, low / PS_PER_MS, high / PS_PER_MS)
