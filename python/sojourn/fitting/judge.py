"""Whether a fitted device is good enough to predict with: held against its own measurement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sojourn._internal.units import PS_PER_S, duration
from sojourn.analysis.comparison import Comparisons
from sojourn.analysis.comparison.difference import MEAN, Difference
from sojourn.analysis.observed import Observed
from sojourn.analysis.statistics import Values
from sojourn.fitting import Fitted, Load, Serving, mean_sojourn

MOST_OFF = 15.0
"""Per cent that a judged number of a load may be off."""

TAIL = 95.0
"""The percentile that is judged beside the mean."""

_JUDGED = (MEAN, f"p{TAIL:g}")

_BY_CHANCE = 0.01
_ITERATIONS = 50  # of a mean that depends on itself
_QUICKER = 0.05  # a load's mean below the services' by more than this share


@dataclass(frozen=True)
class Judged:
    """One load: whether the device was learnt from it, and how far off its predictions are.

    `differences` are those of the judged numbers, by their names.
    """

    load: Load
    learnt: bool
    differences: Mapping[str, Difference | None]

    def __str__(self) -> str:
        offs = [
            f"{name} off by {f'{off.per_cent:+.1f} %' if off else 'what cannot be told'}"
            for name, off in self.differences.items()
        ]
        what = "learnt from" if self.learnt else "predicted"
        said = f"{self.load.label or 'the only load'}: {what}, {', '.join(offs)}"
        if (ends := self.replications_percent) is None:
            return said
        return f"{said}; means of its replications by {ends[0]:+.1f} to {ends[1]:+.1f} %"

    @property
    def cannot_be_judged(self) -> bool:
        """Whether a number is missed, and nothing says whether by chance."""
        return any(
            off is not None and off.by_chance is None and abs(off.per_cent) > MOST_OFF
            for off in self.differences.values()
        )

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
    """Every load, and why the device is refused: nothing where it is accepted."""

    loads: tuple[Judged, ...]
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether it may be predicted with."""
        return not self.reasons


def judge(fitted: Fitted, measured: Sequence[Load], found: Comparisons) -> Verdict:
    """Judge a device by its predictions of the loads that were measured, on the same rows.

    It is refused where it misses the mean or the 95th percentile of a load, one that it was learnt
    from or another, by more than `MOST_OFF`, beyond chance and beyond what the services are known
    to, and where any load took less on average than its requests take alone: whatever waits takes
    longer, so that no queue with these services is the device.
    """
    by_label = {
        ", ".join(f"{name} {value}" for name, value in one.case.items()): {
            name: one.differences.get(name) for name in _JUDGED
        }
        for one in found
    }
    several = len(measured) > 1
    learnt = {fitted.lightest.case, fitted.heaviest.case}
    judged = [
        Judged(load, load.case in learnt, by_label.get(load.label if several else "", {}))
        for load in measured
    ]
    reasons = [reason for load in measured if (reason := _quicker(fitted, load))]
    reasons += [
        f"{one}; expected at most {MOST_OFF:g} %"
        for one in judged
        if any(_misses(off, fitted, one.load) for off in one.differences.values())
    ]
    return Verdict(tuple(judged), tuple(reasons))


def _misses(off: Difference | None, fitted: Fitted, load: Load) -> bool:
    """Whether a prediction is too far off, beyond chance."""
    return (
        off is not None
        and off.by_chance is not None
        and off.by_chance < _BY_CHANCE
        and abs(off.per_cent) > MOST_OFF + _known_to(fitted, load)
    )


def _known_to(fitted: Fitted, load: Load) -> float:
    """To how many per cent the predicted mean is known, the services being a sample.

    What the services are off by grows with the load.
    """
    services = np.concatenate([*fitted.service_ps.values()])
    off = 2 * float(services.std() / services.mean()) / services.size**0.5
    low, middle, high = (
        _mean_sojourn(services * by, load.rate / PS_PER_S, fitted.serving)
        for by in (1 - off, 1, 1 + off)
    )
    return (high - low) / 2 / middle * 100 if np.isfinite(high) else np.inf


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
