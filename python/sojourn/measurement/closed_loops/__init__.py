"""Closed loops on real disks, in the rows that the simulator writes."""

from collections.abc import Mapping, Sequence

import numpy as np

from sojourn._core import Case, quantity
from sojourn._internal.vocabulary import loop_depth
from sojourn.measurement.closed_loops import fio
from sojourn.measurement.closed_loops.asked import Loop, is_closed, loops_of
from sojourn.measurement.target import Target
from sojourn.store.ledger import Value
from sojourn.store.rows import Column

__all__ = ["Loop", "is_closed", "loops_of", "measure", "warnings"]

_PS_PER_NS = 1000
_PS_PER_US = 10**6
_NEARLY_ALL = 0.95
_FEWEST_ROUNDS = 10  # requests per request of the depth, below which the law says little


def measure(
    case: Case, seed: Sequence[int], targets: Sequence[Target]
) -> tuple[dict[str, Column], dict[str, Value]]:
    """Measure the closed loops of a case.

    Returns:
        The rows but `ideal_ps` and `slowdown`, which hang on all of them; and figures.

    Raises:
        MeasurementError: fio cannot do what the case asks for.
    """
    loops = loops_of(case)
    warmup = int(case.parameters["workload.warmup"])
    done = fio.run(targets, loops, warmup + case.jobs, seed).first(warmup + case.jobs)
    loop, issued, took, write = (
        column[warmup:] for column in (done.loop, done.issued_ns, done.took_ns, done.write)
    )
    block_bytes = quantity(str(case.parameters["block"]))
    size = np.array([one.size_bytes for one in loops], dtype=np.int64)[loop]
    arrived, took_ps = issued * _PS_PER_NS, took * _PS_PER_NS
    columns: dict[str, Column] = {
        "job": np.arange(took.size),
        "kind": (np.zeros(took.size, dtype=np.uint8), ["request"]),
        "size_bytes": size,
        "arrived_ps": arrived,
        "finished_ps": arrived + took_ps,
        "sojourn_ps": took_ps,
        "op": (write.astype(np.uint8), ["read", "write"]),
        "blocks": size // block_bytes,
    }
    if any(one.tenant for one in loops):
        columns["tenant"] = (loop.astype(np.uint8), [one.tenant for one in loops])
    figures: dict[str, Value] = {
        "accesses": done.loop.size,
        "requests_without_rows": warmup,
        loop_depth(): sum(one.depth for one in loops),
        "fio_engine": fio.engine(direct=all(target.direct for target in targets)),
    }
    kept = [
        _kept(one, arrived[loop == number], took_ps[loop == number])
        for number, one in enumerate(loops)
    ]
    if None not in kept:
        figures[f"{loop_depth()}_kept"] = float(sum(one or 0 for one in kept))
    return columns, figures


def _kept(loop: Loop, arrived_ps: fio.Ints, took_ps: fio.Ints) -> float | None:
    """How many requests were under way or thought about on average; None where too few tell.

    Source: the law of interactive response times, Denning and Buzen, "The operational analysis of
        queueing network models", ACM Computing Surveys 10, 1978.
    """
    if arrived_ps.size < _FEWEST_ROUNDS * loop.depth or arrived_ps[-1] == arrived_ps[0]:
        return None
    per_ps = (arrived_ps.size - 1) / int(arrived_ps[-1] - arrived_ps[0])
    return float(per_ps * (took_ps.mean() + loop.think_us * _PS_PER_US))


def warnings(figures: Sequence[Mapping[str, Value]]) -> list[str]:
    """What is said of cases whose queue was not as deep as they ask for."""
    kept = [
        (float(one[f"{loop_depth()}_kept"]), int(one[loop_depth()]))
        for one in figures
        if f"{loop_depth()}_kept" in one
    ]
    if not kept:
        return []
    least, asked = min(kept, key=lambda one: one[0] / one[1])
    if least >= _NEARLY_ALL * asked:
        return []
    return [
        f"fio kept {least:.3g} of {asked} requests under way or thought about, in the case that"
        " lacked most: it sent the next one late, so the load was lighter than the study's"
    ]
