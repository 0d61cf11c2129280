"""`sojourn estimate`: fabrics from their links, on threads and on a cluster."""

import errno
import json

import numpy as np
import pytest

from conftest import TWO_RACKS
from sojourn import estimation as estimate
from sojourn._core import Estimate
from sojourn.api.handles import Run
from sojourn.execution import studies
from sojourn.store import rows
from sojourn.store.ledger import Ledger

STUDY = (
    TWO_RACKS
    + """\
[sweep]
workload.load = [0.2, 0.6]
"""
)


@pytest.fixture
def command(command):
    """The command, which estimates even what is so small."""

    def run(verb, *words):
        return command(verb, *words, *(["--force"] if verb == "estimate" else []))

    return run


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "racks.toml"
    path.write_text(STUDY)
    return path


def row_bytes(path):
    return {entry.name: entry.read_bytes() for entry in (path / "rows").iterdir()}


def test_every_flow_has_an_estimate_that_says_so(command, study, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert command("run", study, "--out", whole).code == 0
    result = command("estimate", study, "--out", out, "--jobs", 2)
    assert (result.code, result.err) == (0, "")
    assert "two racks: 2 cases, 240 jobs" in result.out
    assert " links simulated\nestimated from links that were simulated alone" in result.out
    simulated, estimated = Run.open(whole).rows, Run.open(out).rows
    for column in ("case", "job", "kind", "size_bytes", "arrived_ps", "ideal_ps", "src", "dst"):
        assert estimated[column].to_pylist() == simulated[column].to_pylist()
    assert set(estimated["method"].to_pylist()) == {"estimate"}
    assert "retransmits" not in estimated.column_names
    slowdown = estimated["slowdown"].to_numpy()
    assert (slowdown >= 1).all()
    # the right size, and no better promised for so few flows
    assert np.median(slowdown) == pytest.approx(
        np.median(simulated["slowdown"].to_numpy()), rel=0.5
    )
    meta = json.loads((out / "meta.json").read_text())
    assert meta["estimated"] == estimate.SAID
    for record in Run.open(out).ledger:
        assert record.figures["links_simulated"] == record.figures["links"] <= 8 * 2 + 4 * 2
        assert record.parameters["estimate.access"] == "once"
        assert "hops" not in record.figures


def test_what_is_shown_of_an_estimate_says_so(command, study, tmp_path):
    out = tmp_path / "out"
    result = command("estimate", study, "--out", out, "--json")
    assert result.document["estimated"] == estimate.SAID
    assert f"caution: {estimate.SAID[:40]}" in command("show", out).out.replace("\n", " ")
    page = tmp_path / "page.html"
    assert command("report", out, "-o", page).code == 0
    assert "sojourn estimate study.toml" in page.read_text()
    again = command("estimate", out / "study.toml", "--out", tmp_path / "again")
    assert again.code == 0
    assert row_bytes(tmp_path / "again") == row_bytes(out)


def test_rows_do_not_depend_on_the_threads(command, study, tmp_path):
    for jobs in (1, 4):
        words = (
            "estimate",
            study,
            "--out",
            tmp_path / str(jobs),
            "--jobs",
            jobs,
            "--replications",
            2,
        )
        assert command(*words).code == 0
    assert len(row_bytes(tmp_path / "1")) == 4
    assert row_bytes(tmp_path / "1") == row_bytes(tmp_path / "4")
    assert "all finished before" in command(*words).out


def test_rows_are_the_same_from_a_cluster(command, study, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs sojourn[dask]")
    here, there = tmp_path / "here", tmp_path / "there"
    assert command("estimate", study, "--out", here).code == 0
    options = {"dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(2, threads_per_worker=1, processes=True, **options) as dask:
        result = command("estimate", study, "--out", there, "--scheduler", dask.scheduler_address)
    assert (result.code, result.err) == (0, "")
    assert row_bytes(there) == row_bytes(here)


def test_links_that_are_alike_are_simulated_once(command, study, tmp_path):
    out = tmp_path / "out"
    words = ("--set", "estimate.cluster=0.9", "--set", "workload.flows=400")
    assert command("estimate", study, "--out", out, *words).code == 0
    for record in Run.open(out).ledger:
        assert record.figures["links_simulated"] < record.figures["links"]
    assert len(Run.open(out).rows) == 800


@pytest.fixture
def impatient(monkeypatch):
    """Does not wait long for a scheduler."""
    monkeypatch.setattr("sojourn.execution.dask._CONNECT_S", 0.5)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "scheme.balance=spray"], 'scheme.balance = "spray", expected "ecmp"'),
        (["--set", "workload=bulk"], 'workload.kind = "bulk", expected "poisson" or "csv"'),
        (["--set", "hosts.loss={}"], 'hosts.loss = "a table", expected none to estimate'),
        (["--set", "estimate.acces=once"], "did you mean access?"),
        (["--jobs", 0], "jobs is 0"),
        (["--scheduler", "nonsense://x"], "no Dask scheduler at 'nonsense://x'"),
    ],
)
def test_what_cannot_be_estimated_is_refused(command, study, tmp_path, words, said):
    result = command("estimate", study, "--out", tmp_path / "out", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.count("\n") == 1
    assert not list(tmp_path.glob("out/rows/*"))


def test_an_estimate_and_a_run_do_not_share_a_directory(command, study, tmp_path):
    out = tmp_path / "out"
    assert command("estimate", study, "--out", out).code == 0
    result = command("run", study, "--out", out)
    assert result.code == 2
    assert "holds another run: estimate is" in result.err


def test_a_stopped_estimate_keeps_its_finished_cases(command, study, tmp_path, monkeypatch):
    out, asked = tmp_path / "out", []

    def simulate(part, links):
        asked.append(part.case)
        if len(set(asked)) > 1:
            raise KeyboardInterrupt
        return original(part, links)

    original = estimate.simulate
    monkeypatch.setattr(estimate, "simulate", simulate)
    result = command("estimate", study, "--out", out, "--jobs", 1)
    assert result.code == 130
    assert "1 of 2 cases finished and kept" in result.err
    monkeypatch.undo()
    assert command("estimate", study, "--out", out).code == 0
    assert len(row_bytes(out)) == 2


def test_a_stopped_estimate_keeps_the_links_of_the_case_under_way(
    command, study, tmp_path, monkeypatch
):
    out, whole = tmp_path / "out", tmp_path / "whole"
    single = ("--set", "sweep.workload.load=[0.6]", "--jobs", 1)
    asked, stopped = [], False

    def simulate(part, links):
        if len(asked) == 3 and not stopped:
            raise KeyboardInterrupt
        asked.extend(links)
        return original(part, links)

    original = estimate.simulate
    monkeypatch.setattr(estimate, "simulate", simulate)
    assert command("estimate", study, "--out", out, *single).code == 130
    (kept,) = (out / "links").iterdir()
    assert rows.number(kept) == 3
    stopped = True
    assert command("estimate", study, "--out", out, *single).code == 0
    assert len(set(asked)) == len(asked)
    assert not (out / "links").exists()
    assert command("estimate", study, "--out", whole, *single).code == 0
    assert row_bytes(out) == row_bytes(whole)


def test_links_are_kept_until_their_case_is_in_the_ledger(command, study, tmp_path, monkeypatch):
    out, asked = tmp_path / "out", []
    single = ("--set", "sweep.workload.load=[0.6]", "--jobs", 1)

    def simulate(part, links):
        asked.extend(links)
        return original(part, links)

    def full(_ledger, path):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    original = estimate.simulate
    monkeypatch.setattr(estimate, "simulate", simulate)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "write", full)
        result = command("estimate", study, "--out", out, *single)
        assert result.code == 2
        assert "No space left on device" in result.err
    first = list(asked)
    assert command("estimate", study, "--out", out, *single).code == 0
    assert asked == first
    assert not (out / "links").exists()


def test_what_was_not_simulated_with_these_flows_is_not_taken():
    parsed = estimate.parse(STUDY, "racks.toml", [], seed=None, replications=None)
    decomposed = parsed.decompose(parsed.study.cases()[0], 0)
    with pytest.raises(ValueError, match="not those that were to be simulated"):
        decomposed.combine([])
    part = estimate.Part(parsed.resolved(), 0, 0)
    found = estimate.simulate(part, decomposed.links())
    times = [(one.link, one.delays, one.events) for one in found]
    outcome = decomposed.combine(times)
    assert len(outcome.columns["job"]) == 120
    assert sum(one.events for one in found) == outcome.figures["events"]
    other = Estimate.parse(parsed.resolved(), "racks.toml", [("run.seed", "2")])
    with pytest.raises(ValueError, match="not those"):
        other.decompose(other.study.cases()[0], 0).combine(times)


def test_seed_and_replications_go_before_the_studys_own():
    parsed = estimate.parse(STUDY, "racks.toml", [], seed=7, replications=3)
    assert (parsed.study.seed, parsed.study.replications) == (7, 3)
    plain = studies.parse(STUDY, "racks.toml", [], seed=7, replications=3)
    assert (plain.seed, plain.replications) == (7, 3)
