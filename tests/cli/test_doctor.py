"""Which sojourn this is, what is beside it, and words that the shell finishes."""

import re
import shutil
import subprocess

import pytest

from conftest import STUDY, SWEEP, Made, make_run
from sojourn._internal import build, doctor
from sojourn.cli import main


def test_the_version_names_the_build(command):
    said = command("--version").out
    assert re.fullmatch(
        r"sojourn \d+\.\d+\.\d+ \((commit [0-9a-f]{40}(-dirty)?, )?build [0-9a-f]{12}\)\n", said
    )
    assert build.identity() in said


def test_another_file_is_another_build(tmp_path):
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.so").write_text("2")
    first = build.identity.__wrapped__(tmp_path)
    (tmp_path / "notes.txt").write_text("not code")
    assert build.identity.__wrapped__(tmp_path) == first
    (tmp_path / "sub" / "b.so").write_text("3")
    second = build.identity.__wrapped__(tmp_path)
    (tmp_path / "sub" / "b.so").rename(tmp_path / "sub" / "c.so")
    assert len({first, second, build.identity.__wrapped__(tmp_path)}) == 3


def test_every_finding_says_what_it_is_for_and_how_to_get_it(command):
    document = command("doctor", "--json").document
    assert document["build"] == build.identity()
    names = [finding["name"] for finding in document["findings"]]
    assert len(names) == len(set(names))
    assert all(finding["verb"] and finding["get"] for finding in document["findings"])
    found = {finding["name"]: finding["found"] for finding in document["findings"]}
    assert found["pandas"] is not None
    assert (found["git"] is None) == (shutil.which("git") is None)


def test_what_is_missing_is_said_with_its_remedy(command, monkeypatch):
    monkeypatch.setenv("PATH", "")
    lines = command("doctor").out.splitlines()
    (fio,) = (line for line in lines if line.strip().startswith("fio "))
    assert fio.split() == ["fio", "measure", "array", "missing", "apt", "install", "fio"]


def test_a_program_that_fails_is_found_by_its_path(tmp_path, monkeypatch):
    program = tmp_path / "fio"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = {finding.name: finding.found for finding in doctor.findings()}
    assert found["fio"] == str(program)


def test_the_shell_finishes_a_command(capsys, monkeypatch):
    monkeypatch.setenv("_SOJOURN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "sojourn repr")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert main([]) == 0
    assert capsys.readouterr().out == "plain,reproduce\n"


def completed(capsys, monkeypatch, words):
    """What a shell is offered for the last of some words."""
    monkeypatch.setenv("_SOJOURN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line.partition(",")[2] for line in lines if line]


def test_the_shell_finishes_topics_names_paths_and_columns(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(STUDY + SWEEP)
    cases = [Made({"scheme": "A", "load": 0.2}, [1, 2, 3]), Made({"scheme": "B", "load": 0.2}, [1])]
    make_run(tmp_path / "made", cases)
    for words, offered in [
        ("sojourn list sch", ["schemes", "schedulings"]),
        ("sojourn list schemes DC", ["DCTCP"]),
        ("sojourn run s.toml --set topology.ra", ["topology.rate="]),
        ("sojourn show made --by sche", ["scheme"]),
        ("sojourn show made --by load,sche", ["load,scheme"]),
        ("sojourn run nowhere.toml --set work", []),
        ("sojourn show nowhere --by sche", []),
    ]:
        assert sorted(completed(capsys, monkeypatch, words)) == sorted(offered), words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(command, shell):
    script = command("completion", shell)
    assert script.code == 0
    assert "_SOJOURN_COMPLETE" in script.out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script.out, text=True, check=True)


def test_another_shell_is_refused(command):
    result = command("completion", "bsh")
    assert result.code == 2
    assert "did you mean 'bash'" in result.err
