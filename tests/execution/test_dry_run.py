"""What `--dry-run` says, and that it does nothing."""

import pytest

from conftest import STUDY, SWEEP
from sojourn.execution import inputs
from sojourn.execution.dry_run import plan
from sojourn.store.ledger import Ledger


def test_the_cases_are_listed_and_nothing_is_run(command, study, tmp_path):
    out = tmp_path / "out"
    words = ("run", study, "--replications", 3, "--out", out, "--dry-run")
    document = command(*words, "--json").document
    assert (document["title"], document["finished"]) == ("four hosts", 0)
    assert len(document["cases"]) == 4 * 3
    # the order in which they would run: the heavier load first
    assert document["cases"][0]["axes"] == {"scheme": "DCTCP", "load": 0.6}
    assert {case["replication"] for case in document["cases"]} == {0, 1, 2}
    assert document["left_s"] > 0
    shown = command(*words).out
    assert "12 cases to run, replications counted" in shown
    assert "(rough, by pilots)" in shown
    assert not out.exists()


def test_what_is_finished_is_not_on_the_list(command, study, tmp_path):
    out = tmp_path / "out"
    command("run", study, "--out", out)
    again = command("run", study, "--out", out, "--dry-run")
    assert "0 cases to run, replications counted, 4 cases finished before" in again.out
    assert "pilots" not in again.out


def test_a_directory_that_the_run_would_refuse_is_refused(command, study, tmp_path):
    out = tmp_path / "out"
    command("run", study, "--out", out, "--seed", 2)
    other = command("run", study, "--out", out, "--dry-run")
    assert (other.code, "holds another run: run.seed is 2 there and 1 here" in other.err) == (
        2,
        True,
    )
    file = command("run", study, "--out", study, "--dry-run")
    assert (file.code, "not a directory" in file.err) == (2, True)


def test_a_pilot_promises_about_what_the_run_takes():
    # 40,000 flows take seconds: the pilots see the beginning, and the rest is as long as that says
    study = inputs.study(STUDY + SWEEP, "study", [("workload.flows", "40000")])
    found = plan(study, Ledger(), at_a_time=2)
    (task, *_) = found.tasks
    assert task.progress.done < 40_000  # it was stopped
    assert found.left_s > 1


@pytest.mark.parametrize("jobs", ["0", "2000"])
def test_a_number_of_threads_is_checked(command, study, jobs):
    result = command("run", study, "--dry-run", "--jobs", jobs)
    assert result.code == 2
    assert f"jobs is {jobs}" in result.err
