"""The lectures run, and what they assert holds."""

import runpy
import sys
from pathlib import Path

import pytest

LECTURES = sorted((Path(__file__).parents[2] / "docs" / "lectures").glob("*.py"))


@pytest.mark.share
@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_a_lecture(lecture, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(str(lecture))
    assert len(capsys.readouterr().out.splitlines()) >= 4


def test_there_are_lectures():
    assert len(LECTURES) >= 2
