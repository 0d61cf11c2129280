"""What a user must know before they trust the numbers of a run."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TypeAlias

from sojourn._internal.units import count
from sojourn._internal.vocabulary import worded
from sojourn.analysis.observed import FEWEST_INSTANTS
from sojourn.analysis.run_length import FEWEST_BEYOND, instants
from sojourn.analysis.sample import Sample
from sojourn.analysis.trend import rises
from sojourn.store import traces
from sojourn.store.ledger import Ledger, Value
from sojourn.store.service_list import OUTSIDE
from sojourn.store.stored_run import StoredRun

Case: TypeAlias = Mapping[str, Value | None]

PROCESSORS_BUSY = 0.8
"""The share of the time above which busy processors may have limited what was measured."""

BUSY_ELSEWHERE = 0.25
"""The share of the processors' time that other programs may take before it is said."""

_BUSY = 0.99
_PORT = "busiest_port_utilisation"
_OFFERED = "queue_utilisation_offered"
_BUSY_PORT = 0.95  # hosts that lost packets leave one idle at times, whatever is offered
_RECEIVED = "received_share_of_link"
_NAMED = 3


def grows(sample: Sample) -> bool:
    """Whether jobs take longer and longer to the end of their runs, each after its warm-up.

    Jobs that arrive at few different times have no order in which they could.
    """
    series = [part for part in sample.parts if instants(part.arrived_ps) >= FEWEST_INSTANTS]
    return rises([part.metrics["slowdown"][part.kept("slowdown")] for part in series])


def of_run(run: StoredRun) -> list[str]:
    """What is said of a run as a whole, whichever of its jobs are looked at."""
    return [
        *estimated(run.meta),
        *doubted(run.ledger),
        *outside_learnt(run.ledger),
        *unseen(run.ledger),
        *replayed(run.ledger),
        *saturated(run.ledger),
        *beyond_the_link(run.ledger),
        *overloaded(run.ledger),
        *too_short(run.ledger),
        *disturbed(run.ledger),
    ]


def disturbed(ledger: Ledger) -> list[str]:
    """What is said of cases that were measured while the machine's processors had no time."""
    said = []
    for figure, limit, before, after in (
        (
            "processors_busy",
            PROCESSORS_BUSY,
            "the processors were up to {most:.0%} busy",
            "the machine itself may have been the slowest part",
        ),
        (
            "processors_busy_elsewhere",
            BUSY_ELSEWHERE,
            "other programs took up to {most:.0%} of the processors' time",
            "hosts and timers may have been late",
        ),
    ):
        busy = {record.key: float(record.figures.get(figure, 0)) for record in ledger}
        cases = [record.axes for record in ledger if busy[record.key] > limit]
        if cases:
            most = max(busy.values())
            said.append(f"measured while {before.format(most=most)}{_of(cases)}: {after}")
    return said


def estimated(meta: Mapping[str, object]) -> list[str]:
    """What is said of a run that was not simulated but estimated."""
    return [str(meta["estimated"])] if "estimated" in meta else []


def doubted(ledger: Ledger) -> list[str]:
    """What speaks against the estimates of cases, where their assumptions do not hold."""
    return [
        f"the estimate's assumptions fail: {words}{_of(cases)}"
        for words, cases in _worded(ledger, "doubts").items()
    ]


def outside_learnt(ledger: Ledger) -> list[str]:
    """What is said of cases that ask of a learnt disk what it was not learnt from."""
    return [
        f"beyond what the disk was learnt from: {words}{_of(cases)}"
        for words, cases in _worded(ledger, OUTSIDE).items()
    ]


def unseen(ledger: Ledger) -> list[str]:
    """What is said of traces whose places change no service."""
    return [f"{why}{_of(cases)}" for why, cases in _worded(ledger, "places_unseen").items()]


def _worded(ledger: Ledger, figure: str) -> dict[str, list[Case]]:
    """The cases by each of the words that a figure of theirs has, with semicolons between."""
    found: dict[str, list[Case]] = {}
    for record in ledger:
        if said := record.figures.get(figure):
            for words in str(said).split("; "):
                found.setdefault(words, []).append(record.axes)
    return found


def unsteady(cases: Sequence[Case]) -> list[str]:
    """What is said of groups whose jobs take longer and longer (`grows`)."""
    if not cases:
        return []
    return [
        f"jobs take longer and longer to the end of the run{_of(cases)}: no steady state,"
        " and a longer run gives other numbers"
    ]


def pooled(groups: Iterable[Set[int]], ledger: Ledger) -> list[str]:
    """What is said of groups of cases that differ in what was swept."""
    axes = {record.case: record.axes for record in ledger}
    names = dict.fromkeys(
        name
        for cases in groups
        for name in axes[min(cases)]
        if len({axes[case].get(name) for case in cases}) > 1
    )
    if not names:
        return []
    return [f"lines are of different cases, {' and '.join(names)}: --by would keep these apart"]


def saturated(ledger: Ledger) -> list[str]:
    """What is said of cases with a station that never rests: there is more work than it can do.

    That of a port may all be one flow's, in a short run.
    """
    found: dict[bool, list[Case]] = {}
    for record in ledger:
        for name in never_resting(record.figures):
            found.setdefault(name == _PORT, []).append(record.axes)
    return [
        f"a {'port' if is_port else 'station'} is busy all the time{_of(cases)}:"
        f" the load is at its capacity or over it{', or a few flows fill it' if is_port else ''}"
        for is_port, cases in found.items()
    ]


def never_resting(figures: Mapping[str, Value]) -> list[str]:
    """The figures of a case that say of its busiest station that it is busy all the time.

    None of a closed loop: as many requests as it has wait at most, and no queue grows.
    """
    if "closed_loop_depth" in figures:
        return []
    return [
        name
        for name, value in figures.items()
        if name.startswith("busiest")
        and isinstance(value, float)
        and value >= (_BUSY_PORT if name == _PORT else _BUSY)
    ]


def beyond_the_link(ledger: Ledger) -> list[str]:
    """What is said of cases in which long flows seem to get more than a host's link carries."""
    shares = {
        record.key: float(record.figures[_RECEIVED])
        for record in ledger
        if float(record.figures.get(_RECEIVED, 0)) > 1
    }
    if not shares:
        return []
    cases = [record.axes for record in ledger if record.key in shares]
    return [
        f"the goodputs of a host's flows sum to {max(shares.values()):.1%} of what its link can"
        f" carry{_of(cases)}: they are not what the host received"
    ]


def overloaded(ledger: Ledger) -> list[str]:
    """What is said of cases whose jobs bring more to a queue than it can do."""
    found = {
        record.key: (float(record.figures[_OFFERED]), record.axes)
        for record in ledger
        if float(record.figures.get(_OFFERED, 0)) >= 1
    }
    if not found:
        return []
    most = max(offered for offered, _ in found.values())
    return [
        f"up to {most:.0%} of what the busiest link carries is offered to it"
        f"{_of([axes for _, axes in found.values()])}: no steady state, and a longer run gives"
        " other numbers"
    ]


def too_short(ledger: Ledger) -> list[str]:
    """What times of a scheme the fabric is too long for: why flows are slow, or stay unfinished."""
    found: dict[str, list[Case]] = {}
    for record in ledger:
        if words := record.figures.get("too_short"):
            found.setdefault(str(words), []).append(record.axes)
    return [words + _of(cases) for words, cases in found.items()]


def replayed(ledger: Ledger) -> list[str]:
    """What became of the traces that cases were made of, where they were not taken as they are."""
    found: dict[str, list[Case]] = {}
    for record in ledger:
        if changed := traces.changes(record.figures):
            lines = int(record.figures["trace_lines"])
            words = f"trace of {count(lines, 'line')}: {changed}"
            found.setdefault(words, []).append(record.axes)
    return [words + (_of(cases) if len(found) > 1 else "") for words, cases in found.items()]


def thin(lines: Sequence[int], percentiles: Sequence[float]) -> list[str]:
    """What is said of percentiles that hang on a handful of jobs.

    Args:
        lines: how many jobs each line of a table is about.
        percentiles: those that are shown of each, in per cent.
    """
    few = {
        f"p{p:g}": sum(0 < jobs * min(p, 100 - p) / 100 < FEWEST_BEYOND for jobs in lines)
        for p in percentiles
        if 0 < p < 100
    }
    said = ", ".join(f"{name} in {many}" for name, many in few.items() if many)
    if not said:
        return []
    of = count(len(lines), "line")
    return [f"percentiles with fewer than {FEWEST_BEYOND} jobs beyond them, of {of}: {said}"]


def _of(cases: Sequence[Case]) -> str:
    """The cases by what is swept; nothing where nothing is."""
    named = dict.fromkeys(worded(case.items()) for case in cases)
    shown = [name for name in named if name]
    if not shown:
        return ""
    more = len(shown) - _NAMED
    end = f"; and {more} more" if more > 0 else ""
    return f" ({'; '.join(shown[:_NAMED])}{end})"
