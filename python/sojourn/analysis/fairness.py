"""How evenly long flows share what there is, by the time over which their goodput is averaged.

Flows that take turns are unfair over a second and fair over a minute, so that no number says how
fair they are without a time. One run has averages over many (`averages/*.parquet`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from sojourn._internal.errors import InputError
from sojourn._internal.units import PS_PER_S, duration, picoseconds
from sojourn.analysis.intervals import sectioned_interval
from sojourn.analysis.run_length import FEWEST_REPLICATIONS
from sojourn.analysis.statistics import Interval, Values, jain
from sojourn.store import rows
from sojourn.store.columns import Columns, groups
from sojourn.store.ledger import Record, Value
from sojourn.store.run_directory import AVERAGES
from sojourn.store.stored_run import StoredRun

FEWEST_TIMEOUTS = 10
"""Fairness counts where the measuring window is at least this many times its longest time-out.

In a shorter one, the share of a flow that waits for a time-out at the start or end of the window
shows when the window was, not how flows share.
"""

_FARTHEST = 1.13
"""The factor by which the nearest averaging time may differ from the one asked for."""


class NoAverageError(InputError):
    """A run has no average over a time that was asked for, nor over one near it."""


@dataclass(frozen=True)
class TooShort:
    """Why fairness is withheld: the measuring window is too short for its longest time-out."""

    window_ps: int
    longest_timeout_ps: int

    @staticmethod
    def of(figures: Iterable[Mapping[str, Value]]) -> "TooShort | None":
        """What is wrong with cases that have these totals; None where nothing is.

        Nothing is known of cases without time-outs or windows, such as measured ones.
        """
        found = [
            TooShort(int(own["measuring_window_ps"]), int(own["longest_timeout_ps"]))
            for own in figures
            if "measuring_window_ps" in own and "longest_timeout_ps" in own
        ]
        worst = min(found, key=lambda own: own.window_ps - own.needed_ps, default=None)
        return worst if worst and worst.window_ps < worst.needed_ps else None

    @property
    def needed_ps(self) -> int:
        """How long the window has to be at least."""
        return FEWEST_TIMEOUTS * self.longest_timeout_ps

    @property
    def times(self) -> float:
        """How many times as long a window will do, should a time-out twice as long occur in it."""
        return 2 * self.needed_ps / self.window_ps

    @property
    def why(self) -> str:
        """The reason, in words."""
        return (
            f"the measuring window of {duration(self.window_ps)} has to be {FEWEST_TIMEOUTS} times"
            f" the longest time-out, {duration(self.longest_timeout_ps)}, or more:"
            f" {duration(self.needed_ps)}"
        )

    def to_dict(self) -> dict[str, object]:
        """What `--json` says of it."""
        return {"window_s": self.needed_ps / PS_PER_S, "times": ceil(self.times), "why": self.why}


@dataclass(frozen=True)
class Shares:
    """How evenly flows share, or an estimate of it.

    Attributes:
        spread: the 95th percentile of goodputs over the 5th; None where that is mostly zero.
        jain: Jain's index, 1 where all have the same, 1/n where one of n has all.
        above_mean: the share of flows with more than the mean.
    """

    spread: float | None
    jain: float
    above_mean: float

    @staticmethod
    def of(goodputs: Values) -> "Shares":
        """Those of the goodputs of flows, a row for each of several times: means over the times.

        The spread is the ratio of the mean percentiles, because the lowest twentieth may get
        nothing at a single time. There is none where it gets nothing at most times.
        """
        lows, highs = np.percentile(goodputs, [5, 95], axis=1)
        means = goodputs.mean(axis=1, keepdims=True)
        return Shares(
            spread=float(highs.mean() / lows.mean()) if np.median(lows) > 0 else None,
            jain=float(np.mean([jain(own) for own in goodputs])),
            above_mean=float((goodputs > means).mean()),
        )

    @staticmethod
    def mean(each: "Sequence[Shares]") -> "Shares":
        """The mean of several; no spread where one has none."""
        spreads = [own.spread for own in each if own.spread is not None]
        return Shares(
            spread=float(np.mean(spreads)) if len(spreads) == len(each) else None,
            jain=float(np.mean([own.jain for own in each])),
            above_mean=float(np.mean([own.above_mean for own in each])),
        )


STATISTICS = ("spread", "jain", "above_mean")


@dataclass(frozen=True)
class Fairness:
    """How evenly the long flows of some cases share, over one averaging time.

    Attributes:
        case: the values of the group's columns.
        over_ps: the averaging time, in picoseconds.
        flows: how many long flows a case has.
        starts: at how many times in each measuring window an average starts.
        replications: how many runs it is the mean of.
        shares: None where they are withheld.
        ci95: the intervals of `STATISTICS` over replications, where there are enough.
        withheld: why they are.
    """

    case: dict[str, Value | None]
    over_ps: int
    flows: int
    starts: int
    replications: int
    shares: Shares | None
    ci95: dict[str, Interval]
    withheld: TooShort | None

    def flat(self) -> dict[str, object]:
        """These numbers as a JSON object; times are in seconds."""
        numbers: dict[str, object] = {}
        for name in STATISTICS:
            numbers[name] = getattr(self.shares, name) if self.shares else None
            numbers[f"{name}_ci95"] = list(self.ci95[name]) if name in self.ci95 else None
        return {
            "case": self.case,
            "kind": "bulk",
            "metric": "fairness",
            "over_s": self.over_ps / PS_PER_S,
            "flows": self.flows,
            "starts": self.starts,
            "replications": self.replications,
            **numbers,
            "needs": self.withheld and self.withheld.to_dict(),
        }

    def record(self) -> dict[str, object]:
        """The same as a line of a table: the ends of intervals, and what is needed, in columns."""
        line: dict[str, object] = {}
        for name, value in self.flat().items():
            if name == "case":
                line |= self.case
            elif name == "needs":
                line["needs_window_s"] = self.withheld and self.withheld.needed_ps / PS_PER_S
            elif name.endswith("_ci95"):
                ends = self.ci95.get(name.removesuffix("_ci95"))
                line |= dict(
                    zip((f"{name}_low", f"{name}_high"), ends or (None, None), strict=True)
                )
            else:
                line[name] = value
        return line


def fairness(
    run: StoredRun, over: Sequence[str] | None = None, *, by: Sequence[str] | None = None
) -> list[Fairness]:
    """How evenly the long flows of a run share, over several averaging times.

    Args:
        run: the run.
        over: averaging times, such as `"500ms"`; by default all that the run has, ten a decade from
            a round trip to the whole measuring window.
        by: columns to group by; by default the swept axes.

    Returns:
        For each group, one entry an averaging time, in rising order.

    Raises:
        InputError: no flow of the run was measured over a window; there is no average over a time
            that was asked for, or near it; windows differ too much; an unknown column; a file that
            cannot be read.
    """
    columns = Columns.of(run.directory, run.ledger)
    chosen = [columns.find(name) for name in dict.fromkeys(columns.axes if by is None else by)]
    found: list[Fairness] = []
    for key, records in groups(run.ledger, chosen).items():
        case = {column.label: value for column, value in zip(chosen, key, strict=True)}
        found += of_records(run, records, over, case=case)
    if not found:
        raise InputError(f"{run.path}: no flow was measured over a window (workload.kind bulk)")
    return found


def is_told(run: StoredRun, record: Record) -> bool:
    """Whether `fairness` reports numbers for a case."""
    return not TooShort.of([record.figures]) and bool(_averages(run, record))


def of_records(
    run: StoredRun,
    records: Sequence[Record],
    over: Sequence[str] | None = None,
    *,
    case: dict[str, Value | None],
) -> list[Fairness]:
    """What `fairness` says of some cases of a run, which are a group called `case`.

    Raises:
        NoAverageError: there is no average over a time that was asked for.
        InputError: windows differ too much; a file cannot be read.
    """
    averages = [own for record in records if (own := _averages(run, record)) is not None]
    if not averages:
        return []
    known = sorted(set.intersection(*(set(own) for own in averages)))
    if not known:
        raise InputError(
            f"{run.path}: fairness compares flows over the same times, and long flows are measured"
            " over different windows here"
        )
    withheld = TooShort.of(record.figures for record in records)
    found: list[Fairness] = []
    for over_ps in known if over is None else _nearest(over, known):
        tables = [own[over_ps] for own in averages]
        each = [Shares.of(goodputs) for goodputs in tables]
        about = Fairness(
            case=case,
            over_ps=over_ps,
            flows=max(goodputs.shape[1] for goodputs in tables),
            starts=max(goodputs.shape[0] for goodputs in tables),
            replications=len(each),
            shares=None if withheld else Shares.mean(each),
            ci95={} if withheld else dict(_intervals(each)),
            withheld=withheld,
        )
        found.append(about)
    return found


def _averages(run: StoredRun, record: Record) -> dict[int, Values] | None:
    """By averaging time: what each long flow of a case got, in bits per second, a row per start.

    None without long flows; empty where they are measured over different windows.
    """
    path = run.directory.beside(AVERAGES, *record.key)
    if not path.exists():
        return None
    table = rows.read(path, ["over_ps", "job", "received_bytes"])
    over, job, received = (rows.numbers(table[name]) for name in table.column_names)
    flows = np.unique(job).size
    found: dict[int, Values] = {}
    # Rows lie by averaging time, start and job.
    for own in np.split(np.arange(over.size), np.flatnonzero(np.diff(over)) + 1):
        starts = own.size // flows
        # Flows of two parts of a workload may be measured over different windows.
        if (
            own.size == starts * flows
            and (job[own].reshape(starts, flows) == job[own[:flows]]).all()
        ):
            bits = received[own].reshape(starts, flows) * 8.0
            found[int(over[own[0]])] = bits * (PS_PER_S / int(over[own[0]]))
    return found


def _nearest(over: Sequence[str], known: Sequence[int]) -> list[int]:
    """The averaging times next to those that were asked for."""
    found = []
    for asked in over:
        over_ps = picoseconds(asked, "--over")
        nearest = min(known, key=lambda own: max(own / over_ps, over_ps / own) if over_ps else own)
        if not over_ps or not 1 / _FARTHEST <= nearest / over_ps <= _FARTHEST:
            raise NoAverageError(
                f"--over {asked}: expected a time from {duration(known[0])} to"
                f" {duration(known[-1])}, the measuring window"
            )
        found.append(nearest)
    return sorted(dict.fromkeys(found))


def _intervals(each: Sequence[Shares]) -> Iterator[tuple[str, Interval]]:
    """The intervals of means over replications, which alone are independent."""
    if len(each) < FEWEST_REPLICATIONS:
        return
    for name in STATISTICS:
        values = [getattr(own, name) for own in each]
        if None not in values:
            own = np.array(values)
            ends = sectioned_interval(float(own.mean()), own)
            if ends:
                yield name, ends
