"""The verdict on a candidate by simulation, replication by replication."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sojourn._core import Case, Progress
from sojourn.analysis.intervals import sectioned_interval
from sojourn.analysis.observed import Needs, Observed, Series
from sojourn.analysis.statistics import Interval, Values
from sojourn.execution import learnt_range
from sojourn.planning.bounds import OVERLOAD, computed_load
from sojourn.planning.candidate import MEETS, MISSES, OVERLOADED, UNCLEAR, Candidate
from sojourn.planning.target import Target
from sojourn.store.ledger import Value
from sojourn.store.service_list import OUTSIDE

_FIRST_ROUND = 5


def simulated(
    target: Target, case: Case, candidate: Candidate, *, most: int, jobs: int
) -> Candidate:
    """A candidate, judged by as many replications as it takes.

    Args:
        target: what it has to meet.
        case: its case.
        candidate: what formulas say of it.
        most: replications, at most.
        jobs: replications at a time.
    """
    done: list[_Replication] = []
    needs: Needs | None = None
    for upto in rounds(most):
        done += _replications(case, range(len(done), upto), jobs)
        candidate = _loaded(candidate, done)
        if _is_overloaded(done, uneven=candidate.uneven):
            return replace(candidate, verdict=OVERLOADED, why=OVERLOAD)
        value, interval, needs = _estimate(target, done)
        candidate = replace(candidate, value_ps=value, ci95_ps=interval)
        if interval is not None and target.is_met(interval):
            return replace(candidate, verdict=MEETS, why="")
        if interval is not None and target.is_missed(interval):
            return replace(candidate, verdict=MISSES, why="")
        if needs is not None and _is_hopeless(needs, most):
            break
    why = "too near the limit to tell" if needs is None else _lacking(needs)
    return replace(candidate, verdict=UNCLEAR, why=why)


def rounds(most: int) -> Iterator[int]:
    """After how many replications to look: each time twice as many, `most` the last time."""
    upto = _FIRST_ROUND
    while upto < most:
        yield upto
        upto *= 2
    yield most


@dataclass(frozen=True)
class _Replication:
    """Arrivals, response times, and measured loads.

    A load is the work of the disks over the time in which it arrived: it exceeds 1 where they
    cannot keep up. `mean_load` is that of all disks on average.
    """

    arrived_ps: npt.NDArray[np.int64]
    sojourn_ps: Values
    figures: Mapping[str, Value]
    busiest_load: float
    mean_load: float


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
    over = float(figures["simulated_ps"]) / max(int(arrived.max()), 1)
    busiest, mean = (
        float(figures[name]) * over for name in ("busiest_disk_utilisation", "disk_utilisation")
    )
    return _Replication(arrived, sojourn.astype(np.float64), figures, busiest, mean)


def _loaded(candidate: Candidate, done: Sequence[_Replication]) -> Candidate:
    """A candidate with its loads: the computed one, or else the measured one."""
    computed = computed_load(done[0].figures)
    mean = float(np.mean([one.mean_load for one in done]))
    return replace(
        candidate,
        replications=len(done),
        utilisation=mean if computed is None else computed,
        busiest_utilisation=float(np.mean([one.busiest_load for one in done])),
        outside_learnt=str(done[0].figures.get(OUTSIDE, "")),
    )


def _is_overloaded(done: Sequence[_Replication], *, uneven: bool) -> bool:
    """Whether more arrives than is served: the computed load decides where formulas know it.

    Otherwise the 95 % interval of the measured load has to lie above 1: of the disks on average,
    or of the busiest one where it is busier than chance explains. Work that no request brings, such
    as a rebuild, fills idle time and is no overload.
    """
    if computed_load(done[0].figures) is not None or "rebuilt_blocks" in done[0].figures:
        return False
    loads = np.array([one.busiest_load if uneven else one.mean_load for one in done])
    ends = sectioned_interval(float(loads.mean()), loads)
    return ends is not None and ends[0] >= 1


def _estimate(
    target: Target, done: Sequence[_Replication]
) -> tuple[float, Interval | None, Needs | None]:
    """The target's number, its interval, and what is lacking for one."""
    series = Series.of(
        [(one.arrived_ps, one.sojourn_ps) for one in done], [one.figures for one in done]
    )
    values = np.concatenate(series.runs)
    interval, needs = Observed([series]).interval(target.share)
    if target.percentile is None:
        value = float(values.mean())
    else:
        value = float(np.percentile(values, target.percentile, method="inverted_cdf"))
    if interval is None and needs is None and values.min() == values.max():
        interval = value, value
    return value, interval, needs


def _is_hopeless(needs: Needs, most: int) -> bool:
    """Whether no permitted number of replications gives an interval, as is known beforehand."""
    return not needs.least and (needs.replications is None or needs.replications > most)


def _lacking(needs: Needs) -> str:
    """Why there is no interval, and what it takes."""
    least = "at least " if needs.least else ""
    if needs.replications is not None:
        return f"no interval: {needs.why}; it takes {least}{needs.replications:,} runs"
    if needs.jobs is not None:
        return f"no interval: {needs.why}; it takes runs of {least}{needs.jobs:,} requests"
    return f"no interval: {needs.why}"
