"""A choice between arrays as a picture: what they cost, and how long requests take."""

from sojourn import style
from sojourn.plan import Candidate, Choice
from sojourn.style import Picture

_MS = 1e9


def draw(choice: Choice) -> Picture:
    """The simulated candidates by price, the limit, and a ring around the cheapest."""
    shown = [c for c in choice.candidates if c.value_ps is not None]
    left_out = len(choice.candidates) - len(shown)
    note = "bars: 95 % intervals" + (f"; {left_out} candidates not simulated" if left_out else "")
    lines: dict[str, list[Candidate]] = {}
    for candidate in shown:
        lines.setdefault(_line(candidate), []).append(candidate)
    of = "mean" if choice.percentile is None else f"{choice.percentile:g}th percentile"
    with style.applied():
        picture, ((panel,),) = style.panels(1, 1, f"{choice.title}: {choice.target}", note)
        picture.set_size_inches(7, 4.5)
        counted: set[tuple[float, int | None]] = set()
        for place, (line, candidates) in enumerate(lines.items()):
            look = style.look(place) | {"linestyle": ""}
            middle = [_value(c) for c in candidates]
            ends = [c.ci95_ps or (_value(c), _value(c)) for c in candidates]
            bars = [
                [(value - low) / _MS for value, (low, _) in zip(middle, ends, strict=True)],
                [(high - value) / _MS for value, (_, high) in zip(middle, ends, strict=True)],
            ]
            prices = [c.cost for c in candidates]
            values = [value / _MS for value in middle]
            panel.errorbar(prices, values, bars, capsize=2, label=line, **look)
            for candidate, value in zip(candidates, values, strict=True):
                if (candidate.cost, candidate.disks) in counted:
                    continue
                counted.add((candidate.cost, candidate.disks))
                panel.annotate(
                    str(candidate.disks),
                    (candidate.cost, value),
                    xytext=(5, 4),
                    textcoords="offset points",
                    fontsize=7,
                    color="0.35",
                )
        panel.axhline(
            choice.limit_ps / _MS, color="0.4", linewidth=1, linestyle="--", label="target"
        )
        cheapest = choice.cheapest
        if cheapest is not None:
            panel.scatter(
                [cheapest.cost],
                [_value(cheapest) / _MS],
                s=140,
                facecolors="none",
                edgecolors="0.2",
                zorder=5,
            )
        panel.set_xlabel("price; a number beside a point: how many disks")
        panel.set_ylabel(f"{of} of sojourn times [ms]")
        if shown:
            style.logarithmic(panel, "y")
        style.legend(picture, [panel])
    return picture


def _line(candidate: Candidate) -> str:
    """What the candidates of a line have in common: all but how many disks they have."""
    words = [str(value).partition(" disks")[0] for value in candidate.axes.values()]
    return ", ".join(words)


def _value(candidate: Candidate) -> float:
    assert candidate.value_ps is not None  # noqa: S101 - only simulated ones are drawn
    return candidate.value_ps
