"""What is said of runs that are no steady state, and of tails without jobs."""

import numpy as np
import pytest

import sojourn
from conftest import Made, make_run, mm1
from sojourn.analysis import cautions
from sojourn.analysis.trend import rises
from sojourn.api.handles import Run

ARRAY = """
title = "one disk"
model = "array"
disk = "ST3500630NS"
layout = "single"

[workload]
kind = "synthetic"
arrivals = { kind = "poisson", rate = "0.02/ms" }
blocks = 1
requests = 20000

[sweep]
workload.arrivals.rate = ["0.02/ms", "0.2/ms"]
"""


def test_a_queue_over_its_capacity_rises():
    generator = np.random.default_rng(3)
    assert all(rises([mm1(generator, 1.1, 5000)]) for _ in range(100))


def test_a_steady_queue_does_not_rise():
    generator = np.random.default_rng(4)
    alarms = sum(rises([mm1(generator, 0.7, 20_000)[2000:]]) for _ in range(500))
    # one in ten thousand if batches were independent; they are nearly
    assert alarms <= 2


def test_replications_add_up():
    # a rise that is too weak to be seen in one run is seen in twenty
    generator = np.random.default_rng(5)
    runs = [np.linspace(1, 2, 400) + generator.normal(0, 6, 400) for _ in range(60)]
    assert rises(runs)
    assert sum(rises([run]) for run in runs) <= 2


@pytest.mark.parametrize(
    "runs", [[], [np.arange(199.0)], [np.ones(1000)], [np.arange(1000.0)[::-1]]]
)
def test_what_does_not_rise(runs):
    assert not rises(runs)


def test_a_rise_of_less_than_a_fifth_is_not_worth_a_word():
    assert not rises([np.linspace(10, 11, 1000)])
    assert rises([np.linspace(10, 14, 1000)])


def test_an_overloaded_disk_is_named():
    run = sojourn.run(ARRAY)
    saturated, unsteady, *_ = run.summary().cautions
    assert saturated == (
        "a station is busy all the time (rate 200/s): the load is at its capacity or over it"
    )
    assert unsteady.startswith("jobs take longer and longer to the end of the run (rate 200/s)")
    said = repr(run.summary())
    assert "caution: a station is busy" in said
    # No length would do for the case without a steady state; of the others it is said what does.
    (none,) = (e for e in run.summary() if e.case["rate"] == "200/s" and e.metric == "sojourn_ps")
    assert none.needs
    assert {needs.why for needs in none.needs.values()} == {"no steady state"}
    assert none.flat()["ci95_needs"] == {
        "jobs": None,
        "replications": None,
        "why": "no steady state",
    }
    assert "no steady state," in said


NARROW = """
title = "ten hosts behind one link"
scheme = "MinTCP+pFabric"
workload = { kind = "poisson", load = 0.8, flows = 300, sizes = "websearch" }
topology = { kind = "leaf-spine", racks = 2, hosts = 10, spines = 1, uplink_rate = "1Gbps" }
"""


def test_a_port_that_never_rests_is_named():
    busy = "a port is busy all the time: the load is at its capacity or over it"
    assert any(busy in said for said in sojourn.run(NARROW).summary().cautions)
    wide = sojourn.run(NARROW.replace("1Gbps", "100Gbps"))
    assert not any(busy in said for said in wide.summary().cautions)


def test_what_is_pooled_is_said(tmp_path):
    cases = [{"scheme": s, "load": x} for s in ("A", "B") for x in (0.2, 0.4)]
    run = make_run(tmp_path / "made", [Made(case, [1, 2, 3]) for case in cases])
    pooled = "lines are of different cases, scheme: --by would keep these apart"
    assert pooled in run.summary(by="load").cautions
    assert "lines are of different cases, scheme and load: " in run.summary(by=[]).cautions[0]
    assert not any("different cases" in said for said in run.summary().cautions)
    half = run.summary(by=["scheme", "load"]).cautions
    assert not any("different cases" in said for said in half)


def test_what_became_of_a_trace_is_said(command, tmp_path):
    (tmp_path / "t.csv").write_text(
        "10,h,0,Read,0,4096,1\n5,h,0,Read,0,4096,1\n20,h,0,Read,999999999999999,4096,1\n"
        "30,h,1,Read,0,4096,1\n"
    )
    (tmp_path / "s.toml").write_text(
        'model = "array"\ndisk = "ST3500630NS"\nlayout = "single"\n'
        '[workload]\nkind = "msr"\nfile = "t.csv"\nbeyond = "drop"\ntick = "100ns"\n'
        '[sweep]\nworkload.device = ["0", "1"]\n'
    )
    said = command("run", tmp_path / "s.toml", "--out", tmp_path / "r")
    assert said.code == 0
    first, second, *_ = Run.open(tmp_path / "r").summary().cautions
    assert first == (
        "trace of 4 lines: 1 line of other devices left out, 1 request out of order sorted by "
        "time, 1 request beyond the array left out (device 0)"
    )
    assert second == "trace of 4 lines: 3 lines of other devices left out (device 1)"


def test_tails_without_jobs():
    assert cautions.thin([5000, 500, 150, 0], [50, 99]) == [
        "percentiles with fewer than 10 jobs beyond them, of 4 lines: p99 in 2"
    ]
    assert cautions.thin([1000], [99]) == []
    assert cautions.thin([15], [50, 90]) == [
        "percentiles with fewer than 10 jobs beyond them, of 1 line: p50 in 1, p90 in 1"
    ]


def test_the_cases_are_named_but_not_all(tmp_path):
    cases = [{"load": load / 10} for load in range(1, 7)]
    assert cautions.unsteady([]) == []
    (said,) = cautions.unsteady(cases)
    assert "(load 0.1; load 0.2; load 0.3; and 3 more)" in said
    (alone,) = cautions.unsteady([{}])
    assert "of the run: no steady state" in alone
    run = make_run(tmp_path / "made", [Made({"load": 0.5}, np.linspace(1, 9, 2000))])
    assert "(load 0.5)" in " ".join(run.summary().cautions)


def test_jobs_that_arrive_together_have_no_order_to_rise_in(tmp_path):
    """A message's deliveries stand in the order of the list, whose quick hosts may come first."""
    study = """
title = "one message"
model = "mail"
internet = { kind = "internet", subscribers = 2000, down = 0.0, dead = 0.0 }
[list]
messages = 1
arrivals = { kind = "regular", every = "1h" }
[policy]
limits.sessions = 5
[run]
replications = 5
"""
    run = sojourn.run(study, out=tmp_path)
    assert not any("longer and longer" in caution for caution in run.summary().cautions)


def test_a_load_above_one_is_run_and_told():
    run = sojourn.run(
        'scheme = "DCTCP"\n'
        'topology = { kind = "single-switch", hosts = 4 }\n'
        'workload = { kind = "poisson", load = 1.4, flows = 300, sizes = "websearch" }\n'
    )
    said = "up to 140% of what the busiest link carries is offered to it: no steady state"
    assert any(words.startswith(said) for words in run.summary().cautions)
    assert all(estimate.flat()["ci95"] is None for estimate in run.summary())


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        (
            "Swift",
            "Swift's target (base_target, hop_scale) of 23us",
        ),
        ("MinTCP+pFabric", "the time-out (rto) of 40us"),
        ("LineRate+pFabric", "the time-out (rto) of 40us"),
        ("DCTCP", None),
    ],
)
def test_a_time_below_the_round_trip_is_told(scheme, words):
    study = (
        f'scheme = "{scheme}"\ndrain = "1ms"\n'
        'topology = { kind = "single-switch", hosts = 4, delay = "50us" }\n'
        'workload = { kind = "poisson", load = 0.5, flows = 30, sizes = "websearch" }\n'
    )
    cautions_of = sojourn.run(study).summary().cautions
    told = [said for said in cautions_of if "below the round trip" in said]
    if words is None:
        assert told == []
        return
    (said,) = told
    assert said.startswith(f"{words} is below the round trip, up to ")
    assert "of 30 of 30 flows" in said
    near = sojourn.run(study.replace("50us", "500ns")).summary().cautions
    assert not any("below the round trip" in said for said in near)


def test_unfinished_flows_have_a_reason():
    run = sojourn.run(
        'scheme = "Swift"\ndrain = "1ms"\n'
        'topology = { kind = "single-switch", hosts = 4, delay = "50us" }\n'
        'workload = { kind = "poisson", load = 0.5, flows = 30, sizes = "websearch" }\n'
    )
    (said,) = [words for words in run.summary().cautions if "below the round trip" in words]
    assert said.endswith(" of them unfinished")
