"""In which order the cases of a study run, and how long the rest of them will take."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sojourn._core import Case
from sojourn.store.ledger import Value


def longest_first(case: Case) -> tuple[float, ...]:
    """A key to sort cases by, so that those that probably take longest come first.

    Were a long case the last one to start, all threads but one would wait for it. Nothing is
    known of a case but its number of jobs and what is swept: more jobs take longer, and so
    mostly does a higher load, a larger fabric, a deeper queue. A wrong guess costs some waiting
    and changes no result.
    """
    numbers = (-float(v) if isinstance(v, int | float) else 0.0 for v in case.axes.values())
    return -float(case.jobs), *numbers


@dataclass(frozen=True)
class Work:
    """A case that is finished, running or waiting; all in seconds of wall time.

    `total_s` is what all of it takes: measured of a finished case, extrapolated of a running
    one that is far enough, and otherwise None.
    """

    axes: Mapping[str, Value]
    jobs: int
    spent_s: float = 0.0
    total_s: float | None = None


def left_s(work: Sequence[Work], threads: int) -> float | None:
    """How long a number of threads will take for the rest; None as long as nothing is known.

    Args:
        work: all cases in the order in which they start.
        threads: how many of them run at a time.
    """
    if all(one.total_s is None for one in work):
        return None
    ends = [0.0] * threads
    for one, expected in zip(work, _expected(work), strict=True):
        total = expected if one.total_s is None else one.total_s
        heapq.heapreplace(ends, ends[0] + max(total - one.spent_s, 0.0))
    return max(ends)


def _expected(work: Sequence[Work]) -> list[float]:
    """How long each case should take, by those whose time is known.

    The time a job is modelled as a product with one factor for each value on each axis, fitted
    by least squares to its logarithm; a value of which nothing is known has the factor 1. Cases
    differ by factors, so that a mean over all of them would promise too little or too much.
    """
    levels: dict[tuple[str, Value], int] = {}
    for one in work:
        for level in one.axes.items():
            levels.setdefault(level, len(levels))
    design = np.zeros((len(work), len(levels)))
    for row, one in zip(design, work, strict=True):
        row[[levels[level] for level in one.axes.items()]] = 1
    jobs = np.array([max(one.jobs, 1) for one in work])
    total = np.array([np.nan if one.total_s is None else max(one.total_s, 1e-9) for one in work])
    known = ~np.isnan(total)
    logs = np.log(total[known] / jobs[known])
    factors = np.linalg.lstsq(design[known], logs - logs.mean(), rcond=None)[0]
    expected: list[float] = (np.exp(logs.mean() + design @ factors) * jobs).tolist()
    return expected
