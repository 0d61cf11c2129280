"""What the lateness of the machine that issues requests does to a measured load.

Requests that come late come together, and then wait for each other. Whether that matters is
computed: the same services in the same queue, with the arrivals that the study has and with the
moments at which requests were issued.
"""

from heapq import heapreplace

import numpy as np
import numpy.typing as npt

from sojourn.analysis.statistics import Values

Times = npt.NDArray[np.int64]

_SEED = 1


def effect_percent(
    runs: tuple[tuple[Times, Times], ...], service_ps: Values, servers: int, slowdown: float
) -> float:
    """How much longer requests take on average as they were issued than as they were due.

    Args:
        runs: of each replication when each request was due, and when it was issued.
        service_ps: services, of which each request draws one.
        servers: how many of them are served at once, in order.
        slowdown: by which share each other one that is served makes one longer.

    Returns:
        Per cent; negative where lateness spread requests out.
    """
    chance = np.random.default_rng(_SEED)
    sums = np.zeros(2)
    for due, issued in runs:
        services = chance.choice(service_ps, due.size)
        as_due = _total(due, services, servers, slowdown)
        on_time = np.array_equal(due, issued)
        sums += as_due, as_due if on_time else _total(issued, services, servers, slowdown)
    return float(sums[1] / sums[0] - 1) * 100


def _total(arrived: Times, services: Values, servers: int, slowdown: float) -> float:
    """The sum of all sojourn times of a queue in order of arrival."""
    free = [0.0] * servers
    total = 0.0
    for at, service in zip(np.sort(arrived).tolist(), services.tolist(), strict=True):
        start = max(at, free[0])
        others = sum(end > start for end in free) if slowdown else 0
        end = start + service * (1 + slowdown * others)
        heapreplace(free, end)
        total += end - at
    return total
