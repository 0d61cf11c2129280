"""A fitted device for people and as JSON."""

import numpy as np

from sojourn._internal.units import duration
from sojourn.fitting import Fitted
from sojourn.fitting.judge import MOST_OFF, TAIL, Number, Verdict


def learnt(fitted: Fitted) -> list[str]:
    """What was learnt of a device, and how, a line each."""
    lines = []
    for op, services in fitted.service_ps.items():
        p50, p99 = (duration(float(value)) for value in np.percentile(services, [50, 99]))
        many = f"{services.size:,} of {_named(fitted.lightest.label)}that found it idle"
        mean = duration(float(services.mean()))
        lines.append(f"{op}s take {mean} on average, p50 {p50}, p99 {p99}: {many}")
    lines.append(
        f"{fitted.met_nobody:.0%} of that load found it idle; the others took longer by an average"
        f" of {duration(fitted.waited_ps)} over all, which is not in the services"
    )
    heaviest = _named(fitted.heaviest.label).strip()
    if fitted.told:
        slowed = f", each {fitted.serving.slowdown:.0%} slower for each other one"
        at_once = f"serves {fitted.serving.servers} at once{slowed * (fitted.serving.slowdown > 0)}"
        lines.append(f"{at_once}: nearest to the percentiles of {heaviest}")
    else:
        lines.append(f"serves 1 at once, as far as {heaviest} tells: hardly any request waited")
    return lines


def judged(verdict: Verdict) -> list[str]:
    """How far off each load is, and what is said of the device, a line each."""
    lines = [*map(str, verdict.loads)]
    if all(one.learnt for one in verdict.loads):
        lines.append("no load in between was measured: none of these is a prediction in earnest")
    if verdict.accepted:
        within = f"within {MOST_OFF:g} %, with 95 % confidence"
        return [*lines, f"accepted: mean and p{TAIL:g} of every load are {within}"]
    lines += [f"{verdict.outcome.value}: {reason}" for reason in verdict.reasons]
    if verdict.requests is not None:
        lines.append(f"measure every load with {rounded_up(verdict.requests):,} requests or more")
    return lines


def rounded_up(number: int) -> int:
    """A number of requests with the two digits that are worth reading."""
    scale = int(10 ** max(len(str(number)) - 2, 0))
    return -(-number // scale) * scale


def to_dict(fitted: Fitted, verdict: Verdict) -> dict[str, object]:
    """What `sojourn array fit --json` says of a device."""
    return {
        "accepted": verdict.accepted,
        "verdict": verdict.outcome.value,
        "reasons": list(verdict.reasons),
        "requests_needed": verdict.requests and rounded_up(verdict.requests),
        "loads": [
            {
                "case": one.load.case,
                "learnt_from": one.learnt,
                "verdict": one.outcome.value,
                "doubts": list(one.doubts),
                "off": {number.name: _off(number) for number in one.numbers},
                "replications_off_percent": one.replications_percent
                and list(one.replications_percent),
            }
            for one in verdict.loads
        ],
        "services": {
            op: {"n": values.size, "mean_ps": float(values.mean())}
            for op, values in fitted.service_ps.items()
        },
        "servers": fitted.serving.servers,
        "slowdown": fitted.serving.slowdown,
        "servers_told": fitted.told,
        "services_from_case": fitted.lightest.case,
        "servers_from_case": fitted.heaviest.case,
        "met_nobody": fitted.met_nobody,
        "waited_ps": fitted.waited_ps,
    }


def _off(number: Number) -> dict[str, object] | None:
    if number.per_cent is None:
        return None
    return {
        "percent": number.per_cent,
        "ci95": number.ends and list(number.ends),
        "verdict": number.outcome.value,
    }


def _named(label: str) -> str:
    return f"the load {label} " if label else "the only load "
