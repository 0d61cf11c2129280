"""What is known of a run's mean sojourn times without simulating them, beside what was simulated.

The formulas are the engine's; which one applies to a case, or why none does, is among its figures.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sojourn.ledger import Ledger, Value
from sojourn.units import count, number

if TYPE_CHECKING:
    from sojourn.summary import Estimate

_MS = 1e9


def lines(ledger: Ledger, estimates: Iterable["Estimate"]) -> tuple[str, ...]:
    """What is known of each case, by which formula, and of how many nothing, and why.

    Args:
        ledger: the cases.
        estimates: what was simulated; those grouped as the cases are stand in their lines.
    """
    simulated = {
        tuple(e.case.items()): _simulated(e)
        for e in estimates
        if e.metric == "sojourn_ps" and e.bin == "all" and e.mean is not None
    }
    known: dict[str, dict[int, str]] = {}
    unknown: dict[str, set[int]] = {}
    for record in ledger:
        words = record.figures.get("analysis")
        if words is None:
            continue
        said_of_it = _known(record.figures)
        if said_of_it is None:
            unknown.setdefault(str(words), set()).add(record.case)
            continue
        case = ", ".join(f"{name} {value}" for name, value in record.axes.items())
        beside = simulated.get(tuple(record.axes.items()), "")
        line = f"mean sojourn{f' of {case}' if case else ''}: {said_of_it}{beside}"
        known.setdefault(str(words), {})[record.case] = line
    said = []
    for words, cases in known.items():
        said += [*cases.values(), f"known by: {words}"]
    said += [f"{words} ({count(len(cases), 'case')})" for words, cases in unknown.items()]
    return tuple(said)


def _known(figures: Mapping[str, Value]) -> str | None:
    """What is known, in words."""

    def ms(name: str) -> str | None:
        value = figures.get(f"{name}_mean_sojourn_ps")
        return None if value is None else number(float(value) / _MS)

    exact, least, most, about = map(ms, ("exact", "least", "most", "about"))
    if exact is not None:
        return f"exactly {exact} ms"
    if least is None:
        return None
    between = f"at least {least} ms" if most is None else f"between {least} and {most} ms"
    return between if about is None else f"{between}, about {about}"


def _simulated(estimate: "Estimate") -> str:
    mean = number((estimate.mean or 0) / _MS)
    if estimate.ci95 is None:
        return f"; simulated {mean} ms"
    low, high = estimate.ci95
    return f"; simulated {mean} ± {number((high - low) / 2 / _MS, 2)} ms"
