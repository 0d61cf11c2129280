"""Which of several arrays meets a target at the least price.

Candidates are tried from the cheapest on. Bounds go first: an array that is too small, that is
asked for more than it can serve, or whose requests take too long even if nobody waits, is not
simulated. The others are, replication by replication, until the 95 % interval of the target's
number lies on one side of the limit, or the plan's number of replications is spent. Each round has
twice as many replications as the one before, so that an interval is looked at a few times only:
with every look the chance grows that it clears the limit by luck.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from sojourn._core import Case, Plan, Progress
from sojourn.execute import processors
from sojourn.ledger import Value
from sojourn.statistics import Interval, Values, mean_interval, quantile_intervals

_FIRST_ROUND = 5

# What is found of a candidate.
MEETS, MISSES, UNCLEAR = "meets", "misses", "unclear"
SMALL, OVERLOADED, SLOW, DEARER = "too small", "overloaded", "too slow", "dearer"


@dataclass(frozen=True)
class Candidate:
    """An array on offer, and what is found of it.

    `price` is of all disks, `capacity_bytes` what they hold without redundancy; None where the
    plan does not say. `verdict` is one of the words above, `why` says more in a few words.
    `value_ps` is the target's number, simulated, with its 95 % interval; `least_ps` what it is not
    below whatever the load. `utilisation` is the share of the time that its busiest disk is busy,
    as far as that is known.
    """

    case: int
    axes: dict[str, Value]
    disks: int
    price: float
    capacity_bytes: int | None
    least_ps: float | None = None
    utilisation: float | None = None
    value_ps: float | None = None
    ci95_ps: Interval | None = None
    replications: int = 0
    verdict: str = ""
    why: str = ""

    @property
    def simulated(self) -> bool:
        """Whether it was."""
        return self.replications > 0


@dataclass(frozen=True)
class Choice:
    """The candidates of a plan by rising price, and the cheapest that meets the target."""

    title: str
    target: str
    percentile: float | None
    limit_ps: int
    capacity_bytes: int | None
    candidates: tuple[Candidate, ...]

    @property
    def cheapest(self) -> Candidate | None:
        """None where none is known to meet it; of several at one price the quickest."""
        meeting = [c for c in self.candidates if c.verdict == MEETS and c.value_ps is not None]
        return min(meeting, key=lambda c: (c.price, c.value_ps), default=None)

    def to_dict(self) -> dict[str, object]:
        """What `sojourn array plan --json` prints."""
        cheapest = self.cheapest
        return {
            "title": self.title,
            "target": self.target,
            "limit_ps": self.limit_ps,
            "capacity_bytes": self.capacity_bytes,
            "cheapest": cheapest and cheapest.case,
            "candidates": [vars(candidate) for candidate in self.candidates],
        }


def choose(
    plan: Plan, *, jobs: int | None = None, everything: bool = False, say: Callable[[str], None]
) -> Choice:
    """Find the cheapest candidate that meets a plan's target.

    Args:
        plan: what to meet, and the candidates.
        jobs: replications at a time, by default one a processor.
        everything: simulate candidates that are dearer than the cheapest that does, too.
        say: is told what is being done.

    Raises:
        SpecError: a candidate turned out to be impossible.
    """
    cases = {case.index: case for case in plan.study.cases()}
    known = sorted((_known(plan, case) for case in cases.values()), key=lambda c: (c.price, c.case))
    found: list[Candidate] = []
    best: float | None = None
    for place, candidate in enumerate(known):
        if candidate.verdict:
            found.append(candidate)
        elif best is not None and candidate.price > best and not everything:
            found.append(replace(candidate, verdict=DEARER, why="not simulated"))
        else:
            say(f"candidate {place + 1} of {len(known)}")
            found.append(_simulated(plan, cases[candidate.case], candidate, jobs or processors()))
            if found[-1].verdict == MEETS and best is None:
                best = candidate.price
    return Choice(
        title=plan.study.title,
        target=plan.target,
        percentile=plan.percentile,
        limit_ps=plan.limit_ps,
        capacity_bytes=plan.capacity_bytes,
        candidates=tuple(found),
    )


def _known(plan: Plan, case: Case) -> Candidate:
    """A candidate, judged by what is known of it without simulating it."""
    price, capacity = plan.offer(case)
    percentiles = [] if plan.percentile is None else [plan.percentile]
    known = case.known(percentiles)
    name = "mean" if plan.percentile is None else f"p{plan.percentile:g}"
    least = known.get(f"least_{name}_sojourn_ps")
    if plan.percentile is None:
        least = known.get("exact_mean_sojourn_ps", least)
    candidate = Candidate(
        case=case.index,
        axes=case.axes,
        disks=int(known["disks"]),
        price=price * int(known["disks"]),
        capacity_bytes=None if capacity is None else capacity * int(known["data_disks"]),
        least_ps=None if least is None else float(least),
        utilisation=_number(known.get("offered_utilisation")),
    )
    if (
        plan.capacity_bytes is not None
        and candidate.capacity_bytes is not None
        and candidate.capacity_bytes < plan.capacity_bytes
    ):
        return replace(candidate, verdict=SMALL, why="holds too little")
    if candidate.utilisation is not None and candidate.utilisation >= 1:
        return replace(candidate, verdict=OVERLOADED, why=str(known["analysis"]))
    if candidate.least_ps is not None and candidate.least_ps >= plan.limit_ps:
        return replace(candidate, verdict=SLOW, why="even if nobody waits")
    return candidate


def _number(value: Value | None) -> float | None:
    return None if value is None else float(value)


@dataclass(frozen=True)
class _Replication:
    """Sojourn times, and the share of the time that the busiest disk would have to be busy."""

    sojourn_ps: Values
    utilisation: float


def _simulated(plan: Plan, case: Case, candidate: Candidate, jobs: int) -> Candidate:
    """A candidate, judged by as many replications as it takes."""
    done: list[_Replication] = []
    for upto in _rounds(plan.replications):
        done += _replications(case, range(len(done), upto), jobs)
        busy = float(np.mean([one.utilisation for one in done]))
        candidate = replace(candidate, replications=len(done), utilisation=busy)
        if busy >= 1:
            return replace(candidate, verdict=OVERLOADED, why="more comes than is served")
        value, interval = _estimate(plan, [one.sojourn_ps for one in done])
        candidate = replace(candidate, value_ps=value, ci95_ps=interval)
        if interval is not None and interval[1] < plan.limit_ps:
            return replace(candidate, verdict=MEETS, why="")
        if interval is not None and interval[0] >= plan.limit_ps:
            return replace(candidate, verdict=MISSES, why="")
    return replace(candidate, verdict=UNCLEAR, why="too near the limit to tell")


def _rounds(most: int) -> Iterator[int]:
    """After how many replications to look: each time twice as many, `most` the last time."""
    upto = _FIRST_ROUND
    while upto < most:
        yield upto
        upto *= 2
    yield most


def _replications(case: Case, numbers: Sequence[int], jobs: int) -> list[_Replication]:
    progress = Progress()
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="candidate") as pool:
        try:
            return list(pool.map(lambda number: _one(case, number, progress), numbers))
        except BaseException:
            progress.cancel()
            raise


def _one(case: Case, number: int, progress: Progress) -> _Replication:
    outcome = case.run(number, progress)
    sojourn, arrived = (np.asarray(outcome.columns[name]) for name in ("sojourn_ps", "arrived_ps"))
    figures = outcome.figures
    # what the busiest disk had to do over the time in which that came
    busy = float(figures["busiest_disk_utilisation"]) * float(figures["simulated_ps"])
    return _Replication(sojourn.astype(np.float64), busy / max(int(arrived.max()), 1))


def _estimate(plan: Plan, sections: list[Values]) -> tuple[float, Interval | None]:
    values = np.concatenate(sections)
    if plan.percentile is None:
        return float(values.mean()), mean_interval(sections)
    centre = float(np.percentile(values, plan.percentile))
    return centre, quantile_intervals(sections, [plan.percentile], [centre])[0]
