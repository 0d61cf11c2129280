"""Which of several arrays meets a target at the least price.

Candidates are tried from the cheapest on. Formulas go first: an array that is too small, that is
asked for more than it can serve, or whose requests take too long even if none waits, is not
simulated. The others are, replication by replication, until the 95 % interval of the target's
number lies on one side of the limit, or the plan's number of replications is spent. Each round has
twice as many replications as the one before, so that an interval is looked at a few times only:
with every look the chance grows that it clears the limit by luck. Whether there is an interval is
nothing that luck decides where the model knows how long runs have to be.
"""

from collections.abc import Callable
from dataclasses import replace

from sojourn._core import StudyError
from sojourn.execution import learnt_range
from sojourn.execution.execute import processors
from sojourn.planning.bounds import reason
from sojourn.planning.candidate import (
    DEARER,
    IMPOSSIBLE,
    MEETS,
    MISSES,
    OVERLOADED,
    SLOW,
    SMALL,
    UNCLEAR,
    Candidate,
    Choice,
)
from sojourn.planning.shortlist import Entry, Shortlist, read
from sojourn.planning.simulation import simulated

__all__ = [
    "DEARER",
    "IMPOSSIBLE",
    "MEETS",
    "MISSES",
    "OVERLOADED",
    "SLOW",
    "SMALL",
    "UNCLEAR",
    "Candidate",
    "Choice",
    "Shortlist",
    "choose",
    "read",
]


def choose(
    shortlist: Shortlist,
    *,
    jobs: int | None = None,
    everything: bool = False,
    say: Callable[[str], None],
) -> Choice:
    """Find the cheapest candidate that meets a plan's target.

    Args:
        shortlist: the target and the candidates, from `read`.
        jobs: replications at a time, by default one a processor.
        everything: simulate candidates that are dearer than the cheapest that meets it, too.
        say: is called with what is being done.

    """
    learnt_range.check(entry.case for entry in shortlist.entries if entry.case is not None)
    entries = sorted(shortlist.entries, key=lambda e: (e.candidate.cost, e.candidate.case))
    found: list[Candidate] = []
    best: float | None = None
    for place, entry in enumerate(entries):
        candidate = entry.candidate
        if entry.case is None or candidate.verdict:
            found.append(candidate)
        elif best is not None and candidate.cost > best and not everything:
            found.append(replace(candidate, verdict=DEARER, why="not simulated"))
        else:
            say(f"candidate {place + 1} of {len(entries)}")
            found.append(_judged(shortlist, entry, jobs or processors()))
            if found[-1].verdict == MEETS and best is None:
                best = candidate.cost
    return Choice(
        title=shortlist.title,
        target=shortlist.target.text,
        percentile=shortlist.target.percentile,
        limit_ps=shortlist.target.limit_ps,
        capacity_bytes=shortlist.capacity_bytes,
        candidates=tuple(found),
    )


def _judged(shortlist: Shortlist, entry: Entry, jobs: int) -> Candidate:
    """A candidate, simulated; impossible where only that shows it."""
    assert entry.case is not None  # noqa: S101 - the caller asked
    try:
        return simulated(
            shortlist.target,
            entry.case,
            entry.candidate,
            most=shortlist.replications,
            jobs=jobs,
        )
    except StudyError as error:
        return replace(entry.candidate, verdict=IMPOSSIBLE, why=reason(str(error)))
