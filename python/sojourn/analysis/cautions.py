"""What a user must know before they trust the numbers of a run."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TypeAlias

from sojourn._internal.units import count
from sojourn._internal.vocabulary import Caution, doubts, loop_depth, worded
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
        *outside_learnt(run.ledger),
        *replayed(run.ledger),
        *saturated(run.ledger),
        *doubted(run.ledger),
        *disturbed(run.ledger),
    ]


def disturbed(ledger: Ledger) -> list[str]:
    """What is said of cases that were measured while the machine's processors had no time."""
    said = []
    for busy, limit, before, after in (
        (
            {record.key: record.processors_busy for record in ledger},
            PROCESSORS_BUSY,
            "the processors were up to {most:.0%} busy",
            "the machine itself may have been the slowest part",
        ),
        (
            {record.key: record.processors_busy_elsewhere for record in ledger},
            BUSY_ELSEWHERE,
            "other programs took up to {most:.0%} of the processors' time",
            "hosts and timers may have been late",
        ),
    ):
        cases = [record.axes for record in ledger if busy[record.key] > limit]
        if cases:
            most = max(busy.values())
            said.append(f"measured while {before.format(most=most)}{_of(cases)}: {after}")
    return said


def estimated(meta: Mapping[str, object]) -> list[str]:
    """What is said of a run that was not simulated but estimated."""
    return [str(meta["estimated"])] if "estimated" in meta else []


def doubted(ledger: Ledger) -> list[str]:
    """What figures say against the numbers of cases, as the cases' model has it."""
    said = []
    for caution in doubts().cautions:
        if caution.from_ is None:
            found = _worded(ledger, caution.total)
            said += [caution.of(words, _of(cases)) for words, cases in found.items()]
        elif over := [own for own in ledger if _share(own.figures, caution) >= caution.from_]:
            most = max(_share(own.figures, caution) for own in over)
            said.append(caution.of(most, _of([own.axes for own in over])))
    return said


def failed(ledger: Ledger) -> bool:
    """Whether a case came to no good end, as one whose ports stop each other for ever."""
    return any(record.figures.get(name) for record in ledger for name in doubts().failures)


def _share(figures: Mapping[str, Value], caution: Caution) -> float:
    """The number that a caution tells of; 0 where a case has none."""
    value = figures.get(caution.total)
    return value if isinstance(value, float) else 0.0


def outside_learnt(ledger: Ledger) -> list[str]:
    """What is said of cases that ask of a learnt disk what it was not learnt from."""
    return [
        f"beyond what the disk was learnt from: {words}{_of(cases)}"
        for words, cases in _worded(ledger, OUTSIDE).items()
    ]


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

    The work of a port may all be one flow's, in a short run.
    """
    found: dict[str, list[Case]] = {}
    for record in ledger:
        for station in never_resting(record.figures):
            found.setdefault(station.text, []).append(record.axes)
    return [text.replace("{cases}", _of(cases)) for text, cases in found.items()]


def never_resting(figures: Mapping[str, Value]) -> list[Caution]:
    """The stations of a case that are busy all the time.

    In a closed loop there is none: as many requests as it has wait at most, and no queue grows.
    """
    if loop_depth() in figures:
        return []
    return [own for own in doubts().stations if _share(figures, own) >= (own.from_ or 0.0)]


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
