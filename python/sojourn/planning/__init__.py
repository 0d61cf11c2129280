"""Which of several arrays meets a target at the least price.

Candidates are tried from the cheapest on. Bounds go first: an array that is too small, that is
asked for more than it can serve, or whose requests take too long even without waiting, is not
simulated. The others are, replication by replication, until the 95 % interval of the target's
number lies on one side of the limit, or the plan's number of replications is spent. Each round has
twice as many replications as the one before, so that an interval is looked at a few times only:
with every look the chance grows that it clears the limit by luck. Whether there is an interval is
nothing that luck decides where the model knows how long runs have to be.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import inf

import numpy as np
import numpy.typing as npt

from sojourn._core import Case, Plan, Progress, SpecError
from sojourn.analysis.observed import Needs, Observed, Series
from sojourn.analysis.statistics import Interval, Values
from sojourn.execution import learnt_range
from sojourn.execution.execute import processors
from sojourn.store.ledger import Value
from sojourn.store.service_list import OUTSIDE

_FIRST_ROUND = 5

# What is found of a candidate.
MEETS, MISSES, UNCLEAR = "meets", "misses", "unclear"
SMALL, OVERLOADED, SLOW, DEARER = "too small", "overloaded", "too slow", "dearer"
IMPOSSIBLE = "impossible"
# A disk that is busier than the others by more than this is no accident of a run.
_UNEVEN = 1.2


@dataclass(frozen=True)
class Candidate:
    """An array on offer, and what is found of it.

    `price` is of all disks, `capacity_bytes` what they hold without redundancy; None where the
    plan does not say, and `disks` and `price` of a candidate that cannot be had. `verdict` is one
    of the words above, `why` says more in a few words.
    `value_ps` is the target's number, simulated, with its 95 % interval; `least_ps` what it is not
    below whatever the load. `utilisation` is the share of the time that its busiest disk is busy,
    as far as that is known, and `mean_utilisation` that of its disks in the mean.
    `outside_learnt` says what it asks of its disks beyond what these were learnt from.
    """

    case: int
    axes: dict[str, Value]
    disks: int | None
    price: float | None
    capacity_bytes: int | None
    least_ps: float | None = None
    utilisation: float | None = None
    mean_utilisation: float | None = None
    value_ps: float | None = None
    ci95_ps: Interval | None = None
    replications: int = 0
    verdict: str = ""
    why: str = ""
    outside_learnt: str = ""

    @property
    def simulated(self) -> bool:
        """Whether it was."""
        return self.replications > 0

    @property
    def cost(self) -> float:
        """Its price; what cannot be had is dearer than all else."""
        return inf if self.price is None else self.price

    @property
    def uneven(self) -> bool:
        """Whether a disk is busier than its fellows by more than chance."""
        if self.utilisation is None or self.mean_utilisation is None:
            return False
        return self.utilisation > _UNEVEN * self.mean_utilisation


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
        meeting = [c for c in self.candidates if c.verdict == MEETS]
        return min(meeting, key=lambda c: (c.cost, c.value_ps), default=None)

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
        say: is called with what is being done.

    """
    cases = {case.index: case for case in plan.study.cases()}
    learnt_range.check(cases.values())
    refused = [_impossible(index, axes, why) for index, axes, why in plan.refused]
    candidates = [*(_known(plan, case) for case in cases.values()), *refused]
    known = sorted(candidates, key=lambda c: (c.cost, c.case))
    found: list[Candidate] = []
    best: float | None = None
    for place, candidate in enumerate(known):
        if candidate.verdict:
            found.append(candidate)
        elif best is not None and candidate.cost > best and not everything:
            found.append(replace(candidate, verdict=DEARER, why="not simulated"))
        else:
            say(f"candidate {place + 1} of {len(known)}")
            case = cases[candidate.case]
            try:
                found.append(_simulated(plan, case, candidate, jobs or processors()))
            except SpecError as error:
                found.append(replace(candidate, verdict=IMPOSSIBLE, why=_reason(str(error))))
            if found[-1].verdict == MEETS and best is None:
                best = candidate.cost
    return Choice(
        title=plan.study.title,
        target=plan.target,
        percentile=plan.percentile,
        limit_ps=plan.limit_ps,
        capacity_bytes=plan.capacity_bytes,
        candidates=tuple(found),
    )


def _impossible(index: int, axes: dict[str, Value], why: str) -> Candidate:
    return Candidate(
        case=index,
        axes=axes,
        disks=None,
        price=None,
        capacity_bytes=None,
        verdict=IMPOSSIBLE,
        why=_reason(why),
    )


def _reason(error: str) -> str:
    """What is wrong, without the file's name and line, which all candidates share."""
    return error.split(": ", 1)[-1]


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
        return replace(candidate, verdict=SLOW, why="even without waiting")
    return candidate


def _number(value: Value | None) -> float | None:
    return None if value is None else float(value)


@dataclass(frozen=True)
class _Replication:
    """Arrivals, sojourn times, and shares of the time that disks would have to be busy.

    `utilisation` is that of the busiest disk, `mean_utilisation` that of all in the mean.
    """

    arrived_ps: npt.NDArray[np.int64]
    sojourn_ps: Values
    figures: Mapping[str, Value]
    utilisation: float
    mean_utilisation: float


def _simulated(plan: Plan, case: Case, candidate: Candidate, jobs: int) -> Candidate:
    """A candidate, judged by as many replications as it takes."""
    done: list[_Replication] = []
    needs: Needs | None = None
    for upto in _rounds(plan.replications):
        done += _replications(case, range(len(done), upto), jobs)
        busy = float(np.mean([one.utilisation for one in done]))
        mean = float(np.mean([one.mean_utilisation for one in done]))
        candidate = replace(
            candidate,
            replications=len(done),
            utilisation=busy,
            mean_utilisation=mean,
            outside_learnt=str(done[0].figures.get(OUTSIDE, "")),
        )
        if busy >= 1:
            return replace(candidate, verdict=OVERLOADED, why="more comes than is served")
        value, interval, needs = _estimate(plan, done)
        candidate = replace(candidate, value_ps=value, ci95_ps=interval)
        if interval is not None and interval[1] < plan.limit_ps:
            return replace(candidate, verdict=MEETS, why="")
        if interval is not None and interval[0] >= plan.limit_ps:
            return replace(candidate, verdict=MISSES, why="")
    why = f"no interval: {needs.why}" if needs else "too near the limit to tell"
    return replace(candidate, verdict=UNCLEAR, why=why)


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
    totals = outcome.figures
    figures = {**totals, **learnt_range.figures(case, number, outcome.columns, totals)}
    # what the disks had to do over the time in which that came
    over = float(figures["simulated_ps"]) / max(int(arrived.max()), 1)
    busiest, mean = (
        float(figures[name]) * over for name in ("busiest_disk_utilisation", "disk_utilisation")
    )
    return _Replication(arrived, sojourn.astype(np.float64), figures, busiest, mean)


def _estimate(
    plan: Plan, done: Sequence[_Replication]
) -> tuple[float, Interval | None, Needs | None]:
    series = Series.of(
        [(one.arrived_ps, one.sojourn_ps) for one in done], [one.figures for one in done]
    )
    values = np.concatenate(series.runs)
    if plan.percentile is None:
        return float(values.mean()), *Observed([series]).interval(None)
    centre = float(np.percentile(values, plan.percentile))
    return centre, *Observed([series]).interval(plan.percentile / 100)
