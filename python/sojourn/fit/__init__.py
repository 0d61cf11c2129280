"""A model of a device, learnt from a measurement of it, and how well it predicts other loads.

The lightest load gives the services: what requests took that met nobody. The heaviest gives how
many accesses the device serves at once: the number with which its mean sojourn time is nearest to
what was measured. Loads in between are neither, and so are predictions in earnest.

Not attempted: to take out of the services what little their requests waited for those before them
(`Fitted.waited_ps` bounds it), and any dependence of one service on the next: caches, read-ahead,
neighbours on the same machine, a device that slows down as it is loaded.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np
import numpy.typing as npt

from sojourn import rows
from sojourn.errors import InputError
from sojourn.ledger import Record
from sojourn.observed import Series
from sojourn.runs import Run
from sojourn.statistics import Values

MOST_SERVERS = 64
PS_PER_S = 10**12
_OPS = ("read", "write")
_FEWEST = 100  # services, below which there is no 99th percentile to speak of

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Load:
    """What was measured of one case, all replications together.

    `rate` is how many requests came a second. `alone` is true of each request that met no other
    one. `series` holds the sojourn times of each replication, without its warm-up.
    """

    case: int
    label: str
    rate: float
    op: npt.NDArray[np.str_]
    sojourn_ps: Values
    alone: Mask
    series: Series


@dataclass(frozen=True)
class Fitted:
    """A device as it was learnt.

    Attributes:
        service_ps: services of reads and of writes, as far as there were any.
        servers: how many accesses it serves at once.
        told: whether the heaviest load told that number; too light a load does not.
        lightest: the case with the services.
        heaviest: the case that told how many are served at once.
        met_nobody: the share of its requests that are among the services.
        waited_ps: what a request that found somebody there waited at most, on average over all of
            the lightest load: services of those that met nobody are free of it.
    """

    service_ps: dict[str, Values]
    servers: int
    told: bool
    lightest: Load
    heaviest: Load
    met_nobody: float
    waited_ps: float


def loads(run: Run) -> list[Load]:
    """The cases of a run by rising rate.

    Raises:
        InputError: it is not of one disk, its requests differ in size, or rows cannot be read.
    """
    by_case = run.ledger.by_case()
    if not by_case:
        raise InputError(f"{run.path}: no case is finished yet")
    return sorted((_load(run, records) for records in by_case.values()), key=lambda one: one.rate)


def fit(measured: list[Load]) -> Fitted:
    """Learn a device.

    Raises:
        InputError: too few requests met nobody.
    """
    lightest, heaviest = measured[0], measured[-1]
    services = {
        op: np.sort(lightest.sojourn_ps[lightest.alone & (lightest.op == op)]) for op in _OPS
    }
    services = {op: values for op, values in services.items() if values.size}
    many = sum(values.size for values in services.values())
    if many < _FEWEST:
        raise InputError(
            f"only {many} requests of case {lightest.case} met nobody, expected {_FEWEST} or more:"
            " measure a lower rate, or more requests"
        )
    mixed = np.concatenate(list(services.values()))
    servers, told = _servers(mixed, heaviest)
    crowd = lightest.sojourn_ps[~lightest.alone]
    excess = max(float(crowd.mean() - mixed.mean()), 0.0) if crowd.size else 0.0
    return Fitted(
        service_ps=services,
        servers=servers,
        told=told,
        lightest=lightest,
        heaviest=heaviest,
        met_nobody=many / lightest.sojourn_ps.size,
        waited_ps=excess * crowd.size / lightest.sojourn_ps.size,
    )


def mean_sojourn(service: Values, rate: float, servers: int) -> float:
    """The mean sojourn time in M/G/c, in the unit of the services; infinite without a steady state.

    Allen and Cunneen's approximation: M/M/c's waiting time by half of one plus the squared
    coefficient of variation. Exact for one server.

    Args:
        service: services.
        rate: arrivals in that unit of time.
        servers: how many there are.

    Source: Allen, Probability, Statistics, and Queueing Theory with Computer Science Applications,
        2nd edition, 1990, section 5.3.
    """
    mean = float(service.mean())
    offered = rate * mean
    if offered >= servers:
        return np.inf
    terms = [offered**k / factorial(k) for k in range(servers)]
    last = offered**servers / factorial(servers) * servers / (servers - offered)
    waits = last / (sum(terms) + last)  # Erlang's C
    varies = 1 + float(service.var()) / mean**2
    return mean + waits * mean / (servers - offered) * varies / 2


def _load(run: Run, records: list[Record]) -> Load:
    first = records[0]
    layout = first.parameters.get("layout.kind")
    if layout != "single":
        raise InputError(
            f"{run.path}: layout.kind is {layout}, expected single: the services of one disk"
        )
    label = ", ".join(f"{name} {value}" for name, value in first.axes.items())
    names = ["arrived_ps", "finished_ps", "sojourn_ps", "op", "blocks"]
    tables = [rows.read(run.directory.rows(*record.key), names) for record in records]
    if any(len(np.unique(rows.numbers(table["blocks"]))) > 1 for table in tables):
        raise InputError(
            f"{run.path}: requests differ in size, expected all of one: a service is of one size"
        )
    spans, alone, runs = [], [], []
    for table in tables:
        arrived = rows.numbers(table["arrived_ps"])
        runs.append((arrived, rows.numbers(table["sojourn_ps"]).astype(np.float64)))
        finished = rows.numbers(table["finished_ps"])
        spans.append(int(arrived[-1] - arrived[0]) or 1)
        alone.append(_alone(finished - rows.numbers(table["sojourn_ps"]), finished))
    several = [table.num_rows - 1 for table in tables]
    return Load(
        case=first.case,
        label=label,
        rate=sum(several) / sum(spans) * PS_PER_S,
        op=np.concatenate([np.array(table["op"].to_pylist()) for table in tables]),
        sojourn_ps=np.concatenate([sojourn for _, sojourn in runs]),
        alone=np.concatenate(alone),
        series=Series.of(runs),
    )


def _alone(started: npt.NDArray[np.int64], finished: npt.NDArray[np.int64]) -> Mask:
    """Which requests came when all that came before them were done.

    Those of a measurement are ordered by when they were issued, not by when they were due.
    """
    order = np.argsort(started, kind="stable")
    done = np.maximum.accumulate(finished[order])
    alone = np.ones(started.size, dtype=np.bool_)
    alone[order[1:]] = started[order[1:]] >= done[:-1]
    return alone


def _servers(service: Values, heaviest: Load) -> tuple[int, bool]:
    """With how many servers the heaviest load's mean is met best, and whether one is told by it."""
    rate = heaviest.rate / PS_PER_S
    measured = float(heaviest.sojourn_ps.mean())
    means = np.array([mean_sojourn(service, rate, c) for c in range(1, MOST_SERVERS + 1)])
    best = int(np.argmin(np.abs(means - measured)))
    # one server and as many as one likes are not told apart where hardly any request waits
    told = means[0] > means[-1] * (1 + 5 / np.sqrt(heaviest.sojourn_ps.size))
    return (best + 1, True) if told else (1, False)
