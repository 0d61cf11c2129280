"""A fitted device for people and as JSON."""

import numpy as np

from sojourn._internal.units import count, duration
from sojourn.analysis.comparison.difference import Difference
from sojourn.fitting import Fitted
from sojourn.fitting.judge import MOST_OFF, Verdict


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
    """How far off each load is, and whether the device is accepted, a line each."""
    if verdict.accepted:
        said = f"accepted: no load is off by more than {MOST_OFF:g} % beyond chance"
        few = sum(one.cannot_be_judged for one in verdict.loads)
        if few:
            said += f"; {count(few, 'load')} with too few requests to judge by"
        return [*map(str, verdict.loads), said]
    return [*map(str, verdict.loads), *(f"refused: {reason}" for reason in verdict.reasons)]


def to_dict(fitted: Fitted, verdict: Verdict) -> dict[str, object]:
    """What `sojourn array fit --json` says of a device."""
    return {
        "accepted": verdict.accepted,
        "reasons": list(verdict.reasons),
        "loads": [
            {
                "case": one.load.case,
                "learnt_from": one.learnt,
                "off": {name: _off(off) for name, off in one.differences.items()},
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


def _off(difference: Difference | None) -> dict[str, object] | None:
    if difference is None:
        return None
    return {"percent": difference.per_cent, "ci95": difference.ci95 and list(difference.ci95)}


def _named(label: str) -> str:
    return f"the load {label} " if label else "the only load "
