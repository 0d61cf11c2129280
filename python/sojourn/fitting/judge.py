"""Whether a fitted device is good enough to predict with: held against its own measurement."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from sojourn._internal.units import PS_PER_S, bracketed, duration
from sojourn.analysis.cautions import PROCESSORS_BUSY
from sojourn.analysis.comparison import Comparisons
from sojourn.analysis.comparison.difference import MEAN, Difference
from sojourn.analysis.comparison.metric_comparison import MetricComparison
from sojourn.analysis.observed import Observed
from sojourn.analysis.statistics import Interval, Values
from sojourn.fitting import Fitted, Load, Serving, mean_sojourn
from sojourn.fitting.lateness import effect_percent
from sojourn.fitting.rule import Outcome, of_all, of_interval, times_needed, wider

MOST_OFF = 15.0
"""Per cent that a judged number of a load may be off."""

TAIL = 95.0
"""The percentile that is judged beside the mean."""

LATE_MOST = MOST_OFF / 3
"""Per cent by which lateness may lengthen a load's mean before the load tells nothing."""

_JUDGED = (MEAN, f"p{TAIL:g}")

_ITERATIONS = 50  # of a mean that depends on itself
_QUICKER = 0.05  # a load's mean below the services' by more than this share
_LONGER = 2.0  # times as many requests, where nothing says how many it takes
_MOST_TIMES = 1000  # as many requests would take too long


@dataclass(frozen=True)
class Number:
    """One judged number of a load.

    `per_cent` is how far off its prediction is, None where there is none. `ends` are the 95 %
    interval of that, in which the services count as the sample that they are; None where the runs
    are too short for one, and `why` says so. `times` as many requests would tell, infinite where
    none are enough; 1 where it can be told; `at_least` says that it may be more.
    """

    name: str
    per_cent: float | None
    ends: Interval | None
    outcome: Outcome
    times: float = 1.0
    at_least: bool = False
    why: str = ""

    def __str__(self) -> str:
        if self.per_cent is None:
            return f"{self.name} not compared"
        ends = f" {bracketed(self.ends)}" if self.ends else ""
        return f"{self.name} off by {self.per_cent:+.1f} %{ends}"


@dataclass(frozen=True)
class Judged:
    """One load: whether the device was learnt from it, and how far off its predictions are.

    `doubts` say why the load was not what the study asks for, so that it tells nothing of the
    device.
    """

    load: Load
    learnt: bool
    numbers: tuple[Number, ...]
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        what = "learnt from" if self.learnt else "predicted"
        said = f"{self.name}: {what}, {', '.join(map(str, self.numbers))}"
        if (ends := self.replications_percent) is None:
            return said
        return f"{said}; means of its replications by {ends[0]:+.1f} to {ends[1]:+.1f} %"

    @property
    def name(self) -> str:
        """The load in words."""
        return self.load.label or "the only load"

    @property
    def outcome(self) -> Outcome:
        """What the load says of the device."""
        if self.doubts:
            return Outcome.CANNOT_TELL
        return of_all(number.outcome for number in self.numbers)

    @property
    def requests(self) -> int | None:
        """How many of its requests would tell; None where it can be told, or none are enough."""
        most = max((number.times for number in self.numbers), default=inf)
        if self.outcome is not Outcome.CANNOT_TELL or self.doubts or most == inf:
            return None
        return ceil(most * self.load.requests)

    @property
    def replications_percent(self) -> tuple[float, float] | None:
        """How far the means of the replications lie from the mean of all; None of a single one.

        No prediction can be nearer than the device is to itself.
        """
        means = np.array([run.mean() for run in self.load.series.runs if run.size])
        if means.size < 2 or not means.mean():
            return None
        off = (means / means.mean() - 1) * 100
        return float(off.min()), float(off.max())


@dataclass(frozen=True)
class Verdict:
    """Every load, whether the device may be predicted with, and why not where it may not."""

    loads: tuple[Judged, ...]
    outcome: Outcome
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether it may be predicted with."""
        return self.outcome is Outcome.ACCEPTED

    @property
    def requests(self) -> int | None:
        """How many requests of each load would tell; None where that is not what is missing."""
        if self.outcome is not Outcome.CANNOT_TELL:
            return None
        open_loads = [one for one in self.loads if one.outcome is Outcome.CANNOT_TELL]
        needed = [one.requests for one in open_loads]
        return None if None in needed else max((n for n in needed if n), default=None)


def judge(fitted: Fitted, measured: Sequence[Load], found: Comparisons) -> Verdict:
    """Judge a device by its predictions of the loads that were measured, for the same requests.

    Each load's mean and 95th percentile are held against `MOST_OFF`, by the rule of
    `sojourn.fitting.rule`. A load that came late, or was measured by a busy machine, says nothing
    of the device. A device is refused as well where a load took less on average than its requests
    take alone: whatever waits takes longer, so that no queue with these services is the device.
    """
    by_label = {
        ", ".join(f"{name} {value}" for name, value in one.case.items()): one for one in found
    }
    several = len(measured) > 1
    learnt = {fitted.lightest.case, fitted.heaviest.case}
    loads = [
        Judged(
            load,
            load.case in learnt,
            _numbers(fitted, load, by_label.get(load.label if several else "")),
            _doubts(fitted, load),
        )
        for load in measured
    ]
    quicker = [reason for one in loads if not one.doubts and (reason := _quicker(fitted, one.load))]
    outcome = Outcome.REFUSED if quicker else of_all(one.outcome for one in loads)
    return Verdict(tuple(loads), outcome, (*quicker, *_reasons(loads, outcome)))


def _numbers(fitted: Fitted, load: Load, compared: MetricComparison | None) -> tuple[Number, ...]:
    if compared is None:
        return (Number(MEAN, None, None, Outcome.CANNOT_TELL, inf, why="the load has no case"),)
    return tuple(_number(fitted, load, compared, name) for name in _JUDGED)


def _number(fitted: Fitted, load: Load, compared: MetricComparison, name: str) -> Number:
    difference = compared.differences.get(name)
    measured_needs = compared.a.needs.get(name)
    least, _, most = _means(fitted, load)
    if least == inf and not measured_needs:
        why = "the device as learnt cannot serve so many requests"
        off = None if difference is None else difference.per_cent
        return Number(name, off, None, Outcome.REFUSED, why=why)
    if difference is None or difference.ci95 is None:
        return _without_interval(compared, name, difference)
    if most == inf:
        why = "too few services are known for so high a load"
        return Number(name, difference.per_cent, None, Outcome.CANNOT_TELL, _LONGER, True, why)
    known = _known_to(fitted, load)
    ends = wider(difference.per_cent, difference.ci95, known)
    outcome = of_interval(ends, MOST_OFF)
    times = 1.0
    if outcome is Outcome.CANNOT_TELL:
        times = max(times_needed(difference.per_cent, ends, MOST_OFF), 1.0)
    return Number(name, difference.per_cent, ends, outcome, times if times < _MOST_TIMES else inf)


def _without_interval(
    compared: MetricComparison, name: str, difference: Difference | None
) -> Number:
    """A number of which nothing is known but what it would take."""
    per_cent = None if difference is None else difference.per_cent
    measured, predicted = (side.needs.get(name) for side in (compared.a, compared.b))
    found = [(measured.times, measured.why)] if measured else []
    if predicted:  # what no longer simulation tells, more services may
        found.append((predicted.times if predicted.times < inf else _LONGER, predicted.why))
    times, why = max(found, default=(_LONGER, "too few requests"))
    return Number(name, per_cent, None, Outcome.CANNOT_TELL, times, True, why)


def _doubts(fitted: Fitted, load: Load) -> tuple[str, ...]:
    """Why a load was not the study's."""
    doubts = []
    if load.busy > PROCESSORS_BUSY:
        doubts.append(f"the processors were {load.busy:.0%} busy while it was measured")
    serving = fitted.serving
    services = np.concatenate([*fitted.service_ps.values()])
    late = effect_percent(load.moments, services, serving.servers, serving.slowdown)
    if abs(late) > LATE_MOST:
        doubts.append(f"requests were issued late, which alone changes its mean by {late:+.0f} %")
    return tuple(doubts)


def _reasons(loads: Sequence[Judged], outcome: Outcome) -> list[str]:
    """Why the outcome is not that the device is accepted, a line each."""
    if outcome is Outcome.REFUSED:
        return [
            f"{one}; expected at most {MOST_OFF:g} %{_because(one)}"
            for one in loads
            if one.outcome is Outcome.REFUSED
        ]
    reasons = []
    for one in loads:
        if one.outcome is not Outcome.CANNOT_TELL:
            continue
        reasons += [f"{one.name}: {doubt}" for doubt in one.doubts]
        reasons += [] if one.doubts else [_open(one, number) for number in one.numbers]
    return [reason for reason in reasons if reason]


def _because(one: Judged) -> str:
    why = [number.why for number in one.numbers if number.outcome is Outcome.REFUSED and number.why]
    return f" ({why[0]})" if why else ""


def _open(one: Judged, number: Number) -> str:
    """Why a number of a load cannot be told; empty where it can."""
    if number.outcome is not Outcome.CANNOT_TELL:
        return ""
    why = f", {number.why}" if number.why else f" lies within {MOST_OFF:g} % only in part"
    said = f"{one.name}: {number}{why}"
    if number.times == inf:
        return f"{said}; more requests would not tell"
    least = "at least " if number.at_least else "about "
    return f"{said}; {least}{ceil(number.times * one.load.requests):,} requests would tell"


def _known_to(fitted: Fitted, load: Load) -> float:
    """To how many per cent the predicted mean is known, the services being a sample.

    What the services are off by grows with the load.
    """
    low, middle, high = _means(fitted, load)
    return (high - low) / 2 / middle * 100


def _means(fitted: Fitted, load: Load) -> tuple[float, float, float]:
    """The predicted mean with services as short and as long as they may be, and as they are."""
    services = np.concatenate([*fitted.service_ps.values()])
    off = 2 * float(services.std() / services.mean()) / services.size**0.5
    if load.depth:
        # A loop's rounds get longer as services do, and the time to think does not.
        mean = float(load.sojourn_ps.mean())
        return mean - off * (mean + load.think_ps), mean, mean + off * (mean + load.think_ps)
    low, middle, high = (
        _mean_sojourn(services * by, load.rate / PS_PER_S, fitted.serving)
        for by in (1 - off, 1, 1 + off)
    )
    return low, middle, high


def _mean_sojourn(services: Values, rate: float, serving: Serving) -> float:
    """The mean sojourn time where services slow each other: by the others served on average."""
    mean = slowed = float(services.mean())
    for _ in range(_ITERATIONS):
        others = min(rate * slowed, serving.servers - 1)
        slowed = mean * (1 + serving.slowdown * others)
    return mean_sojourn(services * (slowed / mean), rate, serving.servers)


def _quicker(fitted: Fitted, load: Load) -> str:
    """That a load took less than its services, beyond chance; empty where it did not."""
    services = np.concatenate([*fitted.service_ps.values()])
    alone, mean = float(services.mean()), float(load.sojourn_ps.mean())
    ends, _ = Observed([load.series]).interval(None)
    spread = 2 * float(services.std()) / services.size**0.5
    if ends is None or mean > alone * (1 - _QUICKER) or ends[1] > alone - spread:
        return ""
    return (
        f"a request takes {duration(alone)} where it meets no other, and {duration(mean)} under"
        f" {load.label or 'its load'}: the device is quicker when it is busy, as no queue is"
    )
