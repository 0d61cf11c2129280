"""The experiments of Ultra Ethernet's reference simulator: a run and a claim of each."""

import pytest

from sojourn.reproduction import papers
from sojourn.reproduction.claims import COVERS, Claim, judge
from sojourn.reproduction.measures import Condition, Measured
from sojourn.reproduction.results import Point

(PAPER,) = papers.find("uet")


def test_there_is_a_claim_for_each_experiment():
    assert len(PAPER.claims) == 95
    assert len(PAPER.runs) == 87
    reusing = [claim for claim in PAPER.claims if claim.inapplicable]
    assert len(reusing) == 8
    assert all("-conn_reuse" in claim.source for claim in reusing)
    assert {run for claim in PAPER.claims for run in claim.needs} == {*PAPER.runs}


def test_the_brief_form_has_the_small_fabrics():
    brief = [plan for plan in PAPER.runs.values() if not plan.only_full]
    assert len(brief) == 31
    assert all("1024" not in plan.htsim for plan in brief)


def test_small_experiments_are_judged(command, tmp_path):
    done = command("reproduce", "uet", "--figure", "connreuse", "--out", tmp_path, "--json")
    assert done.code == 0, "what is not applicable does not count"
    verdicts = done.document
    assert len(verdicts) == 12
    applicable = [verdict for verdict in verdicts if verdict["measured"] is not None]
    assert len(applicable) == 4
    assert all(verdict["holds"] for verdict in applicable)
    assert applicable[0]["measured"] == pytest.approx(17.0107, abs=0.01)
    assert (
        "5 seeds: 17.01 to 17.01 us; 0 packets sent again, 0 in the reference"
        in (applicable[0]["note"])
    )
    others = [verdict["note"] for verdict in verdicts if verdict["measured"] is None]
    assert {*others} == {"not applicable: messages on one connection are not simulated yet"}
    shown = command("reproduce", "uet", "--figure", "connreuse", "--out", tmp_path).out
    assert "4 of 4 expectations of ours hold, 8 not applicable" in shown


def claim(**more):
    given = {
        "figures": ("1",),
        "claim": "c",
        "source": "s",
        "we_expect": "e",
        "ends": (100.0, 100.0),
        "rule": "about",
        "within": 0.03,
        "because": "b",
        "measure": {},
    }
    return Claim(**{**given, **more})


def verdict(asked, values, *conditions):
    points = tuple(Point(value, None) for value in values)
    measured = Measured(points, conditions=conditions)
    return judge(asked, measured, paper="p", remarks=[])


def test_further_conditions_decide_too():
    fewer, more = Condition("few", holds=True), Condition("many", holds=False)
    assert verdict(claim(), [102], fewer).holds
    assert not verdict(claim(), [104], fewer).holds
    assert not verdict(claim(), [102], fewer, more).holds
    assert "few; many" in verdict(claim(), [102], fewer, more).note


@pytest.mark.parametrize(
    ("values", "holds"),
    [([90, 110], True), ([102, 110], True), ([104, 110], False), ([80, 96], False), ([99], True)],
)
def test_a_range_covers_a_claimed_value(values, holds):
    assert verdict(claim(rule=COVERS), values).holds == holds


@pytest.mark.parametrize(
    ("again", "expected", "single_path", "holds"),
    [
        ([0, 9, 900], 200, False, True),
        ([210, 250, 400], 300, False, True),
        ([100, 200, 400], 300, False, False),
        ([100, 200, 400], 300, True, True),
        ([400, 500], 300, True, False),
    ],
)
def test_packets_sent_again(again, expected, single_path, holds):
    resent = papers.script(papers.ROOT / "uet")["_resent"]
    assert resent(again, expected, single_path=single_path).holds == holds
