"""A fitted device for people and as JSON."""

import numpy as np

from sojourn.fit import Fitted
from sojourn.units import duration


def learnt(fitted: Fitted) -> list[str]:
    """What was learnt of a device, and how, a line each."""
    lines = []
    for op, services in fitted.service_ps.items():
        p50, p99 = (duration(float(value)) for value in np.percentile(services, [50, 99]))
        many = f"{services.size:,} of {_named(fitted.lightest.label)}that met nobody"
        mean = duration(float(services.mean()))
        lines.append(f"{op}s take {mean} on average, p50 {p50}, p99 {p99}: {many}")
    lines.append(
        f"{fitted.met_nobody:.0%} of that load met nobody; the others took longer by an average of"
        f" {duration(fitted.waited_ps)} over all, which is not in the services"
    )
    heaviest = _named(fitted.heaviest.label).strip()
    if fitted.told:
        lines.append(f"serves {fitted.servers} at once: nearest to the mean of {heaviest}")
    else:
        lines.append(f"serves one at a time, as far as {heaviest} tells: hardly any request waited")
    return lines


def to_dict(fitted: Fitted) -> dict[str, object]:
    """What `sojourn array fit --json` says of a device."""
    return {
        "services": {
            op: {"n": values.size, "mean_ps": float(values.mean())}
            for op, values in fitted.service_ps.items()
        },
        "servers": fitted.servers,
        "servers_told": fitted.told,
        "services_from_case": fitted.lightest.case,
        "servers_from_case": fitted.heaviest.case,
        "met_nobody": fitted.met_nobody,
        "waited_ps": fitted.waited_ps,
    }


def _named(label: str) -> str:
    return f"the load {label} " if label else "the only load "
