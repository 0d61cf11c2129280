"""What a system carried: jobs and bytes per second, and how many jobs it held at a time."""

from collections.abc import Callable, Iterable

import numpy as np

from sojourn._internal.units import PS_PER_S
from sojourn.analysis.sample import Jobs


def of_runs(runs: Iterable[Jobs], names: Iterable[str]) -> dict[str, float]:
    """The mean over some runs of what they carried, by name; nothing without a measured time.

    Names are `jobs_per_s` and `bytes_per_s`, of the jobs that were done in the measured time, and
    `jobs_present`, how many had arrived and were not done, as the mean over that time. In a steady
    state the last is the first times the mean sojourn time.

    Source: Little, "A proof for the queuing formula L = lambda W", Operations Research 9, 1961.
    """
    measured = [run for run in runs if run.window_ps[1] > run.window_ps[0]]
    if not measured:
        return {}
    known = [(name, _KNOWN[name]) for name in names if name in _KNOWN]
    return {name: float(np.mean([rate(run) for run in measured])) for name, rate in known}


def _jobs_per_s(run: Jobs) -> float:
    return float(np.count_nonzero(_done(run))) / _seconds(run)


def _bytes_per_s(run: Jobs) -> float:
    return float(run.size_bytes[_done(run)].sum(dtype=np.float64)) / _seconds(run)


def _jobs_present(run: Jobs) -> float:
    start, end = run.window_ps
    finished = np.nan_to_num(_finished(run), nan=float(end))
    held = np.minimum(finished, end) - np.maximum(run.arrived_ps, start)
    return float(np.maximum(held, 0).sum()) / (end - start)


def _done(run: Jobs) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    start, end = run.window_ps
    finished = _finished(run)
    return (finished > start) & (finished <= end)


def _finished(run: Jobs) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return run.arrived_ps + run.metrics["sojourn_ps"]


def _seconds(run: Jobs) -> float:
    return (run.window_ps[1] - run.window_ps[0]) / PS_PER_S


_KNOWN: dict[str, Callable[[Jobs], float]] = {
    "jobs_per_s": _jobs_per_s,
    "bytes_per_s": _bytes_per_s,
    "jobs_present": _jobs_present,
}

NAMES = frozenset(_KNOWN)
"""The totals that come from rows."""
