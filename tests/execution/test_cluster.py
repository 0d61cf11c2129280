"""Cases on the workers of a real Dask cluster, one of which dies."""

import os
import re
import signal
import threading

import pytest

import sojourn
from conftest import STUDY
from sojourn._internal import build
from sojourn.api.handles import Run
from sojourn.execution import dask as cluster
from sojourn.execution.place import Execution

distributed = pytest.importorskip("distributed", reason="needs sojourn[dask]")

CASES = (
    STUDY
    + """\
[sweep]
scheme = ["DCTCP", "MinTCP+pFabric"]
workload.load = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
"""
)

# its sockets and loops are closed when Python sees fit, after the last test has been judged
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def started():
    """Two workers, each a process of one thread."""
    options = {"dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(2, threads_per_worker=1, processes=True, **options) as running:
        yield running


@pytest.fixture
def dask(started):
    """The same, both there: whom a test has killed comes back only after a while."""
    with distributed.Client(started) as client:
        client.wait_for_workers(2, timeout=60)
    return started


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "cases.toml"
    path.write_text(CASES)
    return path


def row_bytes(path):
    return {entry.name: entry.read_bytes() for entry in (path / "rows").iterdir()}


def test_the_rows_are_those_of_a_local_run(command, study, tmp_path, dask):
    here, there = tmp_path / "here", tmp_path / "there"
    assert command("run", study, "--out", here, "--replications", 2).code == 0
    words = ("run", study, "--out", there, "--replications", 2)
    result = command(*words, "--scheduler", dask.scheduler_address)
    assert (result.code, result.err) == (0, "")
    assert len(row_bytes(here)) == 24
    assert row_bytes(there) == row_bytes(here)
    figures = [[dict(record.figures) for record in Run.open(run).ledger] for run in (here, there)]
    assert figures[0] == figures[1]
    again = command(*words, "--scheduler", dask.scheduler_address)
    assert "all finished before" in again.out


def test_flows_from_python_are_sent_along(command, tmp_path, dask):
    """Workers look neither for the code nor for the run directory: they have their own folders."""
    (tmp_path / "flows.py").write_text(
        "def arrivals(hosts, rates, random, load):\n"
        "    src = random.integers(0, hosts, 20)\n"
        "    time = random.exponential(1e-4 / load, 20).cumsum()\n"
        "    return {'src': src, 'dst': (src + 1) % hosts, 'size_bytes': [9000] * 20,"
        " 'arrival_s': time}\n"
    )
    drawn = '{ kind = "python", file = "flows.py", function = "arrivals" }'
    study = tmp_path / "drawn.toml"
    study.write_text(STUDY.partition("[workload]")[0].replace("[top", f"workload = {drawn}\n[top"))
    words = ("run", study, "--replications", 2, "--set", "sweep.workload.set.load=[0.2, 0.6]")
    here, there, again = tmp_path / "here", tmp_path / "there", tmp_path / "again"
    assert command(*words, "--out", here).code == 0
    cluster = ("--scheduler", dask.scheduler_address)
    result = command(*words, "--out", there, *cluster)
    assert (result.code, result.err) == (0, "")
    assert len(row_bytes(here)) == 4
    assert row_bytes(there) == row_bytes(here)
    (tmp_path / "flows.py").unlink()
    assert command("run", here / "study.toml", "--out", again, *cluster).code == 0
    assert row_bytes(again) == row_bytes(here)


def test_a_lost_worker_costs_time_and_nothing_else(study, tmp_path, dask, capsys):
    larger = {"workload.flows": 600}
    here = sojourn.run(study, out=tmp_path / "here", overrides=larger)
    out = tmp_path / "there"
    killed = []

    def kill_one_when_rows_are_there():
        while not killed:
            if any((out / "rows").glob("*.parquet")):
                victim = next(iter(dask.workers.values()))
                killed.append(victim.pid)
                os.kill(victim.pid, signal.SIGKILL)
            stop.wait(0.01)

    stop = threading.Event()
    killer = threading.Thread(target=kill_one_when_rows_are_there)
    killer.start()
    text, pairs = study.read_text(), [("workload.flows", "600")]
    parsed = sojourn.execution.studies.parse(text, str(study), pairs, seed=None, replications=None)
    directory = sojourn.store.run_directory.RunDirectory(out)
    ran = sojourn.execution.studies.simulate(
        parsed, directory, command="test", execution=Execution(scheduler=dask.scheduler_address)
    )
    killer.join()
    assert ran == 12
    assert len(killed) == 1
    assert re.fullmatch(r"worker tcp://\S+ is gone; others do its cases\n", capsys.readouterr().err)
    assert row_bytes(out) == row_bytes(here.path)


def test_workers_of_another_build_are_refused_by_name(command, study, tmp_path, dask, monkeypatch):
    monkeypatch.setattr(build, "identity", lambda: "another")
    words = ("run", study, "--out", tmp_path / "out", "--scheduler", dask.scheduler_address)
    result = command(*words)
    assert result.code == 2
    assert "2 workers with another build than this one (another): tcp://" in result.err
    assert not (tmp_path / "out").exists(), "nothing was begun"
    monkeypatch.setattr(cluster, "_refuse_other_builds", lambda _client: None)
    result = command(*words)  # as one would be that came later
    assert result.code == 2
    assert "expected another; install the same sojourn there" in result.err


def test_a_case_that_is_refused_there_is_refused_here(command, study, tmp_path, dask):
    study.write_text(
        CASES.replace('sizes = "websearch"', 'sizes = { kind = "file", path = "x.csv" }')
    )
    words = ("run", study, "--out", tmp_path / "out", "--scheduler", dask.scheduler_address)
    assert command(*words).code == 2


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "127.0.0.1"])
def test_nobody_at_the_address(command, study, tmp_path, address, monkeypatch):
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.5)
    result = command("run", study, "--out", tmp_path / "out", "--scheduler", address)
    assert (result.code, result.out) == (2, "")
    assert f"no Dask scheduler at {address!r}" in result.err
    # one that is refused may be about to listen
    assert ("waiting up to 0.5 s" in result.err) == address.endswith(":9")
    assert not (tmp_path / "out").exists(), "nothing was begun"


@pytest.mark.parametrize(
    ("times", "waiting", "running", "size"),
    # nothing known; half a second of quick ones; slow ones alone; the end is shared out
    [([], 100, 0, 1), ([0.001] * 9, 5000, 4, 500), ([2.0], 100, 4, 1), ([0.01], 12, 4, 3)],
)
def test_how_many_cases_go_together(times, waiting, running, size):
    assert cluster._batch(times, waiting, running) == size
