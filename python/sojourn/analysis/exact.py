"""What is known of a run's sojourn times without simulating them, beside what was simulated.

The formulas are the engine's; which one applies to a case, or why none does, is among its figures.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sojourn._core import Case
from sojourn._internal.units import PS_PER_MS, bracketed, count, number
from sojourn._internal.vocabulary import ALL_SIZES, kind_of, worded
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.analysis.statistics import Values
from sojourn.store.ledger import Ledger, Value


@dataclass(frozen=True)
class Known:
    """What is known of a mean sojourn time, in milliseconds, and by which formulas.

    Either the mean itself, or what it is not below, perhaps also not above; and what it is about by
    two approximations. None where no formula applies.
    """

    words: str
    exact: float | None
    least: float | None
    most: float | None
    about: float | None
    scaled: float | None


def known(figures: Mapping[str, Value]) -> Known | None:
    """What is known of a case, out of its figures; None if nothing is."""

    def ms(name: str) -> float | None:
        value = figures.get(f"{name}_mean_sojourn_ps")
        return None if value is None else float(value) / PS_PER_MS

    exact, least, most, about, scaled = map(ms, ("exact", "least", "most", "about", "scaled"))
    if exact is None and least is None:
        return None
    return Known(str(figures.get("analysis", "")), exact, least, most, about, scaled)


@dataclass(frozen=True)
class Distribution:
    """Between which two shares of the jobs are done by each of some times, and by which formulas.

    Times are in milliseconds, rising. The shares are the same where the distribution is known.
    """

    words: str
    times: Values
    least: Values
    most: Values

    @property
    def exact(self) -> bool:
        """Whether it is known."""
        return bool(np.allclose(self.least, self.most))


def distribution(case: Case) -> Distribution | None:
    """How a case's sojourn times are distributed without simulating them; None if that is unknown.

    Raises:
        StudyError: the case cannot be run.
    """
    found = case.distribution()
    if found is None:
        return None
    columns, words = found
    times, least, most = (
        np.asarray(columns[name], np.float64) for name in ("sojourn_ps", "least", "most")
    )
    return Distribution(words, times / PS_PER_MS, least, most)


def lines(ledger: Ledger, estimates: Iterable[MetricSummary]) -> tuple[str, ...]:
    """What is known of each case, by which formula, and of how many nothing, and why.

    Args:
        ledger: the cases.
        estimates: what was simulated; those grouped as the cases are stand in their lines.
    """
    estimates = [*estimates]
    times = (kind_of(estimate.kind).time for estimate in estimates)
    name = next((time.name for time in times if time), "sojourn time")
    simulated = {
        tuple(e.case.items()): _simulated(e)
        for e in estimates
        if e.metric == "sojourn_ps" and e.bin == ALL_SIZES and e.mean is not None
    }
    by_words: dict[str, dict[int, str]] = {}
    unknown: dict[str, set[int]] = {}
    for record in ledger:
        words = record.figures.get("analysis")
        if words is None:
            continue
        of_case = known(record.figures)
        if of_case is None:
            unknown.setdefault(str(words), set()).add(record.case)
            continue
        case = worded(record.axes.items())
        beside = simulated.get(tuple(record.axes.items()), "")
        line = f"mean {name}{f' of {case}' if case else ''}: {_said(of_case)}{beside}"
        by_words.setdefault(str(words), {})[record.case] = line
    said = []
    for words, cases in by_words.items():
        said += [*cases.values(), f"known by: {words}"]
    said += [f"{words} ({count(len(cases), 'case')})" for words, cases in unknown.items()]
    return tuple(said)


def _said(of: Known) -> str:
    if of.exact is not None:
        return f"exactly {number(of.exact)} ms"
    least = number(of.least or 0)
    between = f"at least {least}" if of.most is None else f"between {least} and {number(of.most)}"
    said = [f"{between} ms"]
    said += [] if of.about is None else [f"about {number(of.about)}"]
    said += [] if of.scaled is None else [f"scaled from two disks {number(of.scaled)}"]
    return ", ".join(said)


def _simulated(estimate: MetricSummary) -> str:
    mean = number((estimate.mean or 0) / PS_PER_MS)
    if estimate.ci95 is None:
        return f"; simulated {mean} ms"
    return f"; simulated {mean} {bracketed(estimate.ci95, PS_PER_MS)} ms"
