"""Thresholds of a study: met, missed or undecided, and what the commands make of that."""

import numpy as np
import pytest

from conftest import IDEAL_PS, STUDY, Made, make_run, queues
from sojourn.analysis import thresholds
from sojourn.analysis.thresholds import Outcome

JOBS = 20_000
ARRAY = """\
model = "array"
disk = "ST3500630NS"
layout = "single"
[workload]
kind = "synthetic"
blocks = 1
requests = 20000
[sweep]
workload.arrivals = [{ kind = "poisson", rate = "10/s" }, { kind = "poisson", rate = "20/s" }]
[expect]
p99 = "< 1s"
response_time.mean = "> 1us"
"""


def judged(path, expect, cases):
    """The verdicts of a made-up run whose study has these lines in its table `expect`."""
    run = make_run(path, cases)
    lists = {name: [case.axes[name] for case in cases] for name in cases[0].axes}
    sweep = "".join(f"sweep.workload.{name} = {values}\n" for name, values in lists.items())
    run.directory.study.write_text(f'title = "made up"\n{sweep}[expect]\n{expect}\n')
    return thresholds.judge(type(run).open(path))


def jobs(load, **more):
    """The jobs of an M/M/1 queue: the mean slowdown is 1 / (1 - load)."""
    return Made({"load": load}, queues(load, JOBS, 1)[0], **more)


@pytest.mark.parametrize(
    ("expect", "outcome"),
    [
        ('slowdown.mean = "< 3"', Outcome.MET),
        ('slowdown.mean = "< 2"', Outcome.UNDECIDED),
        ('slowdown.mean = "< 1.5"', Outcome.MISSED),
        ('slowdown.mean = "> 1.5"', Outcome.MET),
        ('slowdown.mean = ">= 2"', Outcome.UNDECIDED),
        ('slowdown.mean = ">= 3"', Outcome.MISSED),
        # The quantile of an exponential time of mean 2: 2 ln 20 is 5.99.
        ('slowdown.p95 = "<= 7"', Outcome.MET),
        ('slowdown.p95 = "<= 5"', Outcome.MISSED),
        (f'p95 = "< {7 * IDEAL_PS}ps"', Outcome.MET),
        (f'flow.completion_time.p95 = "> {7 * IDEAL_PS}ps"', Outcome.MISSED),
        # One of 20,000 jobs lies beyond it.
        ('slowdown."p99.995" = "< 1000"', Outcome.UNDECIDED),
    ],
)
def test_the_interval_decides(tmp_path, expect, outcome):
    (verdict,) = judged(tmp_path / "run", expect, [jobs(0.5)])
    assert verdict.outcome is outcome
    assert verdict.line().startswith(f"{outcome.value}: {verdict.text}: ")


def test_every_case_has_to_meet_it_and_the_worst_is_named(tmp_path):
    (verdict,) = judged(tmp_path / "run", 'slowdown.mean = "< 2.2"', [jobs(0.5), jobs(0.6)])
    assert verdict.outcome is Outcome.MISSED
    assert "missed: slowdown.mean < 2.2 in 1 of 2 cases: " in verdict.line()
    assert verdict.line().endswith("(load 0.6)")


def test_unfinished_jobs_are_the_slowest(tmp_path):
    slowdown = queues(0.5, JOBS, 1)[0].copy()
    slowdown[::10] = np.nan
    expect = 'slowdown.p50 = "< 3"\nslowdown.p95 = "< 1000"\nslowdown.mean = "< 3"'
    case = Made({"load": 0.5}, slowdown)
    half, late, mean = judged(tmp_path / "run", expect, [case])
    assert half.outcome is Outcome.MET
    assert late.outcome is Outcome.MISSED
    assert late.line().endswith(": infinite, 2,000 unfinished jobs (load 0.5)")
    assert mean.outcome is Outcome.UNDECIDED
    assert "2,000 unfinished jobs not in the mean" in mean.line()


def test_a_case_that_has_not_run_decides_nothing(tmp_path):
    run = make_run(tmp_path / "run", [jobs(0.5)])
    run.directory.study.write_text('sweep.workload.load = [0.5, 0.6]\nexpect.mean = "< 1s"\n')
    (verdict,) = thresholds.judge(type(run).open(run.path))
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.line().endswith("1 case not run yet")


def test_kinds_that_a_run_lacks_decide_nothing(tmp_path):
    (verdict,) = judged(tmp_path / "run", 'query.mean = "< 1s"', [jobs(0.5)])
    assert verdict.line() == "undecided: query.mean < 1s: the run has no such jobs"


def test_queries_are_judged_and_their_responses_are_not(tmp_path):
    kinds = ["query", "response"] * (JOBS // 2)
    slowdown = queues(0.5, JOBS, 1)[0]
    slowdown[1::2] = 1000
    whole, part = judged(
        tmp_path / "run",
        f'mean = "< {3 * IDEAL_PS}ps"\nresponse.mean = "< {3 * IDEAL_PS}ps"',
        [Made({"load": 0.5}, slowdown, kind=kinds)],
    )
    assert [own.kind for own in whole.judged] == ["query"]
    assert [whole.outcome, part.outcome] == [Outcome.MET, Outcome.MISSED]


def test_run_and_show_end_with_a_line_and_an_exit_code(tmp_path, command):
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text(ARRAY)
    ran = command("run", study, "--out", out)
    assert ran.code == 0
    assert "met: p99 < 1s in all 2 cases, closest: " in ran.out
    assert command("show", out).code == 0
    # No row depends on them: the finished cases are judged again.
    missed = command("run", study, "--out", out, "--set", "expect.p99=< 1ns")
    assert missed.code == 1
    assert "all finished before" in missed.out
    assert "missed: p99 < 1ns in 2 of 2 cases: " in missed.out
    shown = command("show", out, "--json")
    assert shown.code == 1
    found = shown.document[0]["thresholds"]
    assert [own["threshold"] for own in found] == ["p99 < 1ns", "response_time.mean > 1us"]
    assert found[0]["outcome"] == "missed"
    assert len(found[0]["cases"]) == 2
    as_csv = command("show", out, "--csv")
    assert "\n# missed: p99 < 1ns" in as_csv.out


def test_a_study_without_thresholds_says_nothing(simulated, command):
    shown = command("show", simulated.path, "--json")
    assert shown.code == 0
    assert "thresholds" not in shown.document[0]


def test_all_mistakes_of_a_study_are_told_and_nothing_is_run(tmp_path, command):
    study = tmp_path / "study.toml"
    text = STUDY.replace("load =", "laod =").replace("hosts =", "hsots =")
    study.write_text(f'expect.p = "< 1"\n{text}')
    ran = command("run", study, "--out", tmp_path / "out")
    assert ran.code == 2
    assert not (tmp_path / "out").exists()
    told = ran.err.splitlines()
    assert [line.split(": ")[1].rpartition(":")[2] for line in told] == ["1", "6", "12"]
    assert all(line.startswith("sojourn: ") for line in told)
