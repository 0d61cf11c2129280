"""Code in a run directory of another user: asked for before it is even compiled."""

import os
import pty
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from pwd import getpwuid

import pytest

import sojourn
from conftest import STUDY
from controllers import STUDY as CONTROLLED
from sojourn._core import StudyError
from sojourn._internal import trust
from sojourn._internal.errors import InputError
from sojourn.control import examples
from sojourn.control.loading import load

ANOTHER_USER = 65534
FLOWS = """\
from pathlib import Path

Path(__file__).with_name("ran").touch()


def bursts(hosts, rates, random):
    return {"src": [0], "dst": [1], "size_bytes": [1000], "arrival": ["0s"]}
"""
OF_FLOWS = STUDY.partition("[workload]")[0]
OF_FLOWS += '[workload]\nkind = "python"\nfile = "code/flows.py"\nfunction = "bursts"\n'

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A run whose code has been given to another user."""
    (tmp_path / "mine.py").write_bytes(Path(examples.__file__).with_name("dctcp.py").read_bytes())
    (tmp_path / "mine.toml").write_text(CONTROLLED)
    sojourn.run(tmp_path / "mine.toml", out=tmp_path / "theirs", jobs=1)
    os.chown(code_of(tmp_path / "theirs"), ANOTHER_USER, ANOTHER_USER)
    return tmp_path / "theirs"


def code_of(run: Path) -> Path:
    (kept,) = (run / "code").glob("*.py")
    return kept


def owner() -> str:
    try:
        return getpwuid(ANOTHER_USER).pw_name
    except KeyError:
        return f"user {ANOTHER_USER}"


def test_refused_without_a_terminal_and_run_with_the_option(command, foreign, tmp_path):
    repeat = ("run", foreign / "study.toml", "--out", tmp_path / "mine")
    refused = command(*repeat)
    (said,) = refused.err.splitlines()
    assert (refused.code, refused.out) == (2, "")
    kept = code_of(foreign)
    digest = sha256(kept.read_bytes()).hexdigest()
    for part in (str(kept), f"belongs to {owner()}", digest, "--trust-code"):
        assert part in said
    assert not (tmp_path / "mine").exists()
    assert command(*repeat, "--trust-code").code == 0
    # the copy is the user's own
    assert command("run", tmp_path / "mine/study.toml", "--out", tmp_path / "again").code == 0


def test_python_refuses_likewise(foreign):
    study = foreign / "study.toml"
    with pytest.raises(StudyError, match=r"belongs to .* \(in Python trust_code=True\)"):
        sojourn.run(study)
    assert len(sojourn.run(study, trust_code=True, jobs=1).ledger) == 1
    with pytest.raises(StudyError, match="trust_code=True"):
        sojourn.run(study)  # the decision was for one call


def test_a_begun_run_of_another_user_goes_on_in_processes(command, foreign):
    text = (foreign / "study.toml").read_text()
    begun = [foreign / "study.toml", "--out", foreign, "--set", "run.replications=2"]
    study = foreign / "study.toml"
    study.write_text(text.replace("replications = 1", "replications = 2"))
    assert study.read_text() != text
    assert command("run", *begun, "--jobs", "2").code == 2
    done = command("run", *begun, "--jobs", "2", "--trust-code")
    assert done.code == 0, done.err
    assert len(sojourn.load(foreign).ledger) == 2


@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("y\n", 0), ("\x04", 2)])
def test_asked_at_a_terminal(foreign, tmp_path, answer, code):
    leader, follower = pty.openpty()
    arguments = ["run", foreign / "study.toml", "--out", tmp_path / "mine", "--jobs", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "sojourn", *arguments],
        stdin=follower,
        stdout=subprocess.DEVNULL,
        stderr=follower,
    ) as child:
        os.close(follower)
        said = read_until(leader, "[y/N]: ")
        os.write(leader, answer.encode())
        said += read_until(leader, None)
        assert child.wait(60) == code, said
    os.close(leader)
    assert said.count("Run it? [y/N]") == 1
    assert f"{code_of(foreign)} is code of a run and belongs to {owner()}" in said
    assert (tmp_path / "mine").exists() == (code == 0)


def read_until(terminal: int, end: str | None) -> str:
    """What is shown at a terminal until this comes, or until its other end is closed."""
    said = ""
    while end is None or end not in said:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # so Linux tells that the other end is closed
            break
        if not data:
            break
        said += data.decode(errors="replace")
    return said


def test_not_even_compiled(foreign):
    kept = code_of(foreign)
    kept.write_text("class (:\n")
    os.chown(kept, ANOTHER_USER, ANOTHER_USER)
    with pytest.raises(InputError, match="is code of a run"):
        load(str(kept))
    with pytest.raises(InputError, match="syntax"), trust.answering(trust.always):
        load(str(kept))


def test_functions_that_draw_flows(command, tmp_path):
    run = tmp_path / "theirs"
    (run / "code").mkdir(parents=True)
    (run / "code/flows.py").write_text(FLOWS)
    os.chown(run / "code/flows.py", ANOTHER_USER, ANOTHER_USER)
    (run / "study.toml").write_text(OF_FLOWS)
    repeat = ("run", run / "study.toml", "--out", tmp_path / "mine")
    refused = command(*repeat)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "flows.py is code of a run and belongs to" in refused.err
    assert not (run / "code/ran").exists()
    done = command(*repeat, "--trust-code")
    assert done.code == 0, done.err
    assert (run / "code/ran").exists()


def test_the_same_code_is_asked_for_once(foreign):
    asked = []
    with trust.answering(lambda code: not asked.append(code)):
        load(str(code_of(foreign)))
        load(str(code_of(foreign)))
    assert [code.owner for code in asked] == [owner()]


def test_what_is_no_run_or_ones_own_is_not_asked_for(foreign, tmp_path):
    beside = tmp_path / "theirs.py"
    code_of(foreign).rename(beside)
    load(str(beside))
    mine = foreign / "code/mine.py"
    mine.write_bytes(beside.read_bytes())
    load(str(mine))
    mine.unlink()
    mine.symlink_to(beside)  # of the run, wherever it leads
    with pytest.raises(InputError, match="is code of a run"):
        load(str(mine))


def test_a_link_into_a_run_is_code_of_the_run(foreign, tmp_path):
    link = tmp_path / "link.py"
    link.symlink_to(code_of(foreign))
    with pytest.raises(InputError, match="is code of a run"):
        load(str(link))
    (foreign / "meta.json").unlink()  # which only hides that it is one
    with pytest.raises(InputError, match="is code of a run"):
        load(str(link))
