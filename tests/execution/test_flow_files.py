"""Files of other simulators: read as they are, with what a user has to know on standard error."""

import gzip
from pathlib import Path

import pytest

import sojourn

STUDY = """\
scheme = "DCTCP"
topology = { kind = "single-switch", hosts = 8 }
[workload]
"""
CSV = STUDY + 'kind = "csv"\nfile = "flows"\n'
SIZES = STUDY + 'kind = "poisson"\nload = 0.4\nflows = 50\nsizes = "./flows"\n'
SAME = "src,dst,size_bytes,arrival\n2,1,200000,2ms\n3,1,200000,2ms\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(command, study, file):
    Path("study.toml").write_text(study)
    Path("flows").write_bytes(file if isinstance(file, bytes) else file.encode())
    return command("run", "study.toml", "--out", "out", "--json")


@pytest.mark.parametrize(
    ("file", "hints"),
    [
        (SAME, []),
        (SAME.replace("\n", "\r\n"), []),
        (
            "2\n2 1 3 100 200000 0.002\n3 1 3 101 200000 0.002\n",
            [
                'columns "pg", "dport" are ignored',
                "hosts have the numbers of the file, which in HPCC count the switches of its"
                " topology file too",
            ],
        ),
        (
            "Nodes 8\nConnections 2\n2->1 id 1 start 2000000000 size 200000\n"
            "3->1 id 2 start 2000000000 size 200000\n",
            ["start times are read as picoseconds, as csg-htsim does"],
        ),
        (
            "src,dst,size_bytes,arrival_ns,pg\n2,1,200000,2000000,3\n3,1,200000,2e6,3\n",
            ['column "pg" is ignored'],
        ),
    ],
)
def test_the_same_flows_from_any_file(command, file, hints):
    Path("same").write_text(SAME)
    Path("same.toml").write_text(CSV.replace('"flows"', '"same"'))
    expected = sojourn.run("same.toml").rows
    done = run(command, CSV, file)
    assert done.code == 0, done.err
    assert done.document["run"] == "out", "hints are not in the document"
    assert done.err.splitlines() == [
        f"sojourn: {Path('flows').resolve()}: {hint}" for hint in hints
    ]
    assert sojourn.load("out").rows.equals(expected)


def test_percent_are_the_same_sizes(command):
    percent = run(command, SIZES, "0 0\n1000 1\n5000 25\n20000 80\n1000000 100\n")
    assert (percent.code, percent.err) == (0, "")
    rows = sojourn.load("out").rows
    Path("out").rename("percent")
    fractions = run(command, SIZES, "0 0\n1000 0.01\n5000 0.25\n20000 0.8\n1000000 1\n")
    assert (fractions.code, fractions.err) == (0, "")
    assert sojourn.load("out").rows.equals(rows)


def test_a_sweep_says_each_hint_once(command):
    swept = SIZES.replace("load = 0.4\n", "") + "[sweep]\nworkload.load = [0.3, 0.4]\n"
    done = run(command, swept, "2.5\n1 0.25\n2 0.5\n3 0.75\n4 1\n")
    assert done.code == 0, done.err
    assert done.err.count("that of the reading") == 1, done.err


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            gzip.compress(SAME.encode(), mtime=0),
            "it looks like compressed data: unpack it first with `gunzip`",
        ),
        (SAME.encode("utf-16"), "it looks like text in UTF-16: convert it with"),
        (SAME.encode("utf-16-le"), "or text in UTF-16: convert text with `iconv"),
        (b"PK\x03\x04" + bytes(40), "it looks like a ZIP archive or a spreadsheet"),
        (b"\xd4\xc3\xb2\xa1" + bytes(40), "it looks like a capture of packets"),
        (SAME.encode() + b"\xe4", "it is not UTF-8 text: convert it with `iconv -t UTF-8`"),
        ("", "nothing there, expected a line that names columns"),
        ("# a comment\n", "nothing there, expected a line that names columns"),
    ],
)
def test_other_files_are_named(command, file, message):
    done = run(command, CSV, file)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not Path("out").exists()
