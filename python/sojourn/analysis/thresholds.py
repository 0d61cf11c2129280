"""Whether a run keeps the thresholds of its study, such as `p99 = "< 5 ms"`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf, nan

import numpy as np

from sojourn import _core
from sojourn._internal.units import bracketed, count, number
from sojourn._internal.vocabulary import kind_of, worded
from sojourn.analysis import cautions
from sojourn.analysis.observed import UNSTEADY
from sojourn.analysis.sample import Group, Warmup, groups_of
from sojourn.analysis.statistics import Interval
from sojourn.store.columns import Columns
from sojourn.store.ledger import Value
from sojourn.store.stored_run import StoredRun

_NAMED = 3


class Outcome(Enum):
    """What a run says about a threshold."""

    MET = "met"
    """The whole interval keeps it, in every case."""
    UNDECIDED = "undecided"
    """An interval holds the bound or is withheld, or a case has not run."""
    MISSED = "missed"
    """The whole interval breaks it, in one case at least."""


@dataclass(frozen=True)
class Judged:
    """A number of one case and kind of job beside a threshold.

    `value` and `ci95` are in the units of the rows. A percentile counts unfinished jobs as later
    than all others, so that it is infinite where too many are. `why` says what a number that
    decides nothing lacks.
    """

    case: dict[str, Value | None]
    kind: str
    value: float | None
    ci95: Interval | None
    outcome: Outcome
    why: str


@dataclass(frozen=True)
class Verdict:
    """A threshold, and what the cases of a run say about it."""

    threshold: _core.Threshold
    missing: int
    judged: tuple[Judged, ...]

    @property
    def outcome(self) -> Outcome:
        """Missed if a case misses it, met if all cases are known to meet it."""
        outcomes = {own.outcome for own in self.judged}
        if Outcome.MISSED in outcomes:
            return Outcome.MISSED
        known = outcomes == {Outcome.MET} and not self.missing
        return Outcome.MET if known else Outcome.UNDECIDED

    @property
    def text(self) -> str:
        """The threshold in a line: `p99 < 5 ms`."""
        return f"{self.threshold.key} {self.threshold.text}"

    def to_dict(self) -> dict[str, object]:
        """What `--json` prints of it."""
        cases = [
            {
                "case": own.case,
                "kind": own.kind,
                "value": own.value,
                "ci95": own.ci95 and list(own.ci95),
                "outcome": own.outcome.value,
                "why": own.why or None,
            }
            for own in self.judged
        ]
        return {"threshold": self.text, "outcome": self.outcome.value, "cases": cases}

    def line(self) -> str:
        """What is said to people."""
        outcome = self.outcome
        own = [judged for judged in self.judged if judged.outcome is outcome]
        own.sort(key=self._distance)
        said = [self._said(judged) for judged in own[:_NAMED]]
        if outcome is Outcome.MET:
            said = said[:1]
        elif len(own) > _NAMED:
            said.append(f"and {len(own) - _NAMED} more")
        if outcome is Outcome.UNDECIDED and self.missing:
            said.append(f"{count(self.missing, 'case')} not run yet")
        if not self.judged and not self.missing:
            said.append("the run has no such jobs")
        many, of = "", len(self.judged)
        if of > 1:
            met = outcome is Outcome.MET
            many = f" in all {of} cases, closest" if met else f" in {len(own)} of {of} cases"
        return f"{outcome.value}: {self.text}{many}: {'; '.join(said)}"

    def _distance(self, judged: Judged) -> float:
        """How far a number is on the right side of the bound; the worst comes first."""
        value = nan if judged.value is None else judged.value
        upper = self.threshold.relation.startswith("<")
        distance = self.threshold.bound - value if upper else value - self.threshold.bound
        return -inf if np.isnan(distance) else distance

    def _said(self, judged: Judged) -> str:
        metric = kind_of(judged.kind).metric(self.threshold.column)
        named = len({own.kind for own in self.judged}) > 1
        kind = [kind_of(judged.kind).label] if named else []
        of = ", ".join([*kind, *filter(None, [worded(judged.case.items())])])
        said = []
        if judged.value is not None:
            unit = f" {metric.unit}" if metric.unit else ""
            ends = f" {bracketed(judged.ci95, metric.per_unit)}" if judged.ci95 else ""
            value = number(judged.value / metric.per_unit)
            said.append("infinite" if judged.value == inf else f"{value}{unit}{ends}")
        if judged.why:
            said.append(judged.why)
        return ", ".join(said) + (f" ({of})" if of else "")


def judge(run: StoredRun, *, warmup: Warmup = True) -> tuple[Verdict, ...]:
    """Compare the numbers of a run with the thresholds of its study.

    Each case, and each kind of job that a threshold is about, has to meet it. A number meets it if
    its whole 95 % interval does.

    Args:
        run: the run.
        warmup: what to leave out at the start.

    Raises:
        InputError: a file cannot be read.
    """
    study = run.directory
    wanted = _core.thresholds(study.read_study(), str(study.study))
    if not wanted:
        return ()
    columns = Columns.of(study, run.ledger)
    found: list[list[Judged]] = [[] for _ in wanted]
    apart = [columns.find(name) for name in columns.apart]
    for group in groups_of(study, run.ledger, apart, warmup=warmup):
        grows = cautions.grows(group.sample)
        for threshold, judged in zip(wanted, found, strict=True):
            if group.kind in threshold.kinds:
                judged.append(_judged(group, threshold, grows=grows))
    return tuple(
        Verdict(threshold, run.missing, tuple(judged))
        for threshold, judged in zip(wanted, found, strict=True)
    )


def are_met(verdicts: Sequence[Verdict]) -> bool:
    """Whether a run is known to keep all thresholds of its study."""
    return all(verdict.outcome is Outcome.MET for verdict in verdicts)


def lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """A line for each threshold."""
    return (verdict.line() for verdict in verdicts)


def _judged(group: Group, threshold: _core.Threshold, *, grows: bool) -> Judged:
    column, percentile = threshold.column, threshold.percentile
    sample = group.sample if percentile is None else group.sample.with_unfinished(column)
    observed = sample.observed(column)
    runs = [run for case in observed.cases for run in case.runs]
    values = np.concatenate(runs) if runs else np.empty(0)
    value = None
    if values.size:
        value = float(values.mean() if percentile is None else _quantile(values, percentile))
    with np.errstate(invalid="ignore"):  # of times that are infinite
        interval, needs = observed.interval(None if percentile is None else percentile / 100)
    if needs is None and interval is None and value is not None:
        interval = value, value  # all jobs are alike
    if interval is not None and value is not None:
        interval = min(interval[0], value), max(interval[1], value)
    outcome, why = Outcome.UNDECIDED, ""
    unfinished = group.sample.counts()[1]
    if grows:
        why = UNSTEADY.why
    elif value == inf:  # more jobs are unfinished than the percentile leaves out
        outcome = Outcome.MISSED if threshold.relation.startswith("<") else Outcome.MET
        why = count(unfinished, "unfinished job")
    elif interval is None:
        why = f"no interval: {needs.why}" if needs else "no finished job"
    elif not _is_met(threshold, interval, whole=False):
        outcome = Outcome.MISSED
    elif not _is_met(threshold, interval, whole=True):
        why = "the interval holds the bound"
    elif percentile is None and unfinished and column != "goodput_bps":
        why = f"{count(unfinished, 'unfinished job')} not in the mean"
    else:
        outcome = Outcome.MET
    return Judged(group.case, group.kind, value, interval, outcome, why)


def _quantile(values: np.typing.NDArray[np.float64], percentile: float) -> float:
    finite = bool(np.isfinite(values).all())
    return float(np.percentile(values, percentile, method="linear" if finite else "higher"))


def _is_met(threshold: _core.Threshold, interval: Interval, *, whole: bool) -> bool:
    """Whether the whole interval keeps the bound, or only a part of it."""
    low, high = interval
    bound = threshold.bound
    match threshold.relation:
        case "<":
            return (high if whole else low) < bound
        case "<=":
            return (high if whole else low) <= bound
        case ">":
            return (low if whole else high) > bound
        case _:
            return (low if whole else high) >= bound
