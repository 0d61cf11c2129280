"""What `make coverage` tries intervals on: systems whose truth is known, simulated by the engine.

A cell is a study, a length and a number of runs. Its truth is exact for M/M/1, elsewhere that of a
run so long that its own error is a tenth of the cell's.
"""

from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from math import log, sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np

from sojourn._core import Progress, Study
from sojourn.analysis.observed import Series
from sojourn.analysis.statistics import Values
from sojourn.execution import inputs

SHARES: dict[str, float | None] = {"mean": None, "p50": 0.5, "p95": 0.95, "p99": 0.99}
_TRUTH_SEED = 10**9
_MS = 1e9


@dataclass(frozen=True)
class Cell:
    """A system and how much of it is observed.

    Attributes:
        name: of the system, for the table.
        study: its text, with `JOBS` where the number of jobs belongs.
        jobs: of each run.
        runs: how many are observed together.
        metric: a column of the rows, in its own unit.
        exact: what is known of its mean and quantiles; nothing, and a long run says it.
        kind: which jobs, where rows have several kinds.
        long: how many jobs the runs for the truth have in all.
        parts: in how many of them.
        costly: whether fewer seeds have to do, as of fabrics.
        unstable: whether its queue grows for ever, so that nothing is true of it.
        must_print: the least share of runs with an interval by the pilot, of mean and p95.
    """

    name: str
    study: str
    jobs: int
    runs: int = 1
    metric: str = "sojourn_ps"
    exact: dict[str, float] = field(default_factory=dict)
    kind: str = ""
    long: int = 20_000_000
    parts: int = 20
    costly: bool = False
    unstable: bool = False
    must_print: float = 0.0

    @property
    def label(self) -> str:
        """How the table calls it."""
        each = f"{self.runs} x " if self.runs > 1 else ""
        return f"{self.name}, {each}{self.jobs:,}"

    def case(self, jobs: int, seed: int):
        """The case that is run."""
        text = self.study.replace("JOBS", str(jobs))
        return inputs.parse(
            Study, text, str(FOLDER / "study.toml"), [("run.seed", str(seed))]
        ).cases()[0]

    def observe(self, seed: int) -> Series:
        """Its runs of one seed."""
        case = self.case(self.jobs, seed)
        return self._observed([case.run(n, Progress()) for n in range(self.runs)])

    def truth(self, pool: Executor) -> dict[str, float]:
        """Its mean and quantiles."""
        if self.exact:
            return self.exact
        values = np.concatenate([*pool.map(self.part, range(self.parts))])
        return {
            name: float(values.mean() if share is None else np.quantile(values, share))
            for name, share in SHARES.items()
        }

    def part(self, number: int) -> Values:
        """A part of the runs that say the truth."""
        outcome = self.case(self.long // self.parts, _TRUTH_SEED).run(number, Progress())
        return self._observed([outcome]).runs[0]

    def _observed(self, outcomes: list) -> Series:
        """What runs gave, as the front end reads it from their rows."""
        runs = []
        for outcome in outcomes:
            arrived, sojourn, ideal = (
                np.asarray(outcome.columns[name])
                for name in ("arrived_ps", "sojourn_ps", "ideal_ps")
            )
            if self.kind:
                codes, names = outcome.columns["kind"]
                of_kind = codes == names.index(self.kind)
                arrived, sojourn, ideal = arrived[of_kind], sojourn[of_kind], ideal[of_kind]
            if (sojourn < 0).any():
                raise ValueError("a job that did not finish: let the study drain")
            runs.append((arrived, sojourn / (ideal if self.metric == "slowdown" else 1)))
        return Series.of(runs, [outcome.figures for outcome in outcomes])


FOLDER = Path("target/coverage")
"""Where the files with service times are."""


def write_services() -> None:
    """The service times of disks that are no formula of the engine, by their quantiles."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    shares = (np.arange(20_000) + 0.5) / 20_000
    normal = np.array([NormalDist().inv_cdf(share) for share in shares])
    varies = sqrt(log(2))  # a coefficient of variation of 1
    for name, times in {
        "exponential.csv": -np.log1p(-shares),
        "lognormal.csv": np.exp(varies * normal - varies**2 / 2),
    }.items():
        lines = [f"read,{round(time * 10**7)}ns" for time in times / times.mean()]
        FOLDER.joinpath(name).write_text("\n".join(["op,service", *lines]) + "\n")


def _array(disk: str, arrivals: str, layout: str = '{ kind = "single" }', more: str = "") -> str:
    return f"""title = "a queue"
model = "array"
disk = {disk}
layout = {layout}
[workload]
kind = "synthetic"
places = "anywhere"
blocks = 1
requests = JOBS
arrivals = {{ {arrivals} }}
{more}"""


_EXPONENTIAL = '{ kind = "exponential", mean = "10ms" }'


def mm1(load: float, jobs: int, runs: int = 1, **more) -> Cell:
    """Services of 10 ms on average."""
    mean = 10 * _MS / (1 - load)
    exact = {name: mean * (1 if s is None else -log(1 - s)) for name, s in SHARES.items()}
    study = _array(_EXPONENTIAL, f'kind = "poisson", rate = "{load * 100:g}/s"')
    return Cell(f"M/M/1 {load:g}", study, jobs, runs, exact=exact, **more)


def _queue(name: str, disk: str, arrivals: str, jobs: int, **more) -> Cell:
    return Cell(name, _array(disk, arrivals, **more), jobs)


def _empirical(file: str, servers: int = 1) -> str:
    return f'{{ kind = "empirical", file = "{file}.csv", servers = {servers} }}'


def _fabric(name: str, text: str, jobs: int, **more) -> Cell:
    return Cell(name, text, jobs, metric="slowdown", long=2_000_000, costly=True, **more)


def _list(kind: str, runs: int) -> Cell:
    """A list server that meets another internet in each run: the truth needs many of them."""
    messages, worlds = 30, 4_000
    return Cell(
        f"a list server, {kind}", LIST, messages, runs,
        kind=kind, long=messages * worlds, parts=worlds, costly=runs > 20,
    )  # fmt: skip


_POISSON = 'kind = "poisson", rate = "{}"'
_BULKS = (
    'kind = "poisson", rate = "70/s", rate_counts = "requests",'
    ' batch = { kind = "geometric", mean = 4 }'
)
_BURSTS = (
    'kind = "mmpp", quiet_rate = "40/s", burst_rate = "240/s",'
    ' quiet_time = "1s", burst_time = "250ms"'
)
RACKS = """title = "two racks"
drain = "10s"
[topology]
kind = "leaf-spine"
racks = 2
hosts = 4
spines = 2
uplink_rate = "10Gbps"
[workload]
kind = "poisson"
sizes = "websearch"
load = 0.5
flows = JOBS
[scheme]
name = "DCTCP"
"""
OVERSUBSCRIBED = (
    RACKS.replace("racks = 2", "racks = 4")
    .replace("load = 0.5", "load = 0.6")
    .replace('"DCTCP"', '"MinTCP+pFabric"')
)
LEAF_SPINE = OVERSUBSCRIBED.replace("spines = 2", "spines = 4")
LIST = """title = "a list server"
model = "mail"
internet = { kind = "internet", subscribers = 200, domains = 100, down = 0.0, dead = 0.0 }
[list]
messages = JOBS
warmup = 5
arrivals = { kind = "poisson", rate = "20/h" }
"""
RAID = _array('"ST3500630NS"', _POISSON.format("0.03/ms"), '{ kind = "raid01", disks = 4 }')

CELLS = [
    *(
        mm1(load, jobs, runs, must_print=must)
        for load, jobs, runs, must in [
            (0.5, 5_000, 1, 0), (0.5, 20_000, 1, 0.95), (0.5, 50_000, 1, 0),
            (0.8, 5_000, 1, 0), (0.8, 20_000, 1, 0), (0.8, 50_000, 1, 0.9),
            (0.95, 5_000, 1, 0), (0.95, 20_000, 1, 0), (0.95, 50_000, 1, 0),
            (0.5, 5_000, 5, 0), (0.5, 20_000, 5, 0),
            (0.8, 5_000, 5, 0), (0.8, 20_000, 5, 0.9), (0.8, 50_000, 5, 0),
            (0.95, 20_000, 5, 0), (0.95, 50_000, 5, 0),
        ]
    ),
    replace(mm1(0.9, 50_000), name="M/M/1 1.02, unstable", exact={},
            study=_array(_EXPONENTIAL, _POISSON.format("102/s")), unstable=True),
    *(_queue("M/M/4 0.8", _empirical("exponential", 4), _POISSON.format("320/s"), jobs)
      for jobs in (5_000, 20_000, 50_000)),
    *(_queue("M^X/LN/1 0.7", _empirical("lognormal"), _BULKS, jobs)
      for jobs in (5_000, 20_000, 50_000)),
    *(_queue("ON/OFF 0.8", _EXPONENTIAL, _BURSTS, jobs) for jobs in (20_000, 50_000, 200_000)),
    *(_queue("zoned disk 0.05/ms", '"ST3500630NS"', _POISSON.format("0.05/ms"), jobs)
      for jobs in (5_000, 20_000, 100_000)),
    *(Cell("RAID 01 of 4 disks 0.03/ms", RAID, jobs) for jobs in (5_000, 20_000, 100_000)),
    *(_fabric("two racks, DCTCP 0.5", RACKS, jobs) for jobs in (2_000, 8_000, 16_000, 32_000)),
    _fabric("leaf-spine with half the spines, pFabric 0.6", OVERSUBSCRIBED, 10_000),
    _fabric("leaf-spine, pFabric 0.6", LEAF_SPINE, 32_000),
    *(_list(kind, runs) for kind in ("delivery", "message-95") for runs in (5, 20)),
    _list("delivery", 100),
]  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """Two systems with the same arrivals, of which the numbers of one are over those of the other.

    `alike` says that they are one system, in which only the order at ties is another.
    """

    name: str
    over: Cell
    under: Cell
    alike: bool = False

    @property
    def label(self) -> str:
        """How the table calls it."""
        return f"{self.name}, {self.over.jobs:,}"


def _pairs(name: str, jobs: int, over: Cell, under: Cell, **more) -> Pair:
    return Pair(name, replace(over, jobs=jobs), replace(under, jobs=jobs), **more)


def _slower(load: float, jobs: int) -> Pair:
    """Services of 11 ms in place of 10 ms, of the same requests."""
    under = mm1(load, jobs)
    slower = mm1(load * 1.1, jobs)
    exact = {name: value * 1.1 for name, value in slower.exact.items()}
    study = under.study.replace('mean = "10ms"', 'mean = "11ms"')
    return Pair(
        f"M/M/1 {load:g}, 11 ms over 10 ms", replace(under, study=study, exact=exact), under
    )


_DCTCP = _fabric("DCTCP", RACKS, 16_000)
_PFABRIC = replace(_DCTCP, study=RACKS.replace('"DCTCP"', '"MinTCP+pFabric"'))
_RAID = Cell("RAID 01 of 4 disks", RAID, 20_000)
_SIX = replace(_RAID, study=RAID.replace("disks = 4", "disks = 6"))
_TEN = replace(_RAID, study=RAID.replace("raid01", "raid10"))
_TIES = replace(_DCTCP, study=f"hosts.overhead = 1.0001\n{RACKS}")

PAIRS = [
    _slower(0.5, 20_000),
    _slower(0.8, 20_000),
    _slower(0.8, 50_000),
    _pairs("RAID 01, 6 over 4 disks", 20_000, _SIX, _RAID),
    _pairs("RAID 10 over 01, of 4 disks", 20_000, _TEN, _RAID),
    _pairs("DCTCP over pFabric", 16_000, _DCTCP, _PFABRIC),
    _pairs("DCTCP, other ties", 2_000, _TIES, _DCTCP, alike=True),
]
