"""A disk array from a study to a table."""

import pyarrow.parquet as pq
import pytest

STUDY = """
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
scheduling = ["fcfs", "rpo"]
"""


@pytest.fixture
def run(command, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    result = command("run", tmp_path / "study.toml", "--out", tmp_path / "out")
    assert (result.code, result.err) == (0, "")
    return tmp_path / "out"


def test_the_rows_of_requests(run):
    rows = pq.read_table(run / "rows" / "case0000-replication000.parquet")
    assert rows.num_rows == 20_000
    assert set(rows["kind"].to_pylist()) == {"request"}
    assert set(rows["op"].to_pylist()) == {"read"}
    assert set(rows["blocks"].to_pylist()) == {1}
    assert set(rows["size_bytes"].to_pylist()) == {128 * 1024}


def test_the_exact_mean_stands_under_the_table(command, run):
    shown = command("show", run)
    lines = [line.strip() for line in shown.out.splitlines()]
    place = lines.index("known by: Pollaczek-Khinchine, M^X/G/1")
    assert lines[place - 1].startswith(
        "mean response time of scheduling fcfs: exactly 19.27 ms; simulated 19."
    )
    # optimised, the queue is none of which the formula speaks
    assert "no formula: services depend on what waits (1 case)" in lines
    estimates = command("show", run, "--json").document
    (measured,) = (
        e["mean"] / 1e9
        for e in estimates
        if (e["case"], e["bin"], e["metric"]) == ({"scheduling": "fcfs"}, "all", "sojourn_ps")
    )
    assert measured == pytest.approx(19.27, rel=0.03)


def test_what_an_array_is_made_of_is_listed(command):
    assert "ST3500630NS" in command("list", "disks").out
    assert "raid6" in command("list", "layouts").out
