"""Two servers behind one uplink, for measurements on this kernel."""

import pytest

from sojourn._core import Study
from sojourn._internal.errors import InputError
from sojourn.execution import inputs
from sojourn.measurement import netns
from sojourn.measurement.plan import Plan, plan

STUDY = """\
title = "two servers"
[topology]
kind = "single-switch"
hosts = 3
rate = "50Mbps"
uplink = "20Mbps"
delay = "1us"
[workload]
kind = "bulk"
start_spread = "10ms"
warm_up = "200ms"
window = "400ms"
[scheme]
name = "NewReno"
[scheme.transport]
kind = "new-reno"
[scheme.queue]
kind = "drop-tail"
buffer = "60KB"
"""


def why_not() -> str | None:
    """Why this machine cannot measure a fabric."""
    try:
        netns.check()
    except InputError as error:
        return str(error)
    return None


_reason = why_not()
needs_namespaces = pytest.mark.skipif(_reason is not None, reason=_reason or "")


def planned(*settings: str) -> Plan:
    """How the kernel does the study with some settings, each as `PATH=VALUE`."""
    (case,) = inputs.parse(
        Study,
        STUDY,
        "two.toml",
        [(path, value) for path, value in (s.split("=", 1) for s in settings)],
    ).cases()
    return plan(case, "two.toml")
