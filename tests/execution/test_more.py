"""`sojourn run --more`: longer runs with chance of their own."""

from pathlib import Path

import numpy as np
import pytest

from conftest import STUDY
from sojourn.api.handles import Run

SWEPT = STUDY + "[sweep]\nworkload.flows = [40, 60]\n"
FLOWS = "src,dst,size_bytes,arrival\n0,1,1000,0s\n1,2,2000,5us\n"


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("four.toml").write_text(STUDY)
    return Path("four.toml")


def arrivals(path):
    return Run.open(path).rows["arrived_ps"].to_numpy()


def test_a_longer_run_has_chance_of_its_own(command, study):
    assert command("run", study).code == 0
    done = command("run", study, "--more", "2.5")
    assert (done.code, "150 jobs in out/four-x2.5" in done.out) == (0, True)
    short, long = arrivals(Path("out/four")), arrivals(Path("out/four-x2.5"))
    assert (short.size, long.size) == (60, 150)
    assert not np.array_equal(short, long[:60])
    # a seed that is given is the beginning of another one, so that nothing is looked at twice
    seed = Run.open(Path("out/four")).meta["seed"]
    command("run", study, "--more", "2.5", "--seed", seed, "--out", "again")
    command("run", study, "--more", "2.5", "--seed", "7", "--out", "other")
    assert np.array_equal(arrivals(Path("again")), long)
    assert not np.array_equal(arrivals(Path("other")), long)


def test_the_table_says_a_command_that_runs(command, study):
    command("run", study, "--set", "workload.flows=90", "--out", "ninety")
    shown = command("show", "ninety").out
    assert "(sojourn run ninety/study.toml --more " in shown
    done = command("run", "ninety/study.toml", "--more", "2")
    assert (done.code, "180 jobs in out/ninety-x2" in done.out) == (0, True)


@pytest.mark.parametrize("times", ["0", "0.5", "-1", "nan", "inf", "1e300"])
def test_what_is_no_number_of_times(command, study, times):
    refused = command("run", study, "--more", times)
    assert (refused.code, refused.out) == (2, "")
    assert "expected a number from 1 to 1,000,000, such as 3.2" in refused.err
    assert not Path("out").exists()


def test_what_cannot_be_longer(command, study):
    study.write_text(SWEPT)
    swept = command("run", study, "--more", "2")
    assert (swept.code, "workload.flows is swept" in swept.err) == (2, True)
    command("run", study, "--out", "swept")
    assert "larger workload.flows in the sweep" in command("show", "swept").out
    Path("flows.csv").write_text(FLOWS)
    replayed = STUDY[: STUDY.index("[workload]")] + '[workload]\nkind = "csv"\nfile = "flows.csv"\n'
    study.write_text(replayed)
    refused = command("run", study, "--more", "2")
    assert (refused.code, "no number of jobs or window that could be larger" in refused.err) == (
        2,
        True,
    )


def test_replays_of_a_file_are_one_replication(command, study):
    rows = [f"{at % 3},3,{1000 + 7 * at},{at}us" for at in range(200)]
    Path("flows.csv").write_text("\n".join(["src,dst,size_bytes,arrival", *rows]) + "\n")
    replayed = STUDY[: STUDY.index("[workload]")] + '[workload]\nkind = "csv"\nfile = "flows.csv"\n'
    study.write_text(replayed)
    found = []
    for replications in ("1", "6"):
        command("run", study, "--replications", replications, "--out", replications)
        (entry, *_) = command("show", replications, "--json", "--warmup", "none").document
        found.append(entry)
    assert [entry["n"] for entry in found] == [200, 1200]
    one, six = (entry["ci95_needs"] for entry in found)
    assert one["jobs"] == six["jobs"]
    assert (one["replications"], six["replications"]) != (None, 6)
    assert six["replications"] is None


def test_precision_and_a_dry_run(command, study):
    refused = command("run", study, "--precision", "5%", "--dry-run")
    assert (refused.code, "--dry-run: expected no --precision" in refused.err) == (2, True)
