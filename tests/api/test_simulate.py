"""The Python front: `sojourn.run`, `sojourn.load`, `Run`."""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sojourn
from conftest import STUDY, SWEEP
from sojourn import Precision
from sojourn._internal import build
from sojourn._internal.formats import toml_value
from sojourn.execution import studies


def test_a_study_as_path_text_and_dictionary_is_the_same(study):
    small = {"workload.flows": 20}
    runs = [
        sojourn.run(given, overrides=small)
        for given in (study, str(study), STUDY + SWEEP, tomllib.loads(STUDY + SWEEP))
    ]
    for run in runs:
        assert run.rows.equals(runs[0].rows)
        assert run.rows.num_rows == 4 * 20


def test_a_run_without_out_lives_as_long_as_its_object():
    run = sojourn.run(STUDY, overrides={"workload.flows": 20})
    path = run.path
    assert (path / "cases.parquet").exists()
    del run
    assert not path.exists()


def test_seed_and_replications_go_before_the_studys(study):
    run = sojourn.run(study, seed=7, replications=2, overrides={"workload.flows": 20})
    assert run.meta["seed"] == 7
    assert set(run.cases["replication"].to_pylist()) == {0, 1}
    resolved = tomllib.loads((run.path / "study.toml").read_text())
    assert (resolved["run"]["seed"], resolved["run"]["replications"]) == (7, 2)


def test_a_sweep_is_the_study_with_other_values():
    small = {"workload.flows": 20}
    axes = {"workload.load": (0.2, 0.4), "scheme": ["DCTCP", "MinTCP+pFabric"]}
    run = sojourn.sweep(STUDY, axes, overrides=small)
    assert {*run.ledger.axes()} == {"load", "scheme"}
    assert run.rows.num_rows == 4 * 20
    with pytest.raises(sojourn.StudyError, match="overrides, sweep"):
        sojourn.sweep(STUDY, {"workload.lode": [0.2]}, overrides=None)
    for no_list in ("0.2", 0.2):
        with pytest.raises(sojourn.InputError, match="expected a list of values"):
            sojourn.sweep(STUDY, {"workload.load": no_list})
    with pytest.raises(sojourn.InputError, match="precision '5': expected a percentage"):
        sojourn.run(STUDY, precision=5, overrides=small)


def test_a_loaded_run_is_the_one_that_was_run(simulated):
    loaded = sojourn.load(str(simulated.path))
    assert loaded.rows.equals(simulated.rows)
    assert loaded.cases.equals(simulated.cases)
    assert loaded.summary().to_list() == simulated.summary().to_list()


def test_a_run_introduces_itself(simulated):
    assert (
        repr(simulated)
        == f"<Run 'four hosts': 4 cases x 2 replications, 480 jobs, {simulated.path}>"
    )
    html = simulated._repr_html_()
    assert html.count("<tr>") == 9
    assert "<th>scheme</th><th>load</th>" in html


def test_series_of_all_cases_are_one_table(tmp_path, simulated):
    assert simulated.series.num_rows == 0
    study = f"sample = '1us'\n{STUDY}{SWEEP}"
    sampled = sojourn.run(study, out=tmp_path)
    series = sampled.series.to_pandas()
    assert {"case", "replication", "at_ps", "port", "waiting_bytes", "busy"} <= {*series.columns}
    assert {*series.case} == {*range(4)}


def test_rows_become_a_frame(simulated):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = simulated.rows.to_pandas()
    assert len(frame) == 480
    assert frame["slowdown"].min() >= 1


def test_mistakes_are_exceptions(tmp_path):
    with pytest.raises(sojourn.StudyError):
        sojourn.run(STUDY, overrides={"workload.load": 200})
    with pytest.raises(sojourn.InputError, match="No such file"):
        sojourn.run(tmp_path / "none.toml")
    with pytest.raises(sojourn.InputError, match="jobs is -1, expected 1 to 1,024"):
        sojourn.run(STUDY, jobs=-1)
    with pytest.raises(sojourn.InputError, match="threads is 0, expected 1 to 64"):
        sojourn.run(STUDY, threads=0)
    with pytest.raises(sojourn.InputError, match="not a run directory"):
        sojourn.load(tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'ruin'"):
        sojourn.ruin  # noqa: B018


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("10Gbps", '"10Gbps"'),
        (True, "true"),
        (0.5, "0.5"),
        (np.float64(0.25), "0.25"),
        (np.int64(6), "6"),
        (["a", 1], '["a", 1]'),
        (("a", 1), '["a", 1]'),
        (range(2), "[0, 1]"),
        (np.array([[0.5, 1], [2, 3]]), "[[0.5, 1.0], [2.0, 3.0]]"),
        (float("-inf"), "-inf"),
        (Path("flows.csv"), '"flows.csv"'),
        ({"kind": "min-tcp", "deep": {"a b": [1]}}, '{ kind = "min-tcp", deep = { "a b" = [1] } }'),
        ('q"\\\n', r'"q\"\\\n"'),
    ],
)
def test_values_as_toml(value, text):
    assert toml_value(value, "v") == text
    assert toml_value(tomllib.loads(f"v = {text}")["v"], "v") == text


@pytest.mark.parametrize("value", [None, {1, 2}, b"a", 1j])
def test_values_that_are_none_of_toml(value):
    with pytest.raises(sojourn.InputError, match=r"^topology.k is .*, expected a number, a text"):
        sojourn.run({"topology": {"k": value}})
    with pytest.raises(sojourn.InputError, match=r"^workload.load is "):
        sojourn.run(STUDY, overrides={"workload.load": value})


def test_names_show_up_when_they_are_looked_for():
    assert {"run", "load", "Run", "InputError"} <= set(dir(sojourn))
    assert sojourn.__version__ == sojourn.run(STUDY).meta["version"]
    assert repr(sojourn.StudyError) == "<class 'sojourn.StudyError'>"


def test_a_summary_shows_itself_as_the_table(simulated, command):
    summary = simulated.summary(by="load", percentiles=50)
    assert repr(summary) == str(summary)
    shown = command("show", simulated.path, "--by", "load", "--percentiles", "50").out
    assert shown.rstrip() == str(summary)
    assert "p90" not in shown


def test_the_engine_alone_is_light():
    code = "import sojourn._core, sys; print([m for m in sys.modules if m.startswith('sojourn.')])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "['sojourn._core']"


def test_the_package_is_typed():
    package = Path(sojourn.__file__).parent
    assert (package / "py.typed").exists()
    assert (package / "_core.pyi").exists()


def test_the_commit_is_that_of_the_checkout(tmp_path):
    def git(*arguments):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert build.commit(tmp_path) is None
    (tmp_path / ".git").mkdir()
    assert build.commit(tmp_path) is None
    (tmp_path / ".git").rmdir()
    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    git("tag", "a-tag")
    head = git("rev-parse", "HEAD")
    assert build.commit(tmp_path) == head
    (tmp_path / "file").write_text("two")
    assert build.commit(tmp_path) == f"{head}-dirty"


def test_a_wheel_knows_the_commit_that_it_was_made_from(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "build_info", lambda: {"version": "1", "commit": "abc"})
    assert build.commit(tmp_path) == "abc"


def test_without_git_there_is_no_commit(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert build.commit(tmp_path) is None


def test_an_interrupted_run_without_out_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(_study, directory, **_options):
        (directory.path / "rows").mkdir()
        raise sojourn.Interrupted("stopped")

    monkeypatch.setattr(studies, "simulate", interrupted)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(sojourn.Interrupted, match="keeps nothing"):
        sojourn.run(STUDY)
    assert list(tmp_path.iterdir()) == []


def test_a_precision_that_is_not_reached_is_a_warning():
    asked = Precision(0.001, most=5)
    long = STUDY.replace("flows = 60", "flows = 8000").replace("websearch", "fb-webserver")
    with pytest.warns(UserWarning, match=r"mean within 0.1 % not reached in 1 of 1 cases"):
        run = sojourn.run(long, precision=asked)
    assert len(run.ledger) == 5
    assert len(sojourn.run(long, precision="90%").ledger) == 5
