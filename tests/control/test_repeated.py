"""Runs with code of users: kept with the run, begun runs whose code has changed, processes."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import sojourn
from controllers import STUDY
from sojourn._internal.errors import CodeError
from sojourn.control import examples
from sojourn.execution import inputs
from sojourn.execution.execute import Threads, unfinished
from sojourn.execution.place import Execution
from sojourn.execution.processes import Processes
from sojourn.store.rows import read
from sojourn.store.run_directory import RunDirectory

SWEPT = "[run]\nreplications = 2\n[sweep]\nscheme.transport.set.gain = [0.0625, 0.5]\n"
DCTCP = Path(examples.__file__).with_name("dctcp.py").read_text()


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A study of DCTCP as a class, in a folder with its file."""
    (tmp_path / "mine.py").write_text(DCTCP)
    (tmp_path / "mine.toml").write_text(STUDY + SWEPT)
    return tmp_path / "mine.toml"


def rows(run: sojourn.Run) -> list[bytes]:
    return [run.directory.rows(*record.key).read_bytes() for record in run.ledger]


def rows_of_cases(run: sojourn.Run) -> list[list[dict]]:
    """The rows of each case, all replications, without the number of the case."""
    found = []
    for case in sorted({record.case for record in run.ledger}):
        tables = [read(run.directory.rows(*r.key), None) for r in run.ledger if r.case == case]
        found.append([row for t in tables for row in t.drop_columns(["case"]).to_pylist()])
    return found


def test_a_run_has_its_code_and_is_repeated_without_the_file(command, mine, tmp_path):
    first = sojourn.run(mine, out=tmp_path / "first", jobs=1)
    (kept,) = (tmp_path / "first/code").iterdir()
    assert kept.read_text() == DCTCP
    meta = json.loads((tmp_path / "first/meta.json").read_text())
    assert meta["machine"]["python"]
    mine.with_name("mine.py").unlink()
    again = command("run", tmp_path / "first/study.toml", "--out", tmp_path / "again")
    assert again.code == 0, again.err
    assert rows(sojourn.load(tmp_path / "again")) == rows(first)
    assert (tmp_path / "again/study.toml").read_text() == (
        tmp_path / "first/study.toml"
    ).read_text()


def test_files_may_be_swept_alone(command, mine, tmp_path):
    (tmp_path / "mine.py").write_text(DCTCP)
    other = DCTCP.replace("0.0625", "0.125").replace("class Dctcp", "class Other")
    (tmp_path / "other.py").write_text(other)
    mine.write_text(STUDY + '[sweep]\nscheme.transport.file = ["mine.py", "other.py"]\n')
    first = sojourn.run(mine, out=tmp_path / "first")
    again = command("run", tmp_path / "first/study.toml", "--out", tmp_path / "again")
    assert again.code == 0, again.err
    found = rows(first)
    assert rows(sojourn.load(tmp_path / "again")) == found
    assert found[0] != found[1]


def test_one_process_and_several_give_the_same_rows(mine, tmp_path):
    """A plain class runs in a process even alone, so that an endless hook can be ended."""
    alone = sojourn.run(mine, out=tmp_path / "alone", jobs=1)
    several = sojourn.run(mine, out=tmp_path / "several", jobs=2)
    assert rows(several) == rows(alone)
    for jobs in (1, 2):
        assert type(Execution(jobs).place("", apart=True)) is Processes
    assert type(Execution(1).place("")) is Threads


def test_a_process_says_how_far_it_is(mine, tmp_path):
    loop = "for number in range(2000):\n            self._arrived += number - number\n        "
    slow = DCTCP.replace("self._arrived += ack.arrived", f"{loop}self._arrived += ack.arrived")
    mine.with_name("mine.py").write_text(slow)
    study = inputs.study(mine.read_text(), str(mine), [])
    directory, seen = RunDirectory(tmp_path / "out"), []
    with directory.writing(study.resolved()):
        tasks = unfinished(study, directory.finished())
        inputs.provide(study, [], directory.path)
        Processes(2).run(tasks, directory.finished(), directory, seen.append)
    under_way = [status for status in seen if status.cases_done == 0]
    assert {status.simulated_ps for status in under_way} > {0}
    assert max(status.jobs_done for status in under_way) > 0


def test_what_fails_in_a_process_is_told_as_elsewhere(mine):
    mine.with_name("mine.py").write_text(
        DCTCP.replace(
            "self._arrived += ack.arrived", "self._arrived += 1 // (ack.arrived - ack.arrived)"
        )
    )
    with pytest.raises(CodeError, match=r"mine.py:24: ZeroDivisionError.*3 other cases failed too"):
        sojourn.run(mine, jobs=2)


def test_a_begun_run_goes_on_with_its_own_code(command, mine, tmp_path):
    out = tmp_path / "r"
    first = sojourn.run(mine, out=out, jobs=1)
    mine.with_name("mine.py").write_text(DCTCP.replace("0.0625", "0.125"))
    changed = command("run", mine, "--out", out)
    assert changed.code == 2
    assert "r: was started with another version of the code, which is kept in" in changed.err
    first.directory.rows(1, 1).unlink()
    went_on = command("run", out / "study.toml", "--out", out, "--jobs", "1")
    assert went_on.code == 0, went_on.err
    assert rows(sojourn.load(out)) == rows(sojourn.run(out / "study.toml", jobs=1))


def test_code_that_was_changed_in_the_run_is_refused(command, mine, tmp_path):
    sojourn.run(mine, out=tmp_path / "r", jobs=1)
    (kept,) = (tmp_path / "r/code").iterdir()
    kept.write_text(DCTCP.replace("0.0625", "0.125"))
    refused = command("run", tmp_path / "r/study.toml", "--out", tmp_path / "s")
    assert refused.code == 2
    assert "expected the file as it was, its SHA-256 is" in refused.err


def test_a_script_needs_no_guard_for_processes(mine, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import sojourn\nprint(len(sojourn.run({str(mine)!r}, jobs=2).ledger))\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")


@pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")
def test_a_flow_begins_with_the_defaults_of_its_fields(tmp_path):
    """Compiled as well as plain: the digest of a window that is set from one."""
    (tmp_path / "mine.py").write_text(
        "from sojourn.control import Ack, Control\n\n\nclass Mine(Control):\n"
        "    _first: float = 2.5\n    _second: int = 7\n\n"
        "    def acked(self, ack: Ack) -> None:\n        self.cwnd = self._first + self._second\n"
    )
    compiled = "[sweep]\nscheme.transport.compiled = [false, true]\n"
    study = f"window_digest = true\n{STUDY}{compiled}"
    (tmp_path / "mine.toml").write_text(study)
    plain, compiled = rows_of_cases(sojourn.run(tmp_path / "mine.toml", jobs=1))
    assert plain == compiled
