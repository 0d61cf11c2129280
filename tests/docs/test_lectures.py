"""The lectures run, and what they assert holds."""

import runpy
from pathlib import Path

import pytest

LECTURES = sorted((Path(__file__).parents[2] / "docs" / "lectures").glob("*.py"))


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_a_lecture(lecture, capsys):
    runpy.run_path(str(lecture))
    assert len(capsys.readouterr().out.splitlines()) >= 4


def test_there_are_lectures():
    assert len(LECTURES) >= 2
