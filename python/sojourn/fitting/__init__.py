"""A model of a device, learnt from a measurement of it, and how well it predicts other loads.

The lightest load gives the services: what requests took that found the device idle, as all do of a
closed loop of depth 1. The heaviest
gives how many accesses the device serves at once, and how much these slow each other: the numbers
with which the percentiles of simulated sojourn times come nearest to the measured ones. Means would
not do: a single stall of the machine is taken for a queue. Loads in between are neither, and so are
predictions in earnest.

Not attempted: to take out of the services what little their requests waited for those before them
(`Fitted.waited_ps` bounds it), and any dependence of one service on the next: caches, read-ahead,
neighbours on the same machine, a device that takes longer after it was idle.
"""

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import factorial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from sojourn._core import Progress, quantity
from sojourn._internal.errors import InputError
from sojourn._internal.units import PS_PER_S
from sojourn._internal.vocabulary import loop_depth
from sojourn.analysis.observed import Series
from sojourn.analysis.statistics import Values
from sojourn.fitting import study
from sojourn.store import rows
from sojourn.store.ledger import Record, written
from sojourn.store.service_list import Range
from sojourn.store.stored_run import StoredRun

MOST_SERVERS = 64
_PERCENTILES = np.arange(1, 98)
_OPS = ("read", "write")
_FEWEST = 100  # services, below which there is no 99th percentile to speak of

Mask = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """What was measured of one case, all replications together.

    `replications` are their numbers. `rate` is how many requests came a second, each of
    `size_bytes`. `alone` is true of
    each request that met no other one. `series` holds the sojourn times of each replication,
    without its warm-up. `moments` are when the requests of each replication were due, and when they
    were issued. `busy` is the largest share of the time for which the processors were busy while
    it was measured, 0 where nothing says so. `depth` is that of the closed loop that paced the
    requests, 0 where their times were known ahead; `think_ps` is what it waited after each.
    """

    case: int
    label: str
    replications: tuple[int, ...]
    rate: float
    size_bytes: int
    op: npt.NDArray[np.str_]
    sojourn_ps: Values
    alone: Mask
    series: Series
    moments: tuple[tuple[Times, Times], ...]
    busy: float
    depth: int = 0
    think_ps: int = 0

    @property
    def requests(self) -> int:
        """How many requests were measured."""
        return self.sojourn_ps.size


@dataclass(frozen=True)
class Serving:
    """How many accesses a device serves at once, and how much they slow each other.

    `slowdown` is the share by which an access takes longer for each other one. `distance` is how
    far percentiles of what is simulated so are from the measured ones: the mean of the absolute
    logarithms of their ratios, as good as relative, up to the 97th.
    """

    servers: int
    slowdown: float = 0.0
    distance: float = np.inf


@dataclass(frozen=True)
class Fitted:
    """A device as it was learnt.

    Attributes:
        service_ps: services of reads and of writes, as far as there were any.
        serving: how many accesses it serves at once, and how much they slow each other.
        told: whether the heaviest load told that; too light a load does not.
        lightest: the case with the services.
        heaviest: the case that told how many are served at once.
        met_nobody: the share of its requests that are among the services.
        waited_ps: what a request that found others there waited at most, on average over all of
            the lightest load: services of those that found it idle are free of it.
    """

    service_ps: dict[str, Values]
    serving: Serving
    told: bool
    lightest: Load
    heaviest: Load
    met_nobody: float
    waited_ps: float

    @property
    def range(self) -> Range:
        """The accesses that it was learnt from."""
        return Range(self.lightest.size_bytes, (self.lightest.rate, self.heaviest.rate))


def loads(run: StoredRun) -> list[Load]:
    """The cases of a run by rising rate.

    Raises:
        InputError: it is not of one disk, its requests differ in size, or rows cannot be read.
    """
    by_case = run.ledger.by_case()
    if not by_case:
        raise InputError(f"{run.path}: no case is finished yet")
    swept = tomllib.loads(run.directory.read_study()).get("sweep", {})
    if any(path.split(".")[0] == "disk" for path in swept):
        raise InputError(f"{run.path}: sweep.disk is given, expected the loads of one device")
    found = sorted((_load(run, records) for records in by_case.values()), key=lambda one: one.rate)
    if all(load.depth for load in found):  # a saturated device has one rate at several depths
        found.sort(key=lambda one: one.depth)
    sizes = {load.size_bytes for load in found}
    if len(sizes) > 1:
        raise InputError(
            f"{run.path}: requests of {', '.join(f'{size:,}' for size in sorted(sizes))} bytes,"
            " expected one size: measure each size by itself"
        )
    return found


def fit(run: StoredRun, measured: list[Load]) -> Fitted:
    """Learn a device from the loads of a run.

    Raises:
        InputError: too few requests found it idle.
    """
    lightest, heaviest = measured[0], measured[-1]
    services = {
        op: np.sort(lightest.sojourn_ps[lightest.alone & (lightest.op == op)]) for op in _OPS
    }
    services = {op: values for op, values in services.items() if values.size}
    many = sum(values.size for values in services.values())
    if many < _FEWEST:
        raise InputError(
            f"only {many} requests of case {lightest.case} found it idle, expected {_FEWEST} or"
            " more: measure a lower rate, or more requests"
        )
    mixed = np.concatenate(list(services.values()))
    told = _waits(mixed, heaviest)
    serving = Serving(1)
    if told:
        serving = _serving(run.directory.read_study(), services, heaviest)
    crowd = lightest.sojourn_ps[~lightest.alone]
    excess = max(float(crowd.mean() - mixed.mean()), 0.0) if crowd.size else 0.0
    return Fitted(
        service_ps=services,
        serving=serving,
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


def _load(run: StoredRun, records: list[Record]) -> Load:
    first = records[0]
    layout = first.parameters.get("layout.kind")
    if layout is None:
        raise InputError(
            f"{run.path}: not a run of an array; `array fit` needs a run of `measure array`"
        )
    if layout != "single":
        raise InputError(
            f"{run.path}: layout.kind is {written(layout)}, expected single: an array of one disk"
        )
    if first.parameters.get("workload.kind") == "tenants":
        raise InputError(
            f"{run.path}: workload.kind is tenants, expected synthetic: loads of one tenant"
        )
    label = ", ".join(f"{name} {value}" for name, value in first.axes.items())
    names = ["arrived_ps", "finished_ps", "sojourn_ps", "op", "size_bytes"]
    tables = [rows.read(run.directory.rows(*record.key), names) for record in records]
    sizes = np.unique(np.concatenate([rows.numbers(table["size_bytes"]) for table in tables]))
    if sizes.size > 1:
        raise InputError(
            f"{run.path}: requests differ in size, expected one size for all, as a model is for one"
        )
    spans, alone, runs, moments = [], [], [], []
    for table in tables:
        arrived = rows.numbers(table["arrived_ps"])
        runs.append((arrived, rows.numbers(table["sojourn_ps"]).astype(np.float64)))
        finished = rows.numbers(table["finished_ps"])
        issued = finished - rows.numbers(table["sojourn_ps"])
        spans.append(int(arrived[-1] - arrived[0]) or 1)
        alone.append(_alone(issued, finished))
        moments.append((arrived, issued))
    several = [table.num_rows - 1 for table in tables]
    depth = int(first.figures.get(loop_depth(), 0))
    return Load(
        case=first.case,
        label=label,
        replications=tuple(record.replication for record in records),
        rate=sum(several) / sum(spans) * PS_PER_S,
        size_bytes=int(sizes[0]),
        op=np.concatenate([np.array(table["op"].to_pylist()) for table in tables]),
        sojourn_ps=np.concatenate([sojourn for _, sojourn in runs]),
        # A loop of depth 1 has no other request, whatever the clock's microseconds say.
        alone=np.concatenate(alone) | (depth == 1),
        series=Series.of(runs),
        moments=tuple(moments),
        busy=max(record.processors_busy for record in records),
        depth=depth,
        think_ps=quantity(str(first.parameters.get("workload.arrivals.think", "0ps"))),
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


def _waits(service: Values, load: Load) -> bool:
    """Whether one server and as many as one likes can be distinguished: requests have to wait."""
    if load.depth:
        return load.depth > 1
    rate = load.rate / PS_PER_S
    one, many = (mean_sojourn(service, rate, c) for c in (1, MOST_SERVERS))
    return bool(one > many * (1 + 5 / np.sqrt(load.sojourn_ps.size)))


def _serving(measured: str, service_ps: dict[str, Values], load: Load) -> Serving:
    """With what percentiles of simulated sojourn times come nearest to those of a load.

    Servers that do not slow each other are preferred: one number less is learnt.
    """
    measured_log = np.log(np.percentile(load.sojourn_ps, _PERCENTILES))
    with TemporaryDirectory() as folder:
        file = study.write(Path(folder), measured, service_ps, MOST_SERVERS)

        def simulated(servers: int, slowdown: float, others: int = 0) -> Values:
            case = study.read(file, servers=servers, slowdown=slowdown).cases()[load.case]
            ran = [case.run(number + others, Progress()) for number in load.replications]
            sojourn = np.concatenate([np.asarray(o.columns["sojourn_ps"]) for o in ran])
            found: Values = np.log(np.percentile(sojourn, _PERCENTILES))
            return found

        def tried(servers: int, slowdown: float = 0.0) -> Serving:
            found = simulated(servers, slowdown)
            return Serving(servers, slowdown, float(np.abs(found - measured_log).mean()))

        def by_chance(plain: Serving) -> float:
            """How far apart such a device is from itself, with other arrivals and services."""
            runs = [simulated(plain.servers, 0.0, others * _OTHERS) for others in range(_TIMES + 1)]
            return max(float(np.abs(run - runs[0]).mean()) for run in runs[1:])

        def slowed(servers: int) -> Serving:
            best = _nearest(tried(servers, slowdown) for slowdown in _SLOWDOWNS)
            for step in _FINER:
                around = (best.slowdown * factor for factor in (1 / step, step))
                best = _nearest([best, *(tried(servers, slowdown) for slowdown in around)])
            return best

        plain = _rising(tried, 1)
        if plain.distance < max(_NEAR, by_chance(plain)):
            return plain
        other = _rising(slowed, 2)
    return other if other.distance < plain.distance * _NEARER else plain


def _rising(tried: Callable[[int], Serving], fewest: int) -> Serving:
    """The nearest of rising numbers of servers, up to where more are no better."""
    best = tried(fewest)
    for servers in range(fewest + 1, MOST_SERVERS + 1):
        best = _nearest([best, tried(servers)])
        if servers >= best.servers + _NO_BETTER:
            break
    return best


def _nearest(of: Iterable[Serving]) -> Serving:
    return min(of, key=lambda one: one.distance)


# Servers more than the best so far, beyond which none is tried.
_NO_BETTER = 3
# How often a device is simulated anew to see what chance does, by replications far from the run's.
_TIMES, _OTHERS = 8, 10_000
# So near, and nothing is to be gained; and by how much nearer slowdown has to come.
_NEAR, _NEARER = 0.01, 0.75
_SLOWDOWNS = [0.02 * 2**k for k in range(8)]
_FINER = [2 ** (1 / 2**k) for k in range(1, 5)]
