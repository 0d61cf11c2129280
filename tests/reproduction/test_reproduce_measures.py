"""Measures and verdicts against runs whose every number is known."""

from dataclasses import replace

import numpy as np
import pytest

import sojourn
from conftest import Made, make_run
from sojourn.api.handles import Run
from sojourn.reproduction import papers
from sojourn.reproduction.claims import Claim, judge
from sojourn.reproduction.measures import KINDS
from sojourn.reproduction.results import SPREADS, Result
from sojourn.store.ledger import Ledger

NAN = float("nan")
MEASURES = dict(KINDS)
for paper in papers.find(papers.ALL):
    MEASURES |= paper.measures
SMALL, LARGE = 1000, 20_000_000


@pytest.fixture
def web(tmp_path):
    """Two schemes at two loads: slowdowns of two small flows, then of two large ones."""
    return made(tmp_path / "web", slow=[2, 4, 10, 10], quick=[1, 2, 5, NAN], high=2)


def made(path, slow, quick, high):
    """A run; at the higher load the slow scheme is `high` times slower still."""
    sizes = [SMALL, SMALL, LARGE, LARGE]
    cases = [
        Made({"scheme": scheme, "load": load}, np.array(values) * factor, sizes)
        for scheme, values, factors in (("slow", slow, (1, high)), ("quick", quick, (1, 1)))
        for load, factor in zip((0.1, 0.8), factors, strict=True)
    ]
    return Result(path.name, make_run(path, cases), "load")


def values(measured):
    return [point.value for point in measured.points]


def measured(results, *, kind, **parameters):
    return MEASURES[kind]({result.name: result for result in results}, **parameters)


def test_level_is_a_statistic_of_each_scheme_at_each_load(web):
    small = {"run": "web", "bin": "(0,100KB]"}
    mean = measured([web], kind="level", lines=["slow", "quick"], statistic="mean", **small)
    assert values(mean) == [3, 6, 1.5, 1.5]
    assert [point.value for point in mean.ends] == [1.5, 6]
    assert mean.ends[1].where == "web at load 0.8: slow"
    assert (mean.ci95, mean.unfinished) == (None, 0)
    p75 = measured([web], kind="level", lines=["slow"], statistic="p75", at=[0.1], **small)
    assert values(p75) == [3.5]


def test_what_is_known_of_a_mean_is_known_of_all_jobs_of_its_case(tmp_path):
    figures = {"analysis": "A", "exact_mean_sojourn_ps": 2e9}
    cases = [
        Made({"scheme": "fcfs", "load": 0.1}, [1, 2], figures=figures),
        Made({"scheme": "rpo", "load": 0.1}, [1, 2], figures={"analysis": "why none"}),
        Made({"scheme": "both", "load": 0.1}, [1, 2], kind=["flow", "query"], figures=figures),
    ]
    result = Result("run", make_run(tmp_path / "run", cases), "load")
    known = result.known("fcfs", 0.1, "flow")
    assert known is not None
    assert (known.exact, known.least, known.words) == (2, None, "A")
    for line in ("rpo", "both", "none such"):
        assert result.known(line, 0.1, "flow") is None, line


def test_unfinished_flows_are_counted_and_in_no_value(web):
    large = {"run": "web", "bin": "(10MB,inf)", "statistic": "mean"}
    found = measured([web], kind="level", lines=["quick"], at=[0.8], **large)
    assert values(found) == [5]
    assert (found.unfinished, found.most_unfinished) == (1, 0.5)
    none = measured([web], kind="level", lines=["quick"], **large | {"bin": "(100KB,10MB]"})
    assert none.points == ()


def test_ratio_takes_the_same_load_of_both(web):
    table = {"runs": ["web"], "of": ["slow"], "to": ["quick"], "statistic": "mean"}
    found = measured([web], kind="ratio", bin="(0,100KB]", **table)
    assert values(found) == [2, 4]
    assert found.ends[1].where == "web at load 0.8: slow / quick"
    assert measured([web], kind="ratio", bin="(10MB,inf)", **table).unfinished == 2


def test_ratios_compare_the_flows_that_both_measure(web):
    """The last large flow is unfinished under the quick scheme: 10 / 5, whatever the other took."""
    large = {"runs": ["web"], "of": ["slow"], "to": ["quick"], "statistic": "mean"}
    assert values(measured([web], kind="ratio", bin="(10MB,inf)", at=[0.1], **large)) == [2]
    last = made(web.run.path.parent / "last", slow=[2, 4, 10, 90], quick=[1, 2, 5, NAN], high=2)
    large["runs"] = ["last"]
    assert values(measured([last], kind="ratio", bin="(10MB,inf)", at=[0.1], **large)) == [2]


def test_choice_is_one_place_over_others(web):
    small = {"run": "web", "bin": "(0,100KB]", "statistic": "mean"}
    found = measured([web], kind="choice", lines=["slow", "quick"], at=0.8, than=[0.1], **small)
    assert values(found) == [2, 1]
    assert found.ends[1].where == "web at load 0.8: slow / load 0.1"


def test_how_many_are_unfinished_is_said(web):
    large = {"kind": "level", "run": "web", "bin": "(10MB,inf)", "statistic": "mean"}
    said = verdict(web, ends=5, measure=large | {"lines": ["quick"]})
    assert said.holds
    assert "2 unfinished jobs left out, up to 50.00% of a case's" in said.note


def test_flows_that_outlast_the_arrivals_are_said(tmp_path):
    """Arrivals every 10 ps until 190 ps; slowdowns of 1 last 1,000 ps, of 0.001 one."""
    for name, slowdown, late in (("long", 1.0, True), ("short", 0.001, False)):
        arrived = list(range(0, 200, 10))
        case = Made({"scheme": "slow", "load": 0.8}, [slowdown] * 20, arrived_ps=arrived)
        said = verdict(Result("web", make_run(tmp_path / name, [case]), "load"), ends=slowdown)
        assert said.holds
        assert ("up to 100% of the bytes" in said.note) is late


def test_lead_is_a_ratio_of_ratios(web, tmp_path):
    other = made(tmp_path / "other", slow=[1, 2, 1, 1], quick=[1, 2, 1, 1], high=8)
    table = {"runs": ["web", "other"], "of": ["slow"], "to": ["quick"], "at": [0.8]}
    found = measured([web, other], kind="lead", bin="(0,100KB]", statistic="mean", **table)
    assert values(found) == [0.5]


def test_share_of_flows_and_bytes(web):
    share = {"kind": "share", "run": "web"}
    assert values(measured([web], of="flows", upto=SMALL, **share)) == [0.5]
    (of_bytes,) = values(measured([web], of="bytes", above=SMALL, **share))
    assert of_bytes == pytest.approx(2 * LARGE / (2 * LARGE + 2 * SMALL))


def test_waste_is_what_switches_drop_of_what_hosts_send(web):
    """Ten packets delivered are five of data and their acknowledgements."""
    run = web.run
    counted = {"packets_dropped_at_switches": 15, "packets_delivered": 10}
    records = [replace(record, figures=counted) for record in run.ledger]
    found = measured(
        [Result("web", replace(run, ledger=Ledger(records)), "load")], kind="waste", run="web"
    )
    assert values(found) == [0.75]
    assert found.ci95 == pytest.approx((0.75, 0.75))


def test_attained_is_the_share_of_replications_whose_slowest_job_does(tmp_path):
    slowest = [9.5e9, 9e9] * 20 + [4e9, 8.9e9] * 20
    cases = [
        Made(
            {"scheme": "own", "load": 0.5},
            [2.0, 2.0],
            kind=["bulk", "bulk"],
            goodput_bps=[9.9e9, least],
            replication=number,
        )
        for number, least in enumerate(slowest)
    ]
    table = {"kind": "attained", "run": "web", "line": "own", "at": 0.5, "least": 9000}
    table |= {"jobs": "bulk", "metric": "goodput_bps"}
    found = measured([Result("web", make_run(tmp_path / "web", cases), "load")], **table)
    assert values(found) == [0.5]
    assert found.ci95[0] < 0.5 < found.ci95[1]


def test_a_case_that_is_not_run_yet_is_said_and_nothing_holds(web):
    table = {"kind": "level", "run": "web", "bin": "all", "statistic": "mean"}
    found = measured([web], lines=["slow"], at=[0.1, 0.5], **table)
    assert (values(found), found.lacking) == ([6.5], 1)
    said = verdict(web, ends=6.5, measure=table | {"lines": ["slow"], "at": [0.1, 0.5]})
    assert (said.measured, said.ci95, said.holds) == (None, None, False)
    assert "not judged: 1 case not run yet" in said.note
    begun = replace(web.run, missing=9, lacking=3)
    part = Result("web", begun, "load")
    assert measured([part], lines=["slow"], **table).lacking == 3, "of all loads nothing is known"
    table |= {"kind": "ratio", "runs": ["web"], "of": ["slow"], "to": ["quick"]}
    del table["run"]
    assert measured([web], at=[0.5], **table) == replace(found, points=(), late=0, lacking=2)


def test_replications_that_one_scheme_lacks_are_compared_with_none(tmp_path):
    """Of the slow scheme two replications are there, of the quick one the second."""
    run = make_run(
        tmp_path / "web",
        [
            Made({"scheme": "slow", "load": 0.8}, [8, 8], replication=0),
            Made({"scheme": "slow", "load": 0.8}, [6, 6], replication=1),
            Made({"scheme": "quick", "load": 0.8}, [2, 2], replication=1),
        ],
    )
    table = {"runs": ["web"], "of": ["slow"], "to": ["quick"], "bin": "all", "statistic": "mean"}
    assert values(measured([Result("web", run, "load")], kind="ratio", **table)) == [3]


def claim(**changes):
    """That the slow scheme's small flows take 3 to 6 times the best possible."""
    table = {
        "figures": ["4"],
        "claim": "slow is slow",
        "source": "section 3",
        "paper_says": "3-6",
        "ends": [3, 6],
        "rule": "about",
        "within": 0.1,
        "because": "it is a mean",
        "measure": {
            "kind": "level",
            "run": "web",
            "lines": ["slow"],
            "bin": "(0,100KB]",
            "statistic": "mean",
        },
    }
    return Claim.of(table | changes)


def verdict(web, **changes):
    asked = claim(**changes)
    return judge(asked, measured([web], **asked.measure), paper="p", remarks=["made up"])


def test_a_range_holds_when_both_its_ends_do(web):
    held = verdict(web)
    assert (held.measured, held.ci95, held.holds) == ((3, 6), None, True)
    assert held.note == (
        "accepted 2.7 to 3.3 and 5.4 to 6.6 at the other end: it is a mean;"
        " smallest for web at load 0.1: slow, largest for web at load 0.8: slow;"
        " no interval: too few jobs for one; up to 100% of the bytes were in jobs not done when"
        " the last one arrived: too short a run, or its queues do not settle; made up"
    )
    assert not verdict(web, ends=[3, 7]).holds
    assert not verdict(web, ends=[2, 6]).holds
    assert verdict(web, ends=[3.3, 6.6]).holds


@pytest.mark.parametrize(
    ("rule", "ends", "holds"),
    [
        ("at least", 3, True),
        ("at least", 3.4, False),
        ("at least", [2, 5], True),
        ("at least", [2, 7], False),
        ("at most", 6, True),
        ("at most", 5, False),
        ("about", 3, False),
    ],
)
def test_rules(web, rule, ends, holds):
    assert verdict(web, rule=rule, ends=ends).holds is holds


def test_a_finding_is_told_only_of_a_claim_that_fails(web):
    assert "because of ties" not in verdict(web, finding="because of ties").note
    assert "because of ties" in verdict(web, ends=9, finding="because of ties").note


def test_a_claim_that_nothing_was_measured_for_does_not_hold(web):
    measure = {
        "kind": "level", "run": "web", "lines": ["slow"], "bin": "(100KB,10MB]",
        "statistic": "mean",
    }  # fmt: skip
    empty = verdict(web, measure=measure)
    assert (empty.measured, empty.holds) == (None, False)
    assert "not measured" in empty.note


def test_an_interval_over_a_limit_is_said(tmp_path):
    """Five replications with means of 2; with means that differ, their mean is 2 as well."""
    for name, apart, crosses in (("sure", 0.0, False), ("unsure", 0.1, True)):
        cases = [
            Made({"scheme": "slow", "load": 0.8}, [1 + off, 3 + off], replication=number)
            for number, off in enumerate([-apart, 0, apart, -apart, apart])
        ]
        run = make_run(tmp_path / name, cases)
        said = verdict(Result("web", Run.open(run.path), "load"), ends=2, within=0.01)
        assert said.holds
        assert ("reaches over a limit" in said.note) is crosses
    beside = verdict(Result("web", Run.open(run.path), "load"), ends=2.05, within=0.01)
    assert not beside.holds
    assert "reaches over a limit" in beside.note, "all that is accepted lies inside the interval"


def test_steps_compare_each_value_with_the_one_before(web):
    found = measured([web], kind="steps", run="web", lines=["slow"], bin="(0,100KB]")
    assert values(found) == [2]
    assert found.points[0].where == "web at load 0.8: slow / load 0.1"


def test_fan_out_needs_no_run():
    table = {"percentiles": [50, 95, 99], "quantiles": [1, 5, 10], "share": 0.95, "percentile": 50}
    bound = measured([], kind="fan-out", **table)
    assert values(bound) == [pytest.approx(6.91, rel=0.01)]
    alone = measured([], kind="fan-out", **table | {"share": 1.0, "leaves": 1})
    assert values(alone) == [pytest.approx(1.0, rel=0.01)]
    assert (alone.unfinished, alone.late, alone.lacking) == (0, 0, 0)


def test_spreads_of_known_values():
    even, one = np.full(50, 3.0), np.array([0.0] * 9 + [10.0])
    known = {name: (spread(even), spread(one)) for name, spread in SPREADS.items()}
    assert known["jain"] == pytest.approx((1, 0.1))
    assert known["sd/mean"] == pytest.approx((0, 3))
    assert known["above mean"] == (0, 0.1)
    assert known["within one sd"] == (1, 0.9)
    assert known["p95/p5"] == (1, np.inf)
    hundred = np.arange(1.0, 102.0)
    assert SPREADS["p95/p5"](hundred) == pytest.approx(96 / 6)
    assert SPREADS["p5/mean"](hundred) == pytest.approx(6 / 51)


LONG = """\
title = "long flows"
[topology]
kind = "single-switch"
hosts = 5
rate = "10Gbps"
[workload]
kind = "bulk"
parallel = 2
start_spread = "1ms"
warm_up = "5ms"
window = "20ms"
[scheme]
name = "own"
transport = { kind = "new-reno", min_rto = "1ms" }
queue = { kind = "drop-tail", buffer = "150KB" }
balance = "ecmp"
[sweep]
hosts.port = ["switch-port"]
"""


def test_fairness_over_more_than_the_run_has_is_not_judged(tmp_path):
    """A quick run is shorter than what some claims average over: the others are judged."""
    run = Result("long", sojourn.run(LONG, out=tmp_path / "run"), "port")
    (at,) = run.values
    about = {"kind": "averaged", "run": "long", "lines": ["own"], "at": [at], "statistic": "jain"}
    assert 0 < values(measured([run], over="2ms", **about))[0] <= 1
    even = claim(figures=["1"], measure={**about, "over": "20s"})
    verdict = judge(even, measured([run], **even.measure), paper="p", remarks=[])
    assert (verdict.measured, verdict.holds) == (None, False)
    assert "not judged: no run is long enough for an average over 20s" in verdict.note


def test_a_spread_has_an_interval_over_replications_only(tmp_path):
    def made_of(replications):
        cases = [
            Made(
                {"scheme": "one", "load": 0.5},
                1 + np.random.default_rng(number).random(200),
                replication=number,
            )
            for number in range(replications)
        ]
        return Result("r", make_run(tmp_path / str(replications), cases), "load")

    table = {"kind": "level", "run": "r", "lines": ["one"], "statistic": "jain"}
    assert measured([made_of(1)], **table).ci95 is None
    several = measured([made_of(4)], **table)
    low, high = several.ci95
    assert low < values(several)[0] < high
    assert high - low < 0.02
