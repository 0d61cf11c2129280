"""Files that a study names: they are read here, handed in, and kept by a run."""

import os
from pathlib import Path

import pytest

from sojourn import SpecError
from sojourn._core import Progress, Resource, Study
from sojourn.execution import inputs

STUDY = """
model = "array"
disk = { kind = "empirical", file = FILE }
layout = "single"
workload.kind = "synthetic"
workload.blocks = 1
workload.requests = 100
workload.arrivals = { kind = "poisson", rate = "1/s" }
"""


def study(file: str) -> str:
    return STUDY.replace("FILE", f'"{file}"')


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("nowhere.csv", "No such file or directory"),
        ("folder", "Is a directory"),
        ("pipe", "it is a pipe or a device, and is read more than once: save it first"),
        ("/dev/null", "it is a pipe or a device, and is read more than once: save it first"),
        ("a/b.csv", "there is a file where a folder is expected"),
        (r"a\u0000b.csv", "no file has such a name"),
        ("packed.csv", "it looks like compressed data: unpack it first with `gunzip`"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, file, why):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").touch()
    (tmp_path / "packed.csv").write_bytes(b"\x1f\x8b\x08" + bytes(20))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SpecError) as raised:
        inputs.study(study(file), str(tmp_path / "mine.toml"), [])
    said = str(raised.value)
    assert said.startswith(f"{tmp_path}/mine.toml:3: disk.file = ")
    assert said.endswith(f"expected a file to read: {why}")


def test_what_a_study_needs_is_a_function_of_its_text():
    (need,) = Study.needs(study("times.csv"), "mine.toml", [])
    assert (need.part, need.name, need.settings) == (("disk", "empirical"), "times.csv", {})
    swept = study("times.csv") + '[sweep]\ndisk.file = ["a.csv", "b.csv", "a.csv"]\n'
    assert [need.name for need in Study.needs(swept, "mine.toml", [])] == ["a.csv", "b.csv"]
    assert Study.needs(study("times.csv").replace("disk =", "disc ="), "mine.toml", []) == []
    with pytest.raises(SpecError, match=r"expected a file that is handed in with the study"):
        Study.parse(study("times.csv"), "mine.toml", [])


def test_a_file_is_read_once_and_from_its_beginning_each_time(tmp_path):
    times = tmp_path / "times.csv"
    times.write_text("op,service\nread,1ms\n")
    parsed = inputs.study(study("times.csv"), str(tmp_path / "mine.toml"), [])
    (case,) = parsed.cases()
    times.unlink()
    first, second = (case.run(0, Progress()).columns["sojourn_ps"] for _ in range(2))
    assert (first >= 10**9).all()
    assert (first == second).all()
    assert f'file = "{times}"' in parsed.resolved()


def test_what_is_handed_in_need_not_be_where_the_study_says(tmp_path):
    elsewhere = tmp_path / "other.csv"
    elsewhere.write_text("op,service\nread,1ms\n")
    (need,) = Study.needs(study("times.csv"), "mine.toml", [])
    with elsewhere.open("rb") as opened:
        resource = Resource.file("/here/times.csv", opened.fileno())
    parsed = Study.parse(study("times.csv"), "mine.toml", [], {need.id: resource})
    assert parsed.resources.keys() == {need.id}
    assert 'file = "/here/times.csv"' in parsed.resolved()
    assert not Path("/here").exists()
