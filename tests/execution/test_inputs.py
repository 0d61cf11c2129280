"""Files that a study names: they are read here, handed in, and kept by a run."""

import os
from pathlib import Path

import pytest

import sojourn
from sojourn import StudyError
from sojourn._core import Progress, Resource, Study
from sojourn._internal.errors import Hint
from sojourn.execution import inputs

EXAMPLES = Path(sojourn.__file__).parent / "control/examples"
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
    with pytest.raises(StudyError) as raised:
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
    with pytest.raises(StudyError, match=r"expected a file that is handed in with the study"):
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


def test_a_long_trace_is_read_from_its_beginning_each_time(tmp_path):
    """It is handed in as an open file, and is not in memory: see `inputs._SMALL`."""
    lines = "".join(f"{number},h,0,Read,0,4096,1\n" for number in range(60_000))
    (tmp_path / "long.csv").write_text(lines)
    text = (
        'model = "array"\ndisk = "HP97560"\nlayout = "single"\nworkload = { kind = "msr",'
        ' file = "long.csv", tick = "100ns", requests = 50 }\n'
    )
    (case,) = inputs.study(text, str(tmp_path / "mine.toml"), []).cases()
    (tmp_path / "long.csv").unlink()
    first, second = (case.run(0, Progress()).columns["finished_ps"] for _ in range(2))
    assert len(lines) > 1 << 20
    assert len(first) == 50
    assert (first == second).all()


FABRIC = """
topology = { kind = "single-switch", hosts = 4 }
workload = { kind = "permutation", size = "10KB" }
scheme = { name = "mine", transport = { kind = "python", file = "mine.py" }, queue = "drop-tail" }
"""
DRAWN = """
topology = { kind = "single-switch", hosts = 4 }
workload = { kind = "python", file = "flows.py", function = "draw" }
scheme = "DCTCP"
"""
FLOWS = """
def draw(hosts, rates, random):
    return {"src": [0], "dst": [1], "size_bytes": [1000], "arrival_ps": [0]}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text((EXAMPLES / "dctcp.py").read_text())
    Path("mine.toml").write_text(FABRIC)
    Path("flows.py").write_text(FLOWS)
    Path("drawn.toml").write_text(DRAWN)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        (FABRIC, "scheme.transport.sha256", "5"),
        (FABRIC, "scheme.transport.class", '["a"]'),
        (FABRIC, "scheme.transport.compiled", "1"),
        (DRAWN, "workload.sha256", "true"),
        (DRAWN, "workload.drawn", "5"),
    ],
)
def test_what_stands_beside_a_file_is_refused_by_its_own_name(here, text, key, value):
    with pytest.raises(StudyError, match=rf"--set {key}=.*: {key} = .*, expected "):
        inputs.study(text, str(here / "mine.toml"), [(key, value)])


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ('kind = "table", file = "a\\u0000b"', "file = .*no file has such a name"),
        ('kind = "python", file = "a\\u0000b", function = "f"', "file = .*no file has such a name"),
        (f'kind = "table", file = "{"x" * 300}"', "file = .*File name too long"),
        (f'kind = "python", file = "{"x" * 300}", function = "f"', "file = .*File name too long"),
        ('kind = "python", file = "flows.py", function = "draw", drawn = "no"', "no such folder"),
        (
            'kind = "python", file = "flows.py", function = "draw", drawn = "a\\u0000"',
            "such folder",
        ),
        ('kind = "python", file = "flows.py", function = "print"', "called with"),
    ],
)
def test_names_that_no_file_has_are_refused_in_a_line(here, workload, said):
    text = DRAWN.replace('kind = "python", file = "flows.py", function = "draw"', workload)
    if "print" in workload:
        Path("flows.py").write_text(f"{FLOWS}\nprint = len\n")
    with pytest.raises(StudyError, match=rf"mine.toml:3: workload\..*{said}"):
        inputs.study(text, str(here / "mine.toml"), [])


@pytest.mark.usefixtures("here")
def test_a_folder_that_is_no_utf8_is_refused_in_a_line():
    folder = os.fsdecode(b"d\xff")
    Path(folder).mkdir()
    with pytest.raises(StudyError, match=r"expected a file to read: its path is not UTF-8"):
        inputs.study(DRAWN, f"{folder}/mine.toml", [])


def test_a_kept_file_that_was_replaced_is_not_run(command, here):
    assert command("run", "mine.toml", "--out", "out").code == 0
    (kept,) = Path("out/code").iterdir()
    kept.write_text(kept.read_text() + "\n# other\n")
    for rows in Path("out/rows").iterdir():
        rows.unlink()
    again = command("run", "mine.toml", "--out", "out")
    assert again.code == 2
    assert again.err.startswith(f"sojourn: cannot keep {here}/mine.py as {kept}: {kept.name} has ")


@pytest.mark.usefixtures("here")
def test_a_drawn_table_that_was_damaged_is_named(command):
    assert command("run", "drawn.toml", "--out", "out").code == 0
    (kept,) = Path("out/flows").iterdir()
    kept.write_bytes(kept.read_bytes() + b"x")
    for rows in Path("out/rows").iterdir():
        rows.unlink()
    again = command("run", "drawn.toml", "--out", "out")
    assert again.code == 2
    assert f"{kept.name} has changed since" in again.err
    assert "remove that file, and it is drawn again" in again.err
    kept.unlink()
    assert command("run", "drawn.toml", "--out", "out").code == 0


def test_a_folder_with_files_of_somebody_is_no_run(command, here):
    mine = here / "out/code/precious.py"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    refused = command("run", "drawn.toml", "--out", "out")
    assert (refused.code, "holds other files" in refused.err) == (2, True)
    assert mine.read_text() == "precious"


@pytest.mark.usefixtures("here")
def test_a_hint_names_the_line_that_called():
    with pytest.warns(Hint, match=r"column \"more\" is ignored") as warned:
        sojourn.run(
            DRAWN.replace('kind = "python", file = "flows.py", function = "draw"', "kind = 'csv'"),
            flows={"src": [0], "dst": [1], "size_bytes": [10], "arrival_ps": [0], "more": [1]},
        )
    assert {warning.filename for warning in warned} == {__file__}
