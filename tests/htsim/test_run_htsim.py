"""`sojourn run --htsim`: from a command line of htsim_uec to a row for each connection."""

import csv
from pathlib import Path

import pytest

import sojourn
from sojourn.htsim import made
from sojourn.htsim.arguments import read
from sojourn.htsim.fabric import default_tree
from sojourn.htsim.sizes import base_round_trip, sizes

SHIPPED = Path(__file__).parents[2] / "papers" / "uet"
MATRICES = SHIPPED / "connection_matrices"
STARTS = """\
Nodes 16
Connections 3
Triggers 1
0->13 id 4 start 20 size 4086 recv_done_trigger 1
13->5 id 5 trigger 1 size 4086
2->13 start 3.9 size 4086
trigger id 1 oneshot
"""


@pytest.fixture
def matrix(tmp_path):
    path = tmp_path / "starts.cm"
    path.write_text(STARTS)
    return path


def connections(run):
    with (run / "connections.csv").open(newline="") as file:
        return [*csv.DictReader(file)]


def test_a_row_for_each_connection_in_the_matrixs_order(command, matrix, tmp_path):
    done = command("run", "--htsim", f"-tm {matrix} -log nic", "--out", tmp_path / "r")
    assert done.code == 0
    assert "sojourn: -log has no effect on results" in done.err
    assert "start times are cut to whole microseconds" in done.err
    assert "3 of 3 connections finished: first at 17." in done.out
    rows = connections(tmp_path / "r")
    assert [(row["line"], row["id"], row["src"], row["dst"]) for row in rows] == [
        ("4", "4", "0", "13"),
        ("5", "5", "13", "5"),
        ("6", "", "2", "13"),
    ]
    starts = [float(row["started_us"]) for row in rows]
    assert starts[0] == 20
    assert starts[2] == 3
    # The receiver has it all half of 14.02 us after 20, less what its ACK takes.
    assert 20 + 7.01 < starts[1] < 20 + 14.02
    assert float(rows[0]["duration_us"]) == pytest.approx(14.0227, abs=0.01)


def test_what_is_unfinished_at_the_end_is_named(command, matrix, tmp_path):
    arguments = ("run", "--htsim", f"htsim_uec -tm {matrix} -end 30", "--out", tmp_path / "r")
    done = command(*arguments)
    assert done.code == 0
    said = "2 unfinished at -end, 30 us, of which htsim_uec says nothing"
    assert f"{said}: 0->13 (line 4), 13->5 (line 5)" in done.out
    assert [bool(row["finished_us"]) for row in connections(tmp_path / "r")] == [False, False, True]
    document = command(*arguments, "--json").document
    assert [one["line"] for one in document["connections"]] == [4, 5, 6]
    assert document["connections"][0]["finished_us"] is None


def test_replications_and_settings_are_those_of_any_study(command, matrix, tmp_path):
    more = ("--replications", 2, "--set", "hosts.overhead=0.5", "--threads", 2)
    done = command("run", "--htsim", f"-tm {matrix}", "--out", tmp_path / "r", *more)
    assert done.code == 0
    rows = connections(tmp_path / "r")
    assert [row["replication"] for row in rows] == ["0"] * 3 + ["1"] * 3
    assert rows[0]["finished_us"] != rows[3]["finished_us"]


def test_the_study_that_was_made_gives_the_same(command, matrix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ("run", "--htsim", f"-tm {matrix} -receiver_cc -q 60 -cwnd 20")
    printed = command(*arguments, "--as-study")
    assert printed.code == 0
    assert (tmp_path / "starts.csv").exists()
    Path("mine.toml").write_text(printed.out)
    assert command("run", "mine.toml", "--out", "a", "--quiet").code == 0
    assert command(*arguments, "--out", "b", "--quiet").code == 0
    assert sojourn.load("a").rows.equals(sojourn.load("b").rows)
    # A run directory repeats itself.
    assert command("run", "b/study.toml", "--out", "c", "--quiet").code == 0
    assert sojourn.load("c").rows.equals(sojourn.load("b").rows)


def test_a_file_of_flows_is_not_overwritten(command, matrix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("starts.csv").write_text("mine\n")
    arguments = ("run", "--htsim", f"-tm {matrix}", "--as-study")
    done = command(*arguments)
    assert done.code == 2
    assert "starts.csv already exists; not overwritten" in done.err
    assert Path("starts.csv").read_text() == "mine\n"
    assert command(*arguments, "--out", "other.csv", "--json").document["flows"] == "other.csv"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "run: Missing argument 'STUDY', or --htsim"),
        (["x.toml", "--htsim", "-tm x"], "expected either a STUDY or --htsim, not both"),
        (["--htsim", "-foo"], "--htsim: unknown '-foo', did you mean '-topo'?"),
        (["--htsim", "-tm no.cm"], "cannot read the connection matrix: no.cm: No such file"),
        (["--htsim", "-tm {matrix} -nodes 8"], "-nodes: 8, expected 16, as"),
        (["--htsim", "-tm {matrix} -q 30"], "-q: a queue of 30 packets, expected at least 35"),
        (["--htsim", "-tm {matrix} -end 20"], "line 4: start 20, expected less than -end, 20 us"),
        (["--htsim", "-tm {matrix} -tiers 2"], "16 nodes: without -topo two tiers have k²/2"),
        (["--htsim", "-tm {matrix} -topo no.topo"], "cannot read the topology: no.topo"),
        (["--htsim", "-tm {matrix} -switch_latency 1"], "latencies: a study has one for all links"),
        (
            ["--htsim", "-tm {matrix} -receiver_cc_only -oversubscribed_cc"],
            "-oversubscribed_cc: exp",
        ),
    ],
)
def test_what_is_refused_in_one_line(command, matrix, monkeypatch, words, message):
    monkeypatch.chdir(matrix.parent)
    done = command("run", *(word.format(matrix=matrix) for word in words))
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert [path.name for path in matrix.parent.iterdir()] == ["starts.cm"]


def test_only_a_study_that_was_made_is_printed(command, study):
    done = command("run", study, "--as-study")
    assert done.code == 2
    assert "--as-study: expected --htsim" in done.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", (43, 9, 35, 10_517_040, 100_656_000)),
        ("-q 500", (500, 9, 35, 10_517_040, 1_011_000_000)),
        ("-disable_trim", (215, 9, 35, 14_022_720, 443_280_000)),
        ("-ecn 5 10 -q 20 -target_q_delay 6", (20, 5, 10, 6_000_000, 54_840_000)),
    ],
)
def test_sizes_are_those_of_the_reference(words, expected):
    asked = read(f"-tm x {words}")
    found = sizes(asked, default_tree(3, 16, 10**6, 0, asked.speed))
    packets = (found.buffer, found.mark_from, found.mark_all)
    assert [size // 4150 for size in packets] == [*expected[:3]]
    assert (found.target, found.rto) == expected[3:]


def test_the_base_round_trip_is_that_of_the_reference():
    assert base_round_trip(default_tree(3, 16, 10**6, 0, 10**11), 10**11, 4150) == 14_022_720


def test_a_flow_starts_when_the_sender_of_another_knows(command, tmp_path):
    matrix = tmp_path / "x.cm"
    matrix.write_text(
        "Nodes 16\nConnections 2\nTriggers 1\n"
        "0->13 start 0 size 200000 send_done_trigger 1\n"
        "0->5 trigger 1 size 4086\n"
        "trigger id 1 oneshot\n"
    )
    assert command("run", "--htsim", f"-tm {matrix}", "--out", tmp_path / "r").code == 0
    first, second = connections(tmp_path / "r")
    assert float(first["finished_us"]) == pytest.approx(29.9416, abs=0.01)
    assert second["started_us"] == first["finished_us"]


def test_failed_links_are_in_the_study():
    text = made(f"-tm {MATRICES / 'one.cm'} -failed 1").text({"kind": "csv", "file": "x.csv"})
    assert '\n[[failure]]\nlink = "2.0 > 1.0"\ncapacity = 0.25\n' in text


@pytest.mark.parametrize(
    ("arguments", "tail_us", "within_us"),
    [
        ("-tm connection_matrices/one.cm -sender_cc_only", 176.2, 0.01),
        ("-tm connection_matrices/one.cm -receiver_cc_only", 177.368, 0.01),
        ("-tm connection_matrices/one.cm -sender_cc -receiver_cc", 177.368, 0.01),
        ("-tm connection_matrices/test_cr_1f1m10p.cm -receiver_cc_only", 17.0107, 0.01),
        ("-tm connection_matrices/incast_3-1_overlapped.tm -receiver_cc_only -cwnd 50", 217.08, 2),
    ],
)
def test_small_experiments_end_when_the_reference_says(arguments, tail_us, within_us):
    study, tables = made(arguments, SHIPPED).as_table()
    run = sojourn.run(study, flows=next(iter(tables.values())))
    tail = max(run.rows.column("finished_ps").to_pylist()) / 1e6
    assert tail == pytest.approx(tail_us, abs=within_us)
