"""Totals of cases: what an array carried, reads apart from writes, how far a rebuild got."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest

from conftest import Made, lindley, make_run
from sojourn.analysis.totals import background

# Requests are done at 1, 2, 5 and 5 ns, the last one after the measured time; each has 1000 bytes.
FOUR = {
    "slowdown": [1, 1, 3, 1],
    "arrived_ps": [0, 1000, 2000, 4000],
    "kind": ["request"] * 4,
    "op": ["read", "read", "write", "write"],
}
BUSY = {"busiest_disk_utilisation": 0.75, "disk_utilisation": 0.5}


@pytest.fixture
def run(tmp_path):
    """The four requests at two loads, twice."""
    cases = [
        Made({"load": load}, **FOUR, figures=BUSY, replication=n)
        for load in (1, 2)
        for n in range(2)
    ]
    return make_run(tmp_path / "r", cases)


def test_what_an_array_carried_comes_from_its_rows(run):
    summary = run.summary(warmup=False)
    assert [own.runs for own in summary.totals] == [2, 2]
    assert summary.totals_of({"load": 1}) == pytest.approx(
        {**BUSY, "jobs_per_s": 2 / 4e-9, "bytes_per_s": 2000 / 4e-9, "jobs_present": 1.0}
    )


def test_reads_stand_apart_from_writes(run):
    read, write, *others = run.summary(warmup=False).split
    assert (read.case, read.value, write.value, len(others)) == ({"load": 1}, "read", "write", 2)
    assert (read.estimate.mean, write.estimate.mean) == (1000, 2000)
    assert read.totals == pytest.approx(
        {"jobs_per_s": 5e8, "bytes_per_s": 5e11, "jobs_present": 0.5}
    )
    assert write.totals == pytest.approx({"jobs_per_s": 0, "bytes_per_s": 0, "jobs_present": 0.5})


def test_one_kind_of_operation_is_no_split(tmp_path, run):
    alone = make_run(tmp_path / "alone", [Made({}, **{**FOUR, "op": ["read"] * 4})])
    assert alone.summary().split == ()
    assert run.summary(by=["op"]).split == ()


def test_the_law_of_little_holds(tmp_path):
    """An M/M/1 queue at 0.6: 1.5 jobs are there, 0.6 per mean service are done."""
    generator = np.random.default_rng(7)
    gaps, services = generator.exponential(1 / 0.6, 60_000), generator.exponential(1.0, 60_000)
    arrived = (np.cumsum(gaps) * 1000).astype(np.int64).tolist()
    made = Made({}, lindley(gaps, services), arrived_ps=arrived, kind=["request"] * 60_000)
    run = make_run(tmp_path / "r", [made])
    summary = run.summary()
    (own,) = summary.totals
    mean_ps = next(e.mean for e in summary if e.metric == "sojourn_ps")
    rate = own.values["jobs_per_s"]
    assert rate * 1e-9 == pytest.approx(0.6, rel=0.02)
    assert own.values["jobs_present"] == pytest.approx(1.5, rel=0.08)
    assert own.values["jobs_present"] == pytest.approx(rate * mean_ps / 1e12, rel=0.01)


def test_requests_of_one_instant_have_no_rate(tmp_path):
    made = Made({}, [1, 2], arrived_ps=[5, 5], kind=["request"] * 2, figures=BUSY)
    summary = make_run(tmp_path / "r", [made]).summary()
    assert summary.totals_of({}) == BUSY
    assert "IOPS" not in repr(summary)


def test_tables_and_documents_have_them(command, run):
    told = command("show", run.path).out
    for head in ("busiest disk busy [%]", "IOPS", "throughput [MB/s]", "requests in the array"):
        assert head in told
    assert "a steady state" in told
    entries = command("show", run.path, "--json").document
    assert [entry["metric"] for entry in entries[:2]] == ["sojourn_ps", "slowdown"]
    assert {*entries[0]["totals"]} == {*BUSY, "jobs_per_s", "bytes_per_s", "jobs_present"}
    assert [*entries[0]["by_op"]] == ["read", "write"]
    assert entries[0]["by_op"]["read"]["mean"] == 1000
    assert "by_op" not in entries[1]
    table = pd.read_csv(StringIO(command("show", run.path, "--csv").out), comment="#")
    assert table["metric"][0] == "sojourn_ps"
    assert table["busiest_disk_utilisation"].tolist() == [0.75] * 4
    assert table["read_mean"].dropna().tolist() == [1000, 1000]
    assert {"read_mean_ci95_low", "write_jobs_per_s"} <= {*table.columns}


REBUILD = {"rebuild_bytes": 4 * 10**9, "simulated_ps": 10 * 10**12}


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (
            [{"rebuild_ended_ps": 4 * 10**12}, {"rebuild_ended_ps": 6 * 10**12}],
            "the rebuild was over after 5 s, at 800 MB/s for each failed disk"
            " (mean of 2 replications)",
        ),
        (
            [{"rebuilt_bytes": 10**9}],
            "the rebuild was not over by the end of the run, after 10 s: 25.00% done,"
            " 100 MB/s for each failed disk, about 30 s left at this rate",
        ),
        (
            [{"rebuilt_bytes": 10**6}],
            "the rebuild was not over by the end of the run, after 10 s: 0.03% done,"
            " 0.1 MB/s for each failed disk, about 11 h left at this rate",
        ),
        (
            [{"rebuilt_bytes": 0}],
            "the rebuild was not over by the end of the run, after 10 s: 0.00% done",
        ),
    ],
)
def test_how_far_a_rebuild_got_is_said(tmp_path, figures, said):
    cases = [
        Made({"failed": 1}, [1.0], kind=["request"], replication=n, figures={**REBUILD, **own})
        for n, own in enumerate(figures)
    ]
    assert make_run(tmp_path / "r", cases).summary().told == (f"disk 1 failed: {said}",)


def test_a_rebuild_that_ended_in_some_runs_has_two_lines(tmp_path):
    both = [{"rebuild_ended_ps": 4 * 10**12}, {"rebuilt_bytes": 10**9}]
    cases = [
        Made({}, [1.0], kind=["request"], replication=n, figures={**REBUILD, **own})
        for n, own in enumerate(both)
    ]
    run = make_run(tmp_path / "r", cases)
    ended, going = background.lines(run.ledger, ["request"])
    assert ended.startswith("the rebuild was over after 4 s")
    assert going.startswith("the rebuild was not over")


def test_runs_of_earlier_versions_have_no_share(tmp_path):
    old = [{"rebuild_ended_ps": 4 * 10**12}, {"rebuilt_blocks": 12}]
    for n, figures in enumerate(old):
        made = Made({}, [1.0], kind=["request"], figures=figures)
        told = make_run(tmp_path / str(n), [made]).summary().told
        assert told == (("the rebuild was over after 4 s",) if n == 0 else ())
