"""What is known without simulation, as it stands under a table."""

import numpy as np
import pytest

from sojourn.analysis.exact import distribution, lines
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.api.handles import Run
from sojourn.execution import inputs
from sojourn.reproduction.drawing import draw
from sojourn.reproduction.papers import Figure, Panel
from sojourn.reproduction.results import Result
from sojourn.store.ledger import Ledger, Record

ARRAY = """\
title = "reads of a block"
model = "array"
disk = "ST3500630NS"
layout = { kind = "raid01", disks = 4 }
[workload]
kind = "synthetic"
arrivals = { kind = "poisson", rate = "0.01/ms" }
blocks = 1
requests = 2000
"""


def record(case, axes, **figures):
    return Record(case, 0, 10, 1.0, 1.0, 0, 0, axes, {}, figures)


def estimate(case, mean, ci95=None):
    return MetricSummary(
        case, "request", "all", "sojourn_ps", 9, 0, 0, mean, ci95, "t", {}, {}, mean
    )


def test_what_is_said_of_cases():
    ledger = Ledger(
        [
            record(0, {"x": 1}, analysis="A", exact_mean_sojourn_ps=2e9),
            record(1, {"x": 2}, analysis="B", least_mean_sojourn_ps=3e9, most_mean_sojourn_ps=4e9),
            record(2, {"x": 3}, analysis="B", least_mean_sojourn_ps=3e9),
            record(3, {"x": 4}, analysis="why"),
            record(4, {"x": 5}, analysis="why"),
            record(5, {"x": 6}),
        ]
    )
    estimates = [estimate({"x": 1}, 2.1e9, (1.9e9, 2.3e9)), estimate({"x": 2}, 3.5e9)]
    assert lines(ledger, estimates) == (
        "mean response time of x 1: exactly 2 ms; simulated 2.1 [1.90, 2.30] ms",
        "known by: A",
        "mean response time of x 2: between 3 and 4 ms; simulated 3.5 ms",
        "mean response time of x 3: at least 3 ms",
        "known by: B",
        "why (2 cases)",
    )


def test_the_only_case_needs_no_name():
    ledger = Ledger(
        [
            record(
                0,
                {},
                analysis="A",
                least_mean_sojourn_ps=1e9,
                most_mean_sojourn_ps=3e9,
                about_mean_sojourn_ps=2e9,
                scaled_mean_sojourn_ps=2.1e9,
            )
        ]
    )
    assert lines(ledger, [estimate({}, 2e9, (1e9, 3e9))]) == (
        "mean response time: between 1 and 3 ms, about 2, scaled from two disks 2.1;"
        " simulated 2 [1.0, 3.0] ms",
        "known by: A",
    )
    # grouped otherwise, nothing simulated stands beside
    assert "simulated" not in lines(ledger, [estimate({"op": "read"}, 2e9)])[0]


def test_a_fabric_has_none():
    assert lines(Ledger([record(0, {}, hops=1)]), []) == ()


def test_how_reads_of_one_disk_are_distributed():
    (case,) = inputs.study(ARRAY, "s.toml", [("layout", "single")]).cases()
    known = distribution(case)
    assert known is not None
    assert known.exact
    assert known.words.startswith("exactly")
    assert (np.diff(known.times) > 0).all()
    # simulated, a million requests
    quantiles = np.interp([0.5, 0.9, 0.99], known.least, known.times)
    assert quantiles == pytest.approx([16.4, 23.9, 38.4], rel=0.01)


def test_distributions_are_drawn_where_they_are_known(command, tmp_path):
    (tmp_path / "s.toml").write_text(
        ARRAY.replace("blocks = 1", "") + "[sweep]\nworkload.blocks = [1, 4, 5]\n"
    )
    command("run", tmp_path / "s.toml", "--out", tmp_path / "r")
    result = Result("r", Run.open(tmp_path / "r"), "blocks", ["op"])
    alone, full, uneven = (result.distribution("read", blocks, "request") for blocks in (1, 4, 5))
    assert alone is not None
    assert full is not None
    assert (alone.exact, full.exact, uneven) == (True, False, None)
    assert (full.least <= full.most + 1e-12).all()
    what = {"jobs": "request", "metric": "sojourn_ps", "kind": "distribution"}
    panel = Panel.of({"run": "r", "title": "reads", **what})
    picture = draw(Figure("1", "reads", (panel,), ("r",)), {"r": result}, notes=[])
    drawn = picture.axes[0]
    # three curves, one that is exact, and a band
    assert len(drawn.get_lines()) == 4
    assert len(drawn.collections) == 1
    assert f"({alone.words}; or {full.words})" in picture.get_supxlabel().replace("\n", " ")
