"""Studies run by the engine into a run directory: whole, resumed, interrupted."""

import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

import sojourn
from conftest import STUDY, SWEEP
from sojourn._internal.errors import InputError
from sojourn.execution import place
from sojourn.execution.execute import Threads
from sojourn.store.ledger import Ledger
from sojourn.store.run_directory import RunDirectory

COLUMNS = [
    "case",
    "replication",
    "job",
    "kind",
    "size_bytes",
    "arrived_ps",
    "finished_ps",
    "sojourn_ps",
    "ideal_ps",
    "slowdown",
    "src",
    "dst",
]


def row_files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (directory / "rows").iterdir()}


def test_the_contract_of_the_directory(simulated):
    names = {entry.name for entry in simulated.path.iterdir()}
    assert names == {"study.toml", "meta.json", "cases.parquet", "rows"}
    assert len(row_files(simulated.path)) == 8
    meta = json.loads((simulated.path / "meta.json").read_text())
    assert {"version", "commit", "seed", "command", "machine"} <= meta.keys()
    assert meta["earlier_commits"] == []
    rows = simulated.rows
    assert rows.column_names[: len(COLUMNS)] == COLUMNS
    assert rows.num_rows == 8 * 60
    cases = simulated.cases
    assert cases["case"].to_pylist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert cases["replication"].to_pylist() == [0, 1] * 4
    assert cases["scheme"].to_pylist() == ["DCTCP"] * 4 + ["MinTCP+pFabric"] * 4
    assert cases["load"].to_pylist() == [0.2, 0.2, 0.6, 0.6] * 2
    expected = {"workload.load", "hops", "unfinished", "ideal", "warmup_jobs", "wall_s", "cpu_s"}
    assert expected <= set(cases.column_names)
    for word in ("dropped", "utilisation"):
        assert any(word in name for name in cases.column_names)


def test_rows_make_sense(simulated):
    rows = simulated.rows.to_pydict()
    for finished, arrived, stay, ideal, slowdown in zip(
        *(rows[n] for n in ("finished_ps", "arrived_ps", "sojourn_ps", "ideal_ps", "slowdown")),
        strict=True,
    ):
        if finished is None:
            assert (stay, slowdown) == (None, None)
        else:
            assert stay == finished - arrived
            assert slowdown == pytest.approx(stay / ideal)
            assert slowdown >= 1
    assert set(rows["kind"]) == {"flow"}


def test_the_rows_do_not_depend_on_the_number_of_jobs(command, study, tmp_path):
    for jobs in (1, 2):
        assert command("run", study, "--jobs", jobs, "--out", tmp_path / str(jobs)).code == 0
    assert row_files(tmp_path / "1") == row_files(tmp_path / "2")


def test_the_rows_do_not_depend_on_the_number_of_threads(command, tmp_path):
    study = tmp_path / "tree.toml"
    study.write_text(STUDY.replace("single-switch", "fat-tree").replace("hosts = 4", "k = 4"))
    runs = []
    for threads in (1, 2):
        out = tmp_path / str(threads)
        assert command("run", study, "--threads", threads, "--out", out).code == 0
        runs.append(RunDirectory(out).finished())
    assert row_files(tmp_path / "1") == row_files(tmp_path / "2")
    one, two = ([record.figures for record in run] for run in runs)
    assert one == two
    assert all(record.cpu_s > 0 for record in runs[1])


def test_a_case_that_goes_on_with_one_thread_is_told_once(capsys):
    def task(*, went_alone):
        return SimpleNamespace(progress=SimpleNamespace(went_alone=went_alone))

    threads = Threads(1, 2)
    threads.tell([task(went_alone=False)])
    assert capsys.readouterr().err == ""
    for _ in range(2):
        threads.tell([task(went_alone=False), task(went_alone=True)])
    assert capsys.readouterr().err == (
        "sojourn: other programs use the processors: a case continues with one thread\n"
    )


@pytest.mark.parametrize(
    ("jobs", "threads", "shared"),
    [(None, 1, (4, 1)), (None, 2, (2, 2)), (None, 9, (1, 4)), (1, 3, (1, 3)), (9, 2, (9, 1))],
)
def test_cases_at_a_time_share_four_processors(monkeypatch, jobs, threads, shared):
    monkeypatch.setattr(place, "processors", lambda: 4)
    assert place.Execution(jobs, threads).place("") == Threads(*shared)


def test_another_seed_gives_other_rows(command, study, tmp_path):
    for seed in (1, 2):
        command("run", study, "--seed", seed, "--out", tmp_path / str(seed))
    assert row_files(tmp_path / "1") != row_files(tmp_path / "2")


def test_finished_cases_are_not_run_again(command, study, tmp_path):
    out = tmp_path / "r"
    command("run", study, "--out", out)
    before = row_files(out)
    directory = RunDirectory(out)
    lost, kept = directory.rows(1, 0), directory.rows(2, 0)
    lost.unlink()
    untouched = kept.stat().st_ino
    walls = {r.case: r.wall_s for r in sojourn.load(out).ledger}
    result = command("run", study, "--out", out)
    assert result.code == 0
    assert row_files(out) == before
    assert kept.stat().st_ino == untouched
    again = {r.case: r.wall_s for r in sojourn.load(out).ledger}
    assert {case for case in again if again[case] != walls.get(case)} == {1}


def test_a_half_written_file_is_written_anew(command, study, tmp_path):
    out = tmp_path / "r"
    command("run", study, "--out", out)
    before = row_files(out)
    directory = RunDirectory(out)
    whole = directory.rows(3, 0)
    whole.rename(whole.with_name(f".{whole.name}.partial"))
    assert command("run", study, "--out", out).code == 0
    assert row_files(out) == before


def test_broken_rows_are_simulated_anew(command, study, tmp_path):
    out = tmp_path / "r"
    command("run", study, "--out", out)
    before = row_files(out)
    directory = RunDirectory(out)
    broken = directory.rows(1, 0)
    broken.write_bytes(broken.read_bytes()[:1000])
    refused = command("show", out)
    assert refused.code == 2
    assert f"{broken}: not a readable Parquet file" in refused.err
    assert "delete it and run the study again" in refused.err
    assert command("run", study, "--out", out).code == 0
    assert row_files(out) == before


def test_a_finished_run_says_that_it_is(command, study, tmp_path):
    out = tmp_path / "r"
    first, second = (command("run", study, "--out", out) for _ in range(2))
    summary = f"four hosts: 4 cases, 240 jobs in {out}"
    assert first.out.splitlines()[0] == summary
    assert second.out.splitlines()[0] == f"{summary}, all finished before"
    (out / "meta.json").unlink()
    assert command("run", study, "--out", out).code == 0
    assert (out / "meta.json").exists()


def test_another_study_is_refused(command, study, tmp_path):
    out = tmp_path / "r"
    command("run", study, "--out", out)
    before = row_files(out)
    result = command("run", study, "--out", out, "--seed", 9)
    assert result.code == 2
    assert result.err.splitlines() == [
        f"sojourn: {out}: holds another run: run.seed is 1 there and 9 here; choose another --out"
    ]
    assert row_files(out) == before


def test_the_document_of_a_run(command, study, tmp_path):
    result = command("run", study, "--out", tmp_path / "r", "--json")
    assert result.err == ""
    document = result.document
    assert document["run"] == str(tmp_path / "r")
    assert document["title"] == "four hosts"
    assert [case["axes"] for case in document["cases"]] == [
        {"scheme": scheme, "load": load}
        for scheme in ("DCTCP", "MinTCP+pFabric")
        for load in (0.2, 0.6)
    ]
    assert all(case["jobs"] == 60 for case in document["cases"])


def test_the_default_directory_has_the_name_of_the_study(command, study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = command("run", study.name)
    assert result.code == 0
    assert (tmp_path / "out" / "small" / "cases.parquet").exists()
    assert "out/small" in result.out


def test_the_study_is_kept_as_resolved(command, study, tmp_path):
    command("run", study, "--set", "workload.flows=30", "--out", tmp_path / "a")
    result = command("run", tmp_path / "a" / "study.toml", "--out", tmp_path / "b")
    assert result.code == 0
    assert row_files(tmp_path / "a") == row_files(tmp_path / "b")
    assert sojourn.load(tmp_path / "b").cases["jobs"].to_pylist() == [30] * 4


def test_the_same_run_twice_gives_equal_rows(command, study, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for out in (first, second):
        assert command("run", study, "--replications", 2, "--out", out).code == 0
    assert row_files(first) == row_files(second)
    rows = [sojourn.load(out).rows for out in (first, second)]
    assert rows[0].equals(rows[1])
    assert (first / "study.toml").read_bytes() == (second / "study.toml").read_bytes()
    measured = ["wall_s", "cpu_s"]  # of the machine, not of the study
    cases = [sojourn.load(out).cases.drop_columns(measured) for out in (first, second)]
    assert cases[0].equals(cases[1])


def test_a_study_of_flows_in_a_file_runs_again_from_anywhere(command, tmp_path, monkeypatch):
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    place.mkdir()
    elsewhere.mkdir()
    (place / "flows.csv").write_text(
        "src,dst,size_bytes,arrival\n0,1,10000,0us\n1,2,3000000,5us\n2,0,1,5us\n"
    )
    sizes = 'kind = "poisson"\nsizes = "websearch"\nload = 0.5\nflows = 60\n'
    assert sizes in STUDY
    study = place / "s.toml"
    study.write_text(STUDY.replace(sizes, 'kind = "csv"\nfile = "flows.csv"\n'))
    monkeypatch.chdir(place)
    assert command("run", "s.toml", "--out", "r").code == 0
    monkeypatch.chdir(elsewhere)
    assert command("run", place / "s.toml", "--out", "r").code == 0
    assert command("run", place / "r" / "study.toml", "--out", "again").code == 0
    assert command("run", place / "s.toml", "--out", place / "r").code == 0  # nothing is left
    rows = [row_files(out) for out in (place / "r", elsewhere / "r", elsewhere / "again")]
    assert rows[0] == rows[1] == rows[2]
    assert sojourn.load("again").rows["size_bytes"].to_pylist() == [10000, 3000000, 1]
    (place / "flows.csv").unlink()
    result = command("run", place / "r" / "study.toml", "--out", "gone")
    assert result.code == 2
    assert str(place / "flows.csv") in result.err
    assert command("show", place / "r").code == 0


def test_jobs_of_flows_in_a_file_are_shown(command, tmp_path, monkeypatch):
    """The last flow waits for two others: its job ends a packet's way after them."""
    monkeypatch.chdir(tmp_path)
    Path("flows.csv").write_text(
        "id,src,dst,size_bytes,arrival,after,delay,job\n"
        "a,0,2,1460,0s,,,sum\nb,1,2,1460,0s,,,sum\nc,2,3,1460,,a b,50us,sum\nd,3,0,1460,1us,,,\n"
    )
    sizes = 'kind = "poisson"\nsizes = "websearch"\nload = 0.5\nflows = 60\n'
    Path("s.toml").write_text(STUDY.replace(sizes, 'kind = "csv"\nfile = "flows.csv"\n'))
    assert command("run", "s.toml", "--out", "r").code == 0
    rows = sojourn.load("r").rows
    assert rows["kind"].to_pylist() == ["flow"] * 4 + ["job"]
    assert rows["of_job"].to_pylist() == [4, 4, None, 4, 4]
    assert rows["src"].to_pylist()[-1] is None
    began, ended = rows["arrived_ps"].to_pylist(), rows["finished_ps"].to_pylist()
    assert began[3] == max(ended[:2]) + 50_000_000
    assert (began[4], ended[4]) == (0, ended[3])
    shown = command("show", "r", "--json").document
    assert {estimate["kind"] for estimate in shown} == {"flow", "job"}
    assert "completion time of a job" in command("show", "r").out
    Path("flows.csv").write_text("src,dst,size_bytes,arrival,after\n0,1,5,0s,1\n1,0,5,0s,0\n")
    refused = command("run", "s.toml", "--out", "circle")
    assert refused.code == 2
    assert "line 2: after, in a circle: line 2 waits for line 3" in refused.err


def read_until(terminal: int, pattern: str, deadline_s: float) -> str:
    """What a terminal shows until the pattern appears, escape sequences left out."""
    seen = b""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        if select.select([terminal], [], [], end - time.monotonic())[0]:
            try:
                seen += os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode(errors="replace"))
            if re.search(pattern, text):
                return text
    raise AssertionError(f"no {pattern!r}, at most {deadline_s} s long, in {seen!r}")


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """Children heed SIGINT, also where a shell has started the tests in its background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_keeps_finished_cases_and_the_same_command_resumes(tmp_path):
    study = tmp_path / "long.toml"
    # the second case must still be running when the signal comes after the first is finished
    study.write_text(STUDY + "[sweep]\nworkload.flows = [20, 20000]\n")
    out = tmp_path / "r"
    arguments = [sys.executable, "-m", "sojourn", "run", str(study), "--jobs", "2"]
    arguments += ["--out", str(out)]
    terminal, its_end = pty.openpty()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=its_end) as child:
        os.close(its_end)
        shown = read_until(terminal, r"1/2 cases", 60)
        child.send_signal(signal.SIGINT)
        said = read_until(terminal, r"resumes", 60)
        assert child.wait(60) == 130
    os.close(terminal)
    assert "simulated" in shown
    assert f"interrupted: 1 of 2 cases finished and kept in {out}" in re.sub(r"\s+", " ", said)
    directory = RunDirectory(out)
    assert [record.key for record in directory.ledger()] == [(0, 0)]
    assert [path.name for path in (out / "rows").iterdir()] == [directory.rows(0, 0).name]
    finished = directory.rows(0, 0).stat().st_ino
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)
    # On a slow machine there is a line of progress.
    assert (done.returncode, re.sub(r"1/2 cases, .*\n", "", done.stderr)) == (0, "")
    assert directory.rows(0, 0).stat().st_ino == finished
    assert [record.key for record in directory.ledger()] == [(0, 0), (1, 0)]
    assert pq.read_metadata(directory.rows(1, 0)).num_rows == 20000


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Files cannot grow larger than that: a full disk, for this process alone."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_one_message_and_the_same_command_resumes(command, study, tmp_path):
    out = tmp_path / "r"
    arguments = ["run", study, "--jobs", 1, "--out", out]
    rows = RunDirectory(out).rows(1, 0)
    for size, name in ((500, out / "study.toml"), (4096, rows), (16384, out / "cases.parquet")):
        with files_up_to(size):
            result = command(*arguments)
        assert (result.code, result.out) == (2, "")
        (line,) = result.err.splitlines()
        assert line.startswith("sojourn: cannot write")
        assert line.endswith(f"{name}: File too large")
        assert not list(out.rglob("*.partial"))
    assert command(*arguments).code == 0
    with files_up_to(4096):
        result = command("plot", out, "--kind", "slowdown")
    assert result.err == f"sojourn: {out / 'plots' / 'slowdown.png'}: File too large\n"
    assert list((out / "plots").iterdir()) == []


def test_an_interruption_while_the_ledger_is_written(command, study, tmp_path, monkeypatch):
    write = Ledger.write

    def interrupted(_ledger, _path):
        monkeypatch.setattr(Ledger, "write", write)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "write", interrupted)
    out = tmp_path / "r"
    result = command("run", study, "--jobs", 1, "--out", out)
    assert result.code == 130
    assert re.fullmatch(
        rf"sojourn: interrupted: [12] of 4 cases finished and kept in {out};"
        r" the same command resumes\n",
        result.err,
    )
    assert len(sojourn.load(out).ledger) in {1, 2}
    assert command("run", study, "--out", out).code == 0


def test_an_incomplete_run_says_so(command, study, tmp_path):
    out = tmp_path / "r"
    command("run", study, "--replications", 2, "--out", out)
    assert "not run yet" not in command("show", out).out
    for replication in (0, 1):
        RunDirectory(out).rows(2, replication).unlink()
    assert "2 cases of the study not run yet; `sojourn run` resumes it" in command("show", out).out


def test_results_that_cannot_be_written_are_one_message(tmp_path):
    directory = RunDirectory(tmp_path / "r")
    directory.rows(2, 0).mkdir(parents=True)  # no file can be renamed over it
    with pytest.raises(sojourn.InputError, match="cannot write results"):
        sojourn.run(STUDY + SWEEP, out=directory.path, jobs=1)
    assert {(1, 0), (3, 0)} <= {record.key for record in directory.ledger()}


def test_a_failed_run_keeps_its_study_where_anything_else_of_it_is_kept(tmp_path):
    directory = RunDirectory(tmp_path / "r")
    links = directory.path / "links"

    def fails() -> None:
        with directory.writing("a = 1"):
            links.mkdir()
            links.joinpath("000-0.parquet").write_bytes(b"a link")
            raise InputError("no space")

    with pytest.raises(InputError, match="no space"):
        fails()
    assert directory.study.read_text() == "a = 1"
    with pytest.raises(InputError, match="holds another run"):
        directory.expect("a = 2")
