"""What one group of jobs says about one metric: mean, percentiles, and their intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sojourn._internal.errors import InputError
from sojourn._internal.vocabulary import ALL_SIZES, GOODPUT, MISSED, JobKind
from sojourn.analysis.fairness import STATISTICS, Shares, TooShort
from sojourn.analysis.observed import Needs, Observed
from sojourn.analysis.sample import Group, Sample
from sojourn.analysis.statistics import Interval, Values
from sojourn.store.ledger import Value

MEAN = "mean"
DIGITS = 6
"""Digits after the point that a percentile may have."""


@dataclass(frozen=True)
class MetricSummary:
    """What one group of jobs says about one metric.

    `n` counts the finished jobs behind the numbers, `unfinished` those that were not done by
    the end of their run, `warmup` those left out because they finished but arrived during the
    warm-up: together, all jobs of the group. Numbers are None where no job finished, intervals
    where there are too few jobs for one.

    The metric `missed_deadline` is there where jobs have deadlines, and about those that have: 1
    for one that was not done by then, 0 for one that was, so that the mean is the share that
    missed theirs. One that did not finish missed its own, so that here `n` counts it too.

    The metric `goodput_bps`, in bits a second, is about flows that never end, and there is no
    other about them. `shares` says what they got, `min`, `p5`, `p50` and `p95`, and how evenly they
    share over the whole measuring window (`fairness.Shares`): `spread`, `jain` and `above_mean`,
    None where `too_short` says why these are withheld. For other metrics it is empty.

    `steady` says whether the cases have a steady state (`steadiness.is_steady`): numbers of others
    depend on how long their runs are.
    """

    case: dict[str, Value | None]
    kind: str
    bin: str
    metric: str
    n: int
    unfinished: int
    warmup: int
    mean: float | None
    ci95: Interval | None
    ci_method: str | None
    quantiles: dict[str, float | None]
    quantiles_ci95: dict[str, Interval | None]
    max: float | None
    needs: dict[str, Needs] = field(default_factory=dict)
    shares: dict[str, float | None] = field(default_factory=dict)
    too_short: TooShort | None = None
    steady: bool = True

    def numbers(self) -> Iterator[tuple[str, float | None, Interval | None]]:
        """The name, the value and the interval of each number that says where jobs lie."""
        yield "mean", self.mean, self.ci95
        for name, value in self.quantiles.items():
            yield name, value, self.quantiles_ci95[name]
        yield "max", self.max, None

    def flat(self) -> dict[str, object]:
        """These numbers as the contract's JSON object: `case`, `kind`, `bin`, `metric`, ..."""
        return {
            "case": self.case,
            "kind": self.kind,
            "bin": self.bin,
            "metric": self.metric,
            "n": self.n,
            "unfinished": self.unfinished,
            "warmup": self.warmup,
            "mean": self.mean,
            "ci95": self.ci95 and list(self.ci95),
            "ci95_needs": _needed(self.needs, MEAN),
            "ci_method": self.ci_method,
            **self.shares,
            **self._fairness_needs(),
            **self.quantiles,
            **{
                f"{name}_ci95": interval and list(interval)
                for name, interval in self.quantiles_ci95.items()
            },
            **{f"{name}_ci95_needs": _needed(self.needs, name) for name in self.quantiles},
            "max": self.max,
            "steady_state": self.steady,
        }

    def _fairness_needs(self) -> dict[str, object]:
        if not self.shares:
            return {}
        return {"fairness_needs": self.too_short and self.too_short.to_dict()}


def bins_of(kind: JobKind, samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """All sizes together, and those bins with jobs of any sample, where that says more."""
    there = {
        name: ends
        for name, ends in kind.bins.items()
        if any(part.size_bytes.size for s in samples for part in s.between(*ends).parts)
    }
    return {ALL_SIZES: (-np.inf, np.inf), **(there if len(there) > 1 else {})}


def check_percentiles(percentiles: Sequence[float]) -> None:
    """Refuse values that are not percentiles.

    Raises:
        InputError: one is no number, or out of range.
    """
    for percentile in percentiles:
        if not isinstance(percentile, int | float):
            raise InputError(f"percentile {percentile!r}: expected a number, such as 99")
        if not 0 <= percentile <= 100 or (percentile < 100) != (round(percentile, DIGITS) < 100):
            expected = f"0 to 100, with at most {DIGITS} digits after the point"
            raise InputError(f"percentile {percentile:.15g}: expected {expected}")


def metric_summary(
    group: Group,
    size_bin: str,
    metric: str,
    sample: Sample,
    percentiles: Sequence[float],
    *,
    observed: Observed | None = None,
) -> MetricSummary:
    """What the jobs of a group in one size bin say about one metric; percentiles in per cent.

    `observed` is what the sample has of it, where that was asked for before.
    """
    sample = sample.due() if metric == MISSED else sample
    observed = sample.observed(metric) if observed is None else observed
    values = np.concatenate([np.empty(0), *(run for case in observed.cases for run in case.runs)])
    quantiles: list[float | None] = [None] * len(percentiles)
    if values.size:
        quantiles = [*np.percentile(values, percentiles).tolist()]
    shares = [None, *(percentile / 100 for percentile in percentiles)]
    found = [observed.interval(share) if share not in (0, 1) else (None, None) for share in shares]
    names = [MEAN, *(percentile_name(percentile) for percentile in percentiles)]
    mean = float(values.mean()) if values.size else None
    ends = [interval for interval, _ in found]
    intervals = dict(zip(names, map(_with_value, ends, [mean, *quantiles]), strict=True))
    ci95 = intervals.pop(MEAN)
    _, unfinished, early = sample.counts()
    shared = metric == GOODPUT and values.size > 0
    figures = [part.record.figures for part in sample.parts]
    too_short = TooShort.of(figures) if shared else None
    return MetricSummary(
        case=group.case,
        kind=group.kind,
        bin=size_bin,
        metric=metric,
        n=values.size,
        unfinished=unfinished,
        warmup=early,
        mean=mean,
        ci95=ci95,
        ci_method=observed.method() if ci95 or any(intervals.values()) else None,
        quantiles=dict(zip(intervals, quantiles, strict=True)),
        quantiles_ci95=intervals,
        needs={name: needs for name, (_, needs) in zip(names, found, strict=True) if needs},
        max=float(values.max()) if values.size else None,
        shares=_shares(observed, values, told=too_short is None) if shared else {},
        too_short=too_short,
    )


def _with_value(interval: Interval | None, value: float | None) -> Interval | None:
    """An interval that holds the value beside which it stands.

    The value is that of all jobs. An interval may be made of fewer: the last three quarters of a
    run, or the replications that all cases have.
    """
    if interval is None or value is None:
        return interval
    low, high = interval
    return min(low, value), max(high, value)


def _needed(needs: dict[str, Needs], name: str) -> dict[str, object] | None:
    return needs[name].to_dict() if name in needs else None


def _shares(observed: Observed, values: Values, *, told: bool) -> dict[str, float | None]:
    """What long flows got, of all runs together, and the mean of how evenly they share in each."""
    low, middle, high = np.percentile(values, [5, 50, 95]).tolist()
    runs = [run for case in observed.cases for run in case.runs if run.size]
    shares = Shares.mean([Shares.of(run[np.newaxis]) for run in runs])
    evenness = {name: getattr(shares, name) if told else None for name in STATISTICS}
    return {"min": float(values.min()), "p5": low, "p50": middle, "p95": high, **evenness}


def percentile_name(percentile: float) -> str:
    """What a percentile, in per cent, is called in tables and JSON: `p99.9`."""
    return f"p{percentile:.10g}"
