"""Which cases have a steady state, by formulas and by their jobs."""

import numpy as np
import pytest

import sojourn
from conftest import Made, lindley, make_run

ARRAY = """
title = "one disk"
model = "array"
disk = "ST3500630NS"
layout = "single"
[workload]
kind = "synthetic"
blocks = 1
requests = 5000
arrivals = { kind = "poisson", rate = "20/s" }
[sweep]
workload.arrivals.rate = ["20/s", "90/s"]
"""

RESTS, NEVER_RESTS = {"busiest_disk_utilisation": 0.9}, {"busiest_disk_utilisation": 0.999}


def queue(load):
    """Sojourn times of an M/M/1 queue."""
    generator = np.random.default_rng(3)
    return lindley(generator.exponential(1 / load, 4000), generator.exponential(1.0, 4000))


@pytest.mark.parametrize(
    ("load", "figures", "is_steady"),
    [
        (0.5, {}, True),
        (0.5, RESTS, True),
        (0.5, NEVER_RESTS, True),  # long, but it does not grow
        (1.2, NEVER_RESTS, False),
        (1.2, RESTS, True),  # as a trace that brings more and more
        (1.2, {}, True),  # a measurement, of which no utilisation is known
        (0.5, {"offered_utilisation": 0.99}, True),
        (0.5, {"offered_utilisation": 1.0}, False),
        (0.5, {"queue_utilisation_offered": 1.3}, False),
    ],
)
def test_what_speaks_against_a_steady_state(tmp_path, load, figures, is_steady):
    made = Made({}, 1 + queue(load), kind=["request"] * 4000, figures=figures)
    summary = make_run(tmp_path / "r", [made]).summary()
    assert {e.steady for e in summary} == {is_steady}
    assert {entry["steady_state"] for entry in summary.to_list()} == {is_steady}


def test_an_overloaded_disk_has_none(tmp_path):
    run = sojourn.run(ARRAY, out=tmp_path / "r")
    assert {(e.case["rate"], e.steady) for e in run.summary()} == {("20/s", True), ("90/s", False)}
