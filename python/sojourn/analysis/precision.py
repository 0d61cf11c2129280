"""As many replications as it takes to know every case well enough: `sojourn run --precision 5%`.

How many that are is settled before they run, so that none is added because of what was seen: by
computing where the model knows how long its runs are, otherwise by a few separate replications,
which are thrown away.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import ceil, inf

from sojourn._internal.errors import InputError
from sojourn._internal.units import count, factor, per_cent
from sojourn._internal.vocabulary import MISSED, kind_of
from sojourn.analysis.intervals import BATCHES
from sojourn.analysis.metric_summary import check_percentiles
from sojourn.analysis.observed import Observed
from sojourn.analysis.run_length import FEWEST_REPLICATIONS, Queue, needed
from sojourn.analysis.sample import groups_of
from sojourn.analysis.statistics import Interval, student_t
from sojourn.store.columns import Column
from sojourn.store.ledger import Ledger, Record, Value
from sojourn.store.run_directory import RunDirectory

MOST = 100
"""Replications of a case at most, if nothing else is said."""
_PER_CENT = 100
# Two widths of twenty batches each differ by a quarter: 19 of 20 runs get there with so many more.
_CAUTION = 2.0


@dataclass(frozen=True)
class Precision:
    """How well the mean, or a percentile, of each case is to be known.

    It is about what tables show of all jobs of each kind, such as their response time. `share` is
    half of the 95 % interval over the value in its middle, at most; `percentile` is in per cent,
    None for the mean; `most` is how many replications a case may have.
    """

    share: float
    percentile: float | None = None
    most: int = MOST

    @staticmethod
    def read(share: str, of: str = "mean", most: int = MOST) -> "Precision":
        """What the command line was given, as `5%`, `p99` and `100`.

        Raises:
            InputError: one of them is nothing of the kind.
        """
        half_width = per_cent(share, "precision", below=_PER_CENT)
        if not half_width:
            raise InputError(f"precision {share!r}: expected a percentage above 0")
        percentile = None if of == "mean" else _number(of.removeprefix("p"))
        if percentile is not None and not (of.startswith("p") and 0 < percentile < _PER_CENT):
            raise InputError(f"precision of {of!r}: expected mean, or a percentile like p99")
        check_percentiles([] if percentile is None else [percentile])
        if most < FEWEST_REPLICATIONS:
            raise InputError(
                f"{count(most, 'replication')} at most: expected {FEWEST_REPLICATIONS} or more"
            )
        return Precision(half_width / _PER_CENT, percentile, most)

    @property
    def quantile(self) -> float | None:
        """The share of jobs that lies below what is to be known, None for the mean."""
        return None if self.percentile is None else self.percentile / _PER_CENT

    @property
    def of(self) -> str:
        """What is to be known: `mean`, `p99`."""
        return "mean" if self.percentile is None else f"p{self.percentile:g}"


@dataclass(frozen=True)
class Found:
    """How well a case is known.

    `share` is the widest of its intervals, as `Precision` has it, and None where one of its numbers
    has no interval; `kind` and `metric` say which number that is.
    """

    case: int
    axes: Mapping[str, Value]
    replications: int
    share: float | None
    kind: str
    metric: str

    def reaches(self, asked: Precision) -> bool:
        """Whether that is as well as was asked."""
        return self.share is not None and self.share <= asked.share


@dataclass(frozen=True)
class Judgement:
    """How well each case of a run is known, against what was asked."""

    asked: Precision
    cases: tuple[Found, ...]

    @property
    def reached(self) -> bool:
        """Whether every case is known as well as was asked."""
        return not self.short

    @property
    def short(self) -> list[Found]:
        """The cases that are not."""
        return [found for found in self.cases if not found.reaches(self.asked)]

    def to_dict(self) -> dict[str, object]:
        """What `sojourn run --json` says of it."""
        cases = [{**asdict(f), "reached": f.reaches(self.asked)} for f in self.cases]
        return {**asdict(self.asked), "reached": self.reached, "cases": cases}

    def lines(self) -> list[str]:
        """What is said to people."""
        numbers = sorted({found.replications for found in self.cases})
        often = " to ".join(dict.fromkeys([str(numbers[0]), str(numbers[-1])]))
        asked = f"{self.asked.of} within {self.asked.share * _PER_CENT:g} %"
        if self.reached:
            plural = "" if often == "1" else "s"
            return [f"{asked} in every case, by {often} replication{plural}"]
        head = f"{asked} not reached in {len(self.short)} of {len(self.cases)} cases:"
        return [head, *(f"  {_said(found)}" for found in self.short)]


def judge(asked: Precision, directory: RunDirectory, ledger: Ledger) -> Judgement:
    """How well the finished cases of a run are known.

    Raises:
        InputError: rows cannot be read.
    """
    cases = ledger.by_case().values()
    return Judgement(asked, tuple(_case(asked, directory, own) for own in cases))


def computed(asked: Precision, queue: Queue, jobs: int) -> int:
    """How many replications of so many jobs are known that well, as the model says.

    Raises:
        InputError: no number of replications is enough: each is too short.
    """
    # The relative half-width of a mean; that of a quantile is about the same in heavy traffic.
    by_width = 2 * (student_t(BATCHES) / asked.share) ** 2
    length = queue.length(jobs)
    return _long_enough(asked, queue, jobs, ceil(by_width / length) if length else 1)


def by_pilots(asked: Precision, directory: RunDirectory, ledger: Ledger) -> dict[int, int]:
    """How many fresh replications of each case would be known that well, by these few.

    The width of an interval falls with the root of their number.

    Raises:
        InputError: no number of replications is enough: each is too short; or none that is allowed.
    """
    wanted = {}
    for case, records in ledger.by_case().items():
        numbers = [*_observed(directory, records)]
        widths = [_width(own.unjudged(asked.quantile)) for _, _, own in numbers]
        known = [width for width in widths if width < inf]
        number = asked.most
        if known:
            number = ceil(len(records) * (max(known) / asked.share) ** 2 * _CAUTION)
        queue = Queue.of([record.figures for record in records])
        if queue is not None:
            number = _long_enough(asked, queue, records[0].jobs, number)
        fewest = max(own.fewest_replications(asked.quantile) for _, _, own in numbers)
        if fewest > asked.most:
            raise InputError(
                f"--precision: {asked.of} of jobs of one run, which hang together, takes"
                f" {fewest} replications: expected --most-replications {fewest} or more"
            )
        wanted[case] = max(number, fewest)
    return wanted


def _long_enough(asked: Precision, queue: Queue, jobs: int, runs: int) -> int:
    length = queue.length(jobs)
    if not length:
        raise InputError(f"--precision: {queue.busy} have no steady state")
    runs = max(runs, ceil(needed(asked.quantile) / length), 1)
    for enough in range(runs, max(runs, asked.most) + 1):
        if queue.withholds(asked.quantile, enough, jobs) is None:
            return enough
    if runs > asked.most and queue.withholds(None, asked.most, jobs) is None:
        return asked.most  # as well as that many can
    short = queue.withholds(asked.quantile, FEWEST_REPLICATIONS, jobs)
    times = 2.0 if short is None else short.times
    raise InputError(
        f"--precision: replications of {jobs:,} jobs are too short, however many there are:"
        f" expected {factor(times)} times as many jobs in each (--more {factor(times)})"
    )


def _case(asked: Precision, directory: RunDirectory, records: list[Record]) -> Found:
    found = {}
    for kind, metric, own in _observed(directory, records):
        interval, needs = own.interval(asked.quantile)
        alike = interval is None and needs is None
        found[kind, metric] = 0.0 if alike else _width(interval)
    kind, metric = max(found, key=lambda number: found[number])
    widest = found[kind, metric]
    return Found(
        case=records[0].case,
        axes=records[0].axes,
        replications=len(records),
        share=None if widest == inf else widest,
        kind=kind,
        metric=metric,
    )


def _observed(
    directory: RunDirectory, records: list[Record]
) -> Iterator[tuple[str, str, Observed]]:
    """What was observed of each kind of job of a case and each metric."""
    no_columns: list[Column] = []
    for group in groups_of(directory, Ledger(records), no_columns, warmup=True):
        for metric in group.sample.metrics():
            if kind_of(group.kind).metric(metric).shown and metric != MISSED:
                yield group.kind, metric, group.sample.observed(metric)


def _width(interval: Interval | None) -> float:
    """Half of an interval over its middle."""
    if interval is None:
        return inf
    low, high = interval
    return (high - low) / abs(high + low) if high + low else inf


def _said(found: Found) -> str:
    case = [f"{name} {value}" for name, value in found.axes.items()]
    metric = found.metric.removesuffix("_ps").removesuffix("_bps")
    share = "no interval" if found.share is None else f"± {found.share * _PER_CENT:.2g} %"
    by = count(found.replications, "replication")
    return ", ".join([*case, f"{metric} of {found.kind}: {share} by {by}"])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0
