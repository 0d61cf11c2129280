"""Replications until every case is known well enough: `sojourn run --precision 5%`."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import ceil, inf

from sojourn.columns import Column
from sojourn.errors import InputError
from sojourn.ledger import Ledger, Record, Value
from sojourn.rundir import RunDirectory
from sojourn.sample import groups_of
from sojourn.statistics import Interval
from sojourn.summary import estimate
from sojourn.units import count
from sojourn.vocabulary import MISSED

FEWEST = 5
"""Replications before a case is judged: fewer give a wide interval, or by luck a narrow one."""
MOST = 100
"""Replications of a case at most, if nothing else is said."""
_PER_CENT = 100
_GROWTH = 2


@dataclass(frozen=True)
class Precision:
    """How well the mean, or a percentile, of each case is to be known.

    It is about slowdown and sojourn time, or goodput, of all jobs of each kind. `share` is half of
    the 95 % interval over the value in its middle, at most; `percentile` is in per cent, None for
    the mean; `most` is how many replications a case may have.
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
        per_cent = _number(share.removesuffix("%"))
        if not (share.endswith("%") and 0 < per_cent < _PER_CENT):
            raise InputError(f"precision {share!r}: expected a percentage like 5%, below 100%")
        percentile = None if of == "mean" else _number(of.removeprefix("p"))
        if percentile is not None and not (of.startswith("p") and 0 < percentile < _PER_CENT):
            raise InputError(f"precision of {of!r}: expected mean, or a percentile like p99")
        if most < FEWEST:
            raise InputError(f"{count(most, 'replication')} at most: expected {FEWEST} or more")
        return Precision(per_cent / _PER_CENT, percentile, most)

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

    def wanted(self, asked: Precision) -> int:
        """How many replications it should have next: never fewer, at most twice as many.

        The width falls with the root of their number. Steps are bounded because a width found by
        a few replications is a poor guess.

        Source: Law, Simulation Modeling and Analysis, section 9.4.1, the sequential procedure.
        """
        if self.reaches(asked):
            return self.replications
        ratio = inf if self.share is None else self.share / asked.share
        guess = min(self.replications * ratio**2, self.replications * _GROWTH)
        return min(max(ceil(guess), self.replications + 1), max(asked.most, self.replications))


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
            return [f"{asked} in every case, by {often} replications"]
        most = count(self.asked.most, "replication")
        head = f"{asked} not reached in {len(self.short)} of {len(self.cases)} cases with {most}:"
        return [head, *(f"  {_said(found)}" for found in self.short)]


def judge(asked: Precision, directory: RunDirectory, ledger: Ledger) -> Judgement:
    """How well the finished cases of a run are known.

    Raises:
        InputError: rows cannot be read.
    """
    by_case: dict[int, list[Record]] = {}
    for record in ledger:
        by_case.setdefault(record.case, []).append(record)
    return Judgement(asked, tuple(_case(asked, directory, own) for own in by_case.values()))


def _case(asked: Precision, directory: RunDirectory, records: list[Record]) -> Found:
    shares = dict(_shares(asked, directory, Ledger(records)))
    kind, metric = max(shares, key=lambda number: shares[number])
    widest = shares[kind, metric]
    return Found(
        case=records[0].case,
        axes=records[0].axes,
        replications=len(records),
        share=None if widest == inf else widest,
        kind=kind,
        metric=metric,
    )


def _shares(
    asked: Precision, directory: RunDirectory, ledger: Ledger
) -> Iterator[tuple[tuple[str, str], float]]:
    """How wide the interval of each number is; infinite where it has none."""
    percentiles = [] if asked.percentile is None else [asked.percentile]
    no_columns: list[Column] = []
    for group in groups_of(directory, ledger, no_columns, warmup=True):
        for metric in group.sample.metrics():
            if metric == MISSED:
                continue
            found = estimate(group, "all", metric, group.sample, percentiles)
            centre, interval = found.mean, found.ci95
            if percentiles:
                (centre,), (interval,) = found.quantiles.values(), found.quantiles_ci95.values()
            yield (group.kind, metric), _share(centre, interval)


def _share(centre: float | None, interval: Interval | None) -> float:
    if centre is None or interval is None:
        return inf
    half = (interval[1] - interval[0]) / 2
    return 0.0 if half == 0 else half / abs(centre) if centre else inf


def _said(found: Found) -> str:
    case = [f"{name} {value}" for name, value in found.axes.items()]
    metric = found.metric.removesuffix("_ps").removesuffix("_bps")
    share = "no interval" if found.share is None else f"± {found.share * _PER_CENT:.2g} %"
    return ", ".join([*case, f"{metric} of {found.kind}: {share}"])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0
