"""A run ends under a debugger, a profiler and a tracer, each in a process with a time limit."""

import subprocess
import sys
from pathlib import Path

import pytest

import sojourn
from controllers import EXAMPLES, STUDY

BUILT_IN = """
title = "built in"
topology = { kind = "single-switch", hosts = 4 }
workload = { kind = "poisson", sizes = "websearch", load = 0.6, flows = 30 }
scheme = "DCTCP"
"""
STUDIES = {"built-in": BUILT_IN, "plain": STUDY}
LIMIT_S = 120  # many times what any of them takes, also on a busy machine

TRACED = """
import sys
import threading

import sojourn


def trace(*_):
    return trace


threading.{name}(trace)
sys.{name}(trace)
run = sojourn.run("study.toml", out="r", jobs={jobs})
sys.{name}(None)
"""


@pytest.fixture(params=STUDIES)
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with a study of two cases."""
    (tmp_path / "mine.py").write_text((EXAMPLES / "dctcp.py").read_text())
    (tmp_path / "study.toml").write_text(f"{STUDIES[request.param]}\n[run]\nreplications = 2\n")
    return tmp_path


def python(folder: Path, *arguments: str, typed: str = "") -> str:
    """What Python with these arguments prints, which ends well and has run the study."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert len(sojourn.load(folder / "r").ledger) == 2
    return done.stdout


@pytest.mark.parametrize("name", ["settrace", "setprofile"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_ends_while_it_is_traced(folder, name, jobs):
    (folder / "traced.py").write_text(TRACED.format(name=name, jobs=jobs))
    python(folder, "traced.py")


def test_a_run_ends_under_a_profiler(folder):
    python(
        folder, "-m", "cProfile", "-o", "profile", "-m", "sojourn", "run", "study.toml", "-o", "r"
    )
    assert (folder / "profile").stat().st_size > 0


def test_a_run_ends_while_its_coverage_is_measured(folder):
    said = ["-m", "coverage", "run", "--data-file=measured", "-m", "sojourn", "run", "study.toml"]
    python(folder, *said, "-o", "r")
    assert (folder / "measured").stat().st_size > 0


def test_a_debugger_steps_over_a_run(folder):
    (folder / "script.py").write_text(
        'import sojourn\nrun = sojourn.run("study.toml", out="r")\nprint("after", run.title)\n'
    )
    said = python(folder, "-m", "pdb", "script.py", typed="n\nn\nn\nq\n")
    assert "(Pdb) after " in said
