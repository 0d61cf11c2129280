"""Flows that come from Python: tables handed over with a study, and functions that draw them."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sojourn
from sojourn._internal.errors import Hint, InputError
from sojourn.store import flow_tables

FABRIC = {
    "title": "four hosts",
    "scheme": "MinTCP+pFabric",
    "topology": {"kind": "single-switch", "hosts": 4, "rate": "10Gbps", "delay": "1us"},
}
FUNCTION = '''\
"""Arrivals of one size."""

import numpy as np


def inverse(number):
    return 1 / number


def arrivals(hosts, rates, random, load=0.5, flows=30, mode=""):
    print("drawing")
    match mode:
        case "raise":
            inverse(0)
        case "leave":
            raise SystemExit(3)
        case "nothing":
            return None
        case "stray":
            return {"src": ["a"], "dst": [1], "size_bytes": [1], "arrival": ["0s"]}
    src = random.integers(0, hosts, flows)
    dst = (src + random.integers(1, hosts, flows)) % hosts
    gaps = random.exponential(8e5 / (load * rates.sum()), flows)
    size = np.full(flows, 100_000)
    return {"src": src, "dst": dst, "size_bytes": size, "arrival_s": gaps.cumsum()}


def short(hosts, rates):
    return None
'''
STUDY = """\
[topology]
kind = "single-switch"
hosts = 4
[workload]
kind = "python"
file = "flows.py"
function = "arrivals"
[run]
replications = 2
[sweep]
workload.set.load = [0.3, 0.6]
scheme = ["DCTCP", "MinTCP+pFabric"]
"""


@pytest.fixture
def columns():
    """Flows that wait for each other, and a job of them, as NumPy arrays and lists."""
    random = np.random.default_rng(4)
    src = random.integers(0, 4, 40)
    flows = {
        "src": src,
        "dst": (src + random.integers(1, 4, 40)) % 4,
        "size_bytes": random.integers(1, 100_000, 40),
        "arrival_ps": random.integers(0, 10**9, 40),
    }
    answers = [i for i in range(40) if i % 3 == 0]
    back = {
        "src": flows["dst"][answers],
        "dst": src[answers],
        "size_bytes": np.full(len(answers), 5_000),
        "arrival_ps": np.zeros(len(answers), np.int64),
    }
    both = {name: np.concatenate([flows[name], back[name]]) for name in flows}
    return {
        **both,
        "after": [None] * 40 + [[number] for number in answers],
        "delay_s": [None] * 40 + [1e-6] * len(answers),
        "job": [number % 5 for number in range(40 + len(answers))],
    }


@pytest.fixture
def function(tmp_path):
    """A study whose flows a function draws."""
    (tmp_path / "flows.py").write_text(FUNCTION)
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def csv_of(columns):
    def shown(value):
        match value:
            case None:
                return ""
            case [one]:
                return str(one)
        return str(value)

    lines = [",".join(map(shown, row)) for row in zip(*columns.values(), strict=True)]
    return "\n".join([",".join(columns), *lines]) + "\n"


def row_bytes(path):
    return {entry.name: entry.read_bytes() for entry in sorted((path / "rows").iterdir())}


def test_a_table_gives_the_rows_of_its_csv(columns, tmp_path):
    path = tmp_path / "flows.csv"
    path.write_text(csv_of(columns))
    csv = sojourn.run({**FABRIC, "workload": {"kind": "csv", "file": path}}, out=tmp_path / "csv")
    assert {"flow", "job"} == set(csv.rows["kind"].to_pylist())
    frame = pd.DataFrame(columns)
    arrow = pa.table(columns)
    given = {
        "numpy": columns,
        "pandas": frame,
        "chosen": pd.concat([frame, frame])[: len(frame)].set_index(frame.index + 7),
        "arrow": arrow,
        "batch": pa.RecordBatch.from_pydict(columns),
        "pieces": pa.concat_tables([arrow.slice(0, 43), arrow.slice(43)]),
    }
    for name, flows in given.items():
        sojourn.run(FABRIC, flows=flows, out=tmp_path / name)
        assert row_bytes(tmp_path / name) == row_bytes(csv.path), name
        kept = [entry.name for entry in (tmp_path / name / "flows").iterdir()]
        assert kept == [entry.name for entry in (tmp_path / "numpy" / "flows").iterdir()], name


def test_a_run_with_a_table_is_whole(columns, command, tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    swept = {**FABRIC, "sweep": {"scheme": ["DCTCP", "MinTCP+pFabric"]}}
    first = sojourn.run(swept, flows=columns, out=out, replications=2)
    assert first.ledger.size() == "2 cases x 2 replications, 236 jobs"
    (kept,) = (out / "flows").iterdir()
    assert f'sha256 = "{flow_tables.sha256(str(kept))}"' in (out / "study.toml").read_text()
    # What is left is run, with the same table; another table is another study.
    (out / "rows" / "case0001-replication001.parquet").unlink()
    before = row_bytes(out)
    sojourn.run(swept, flows=columns, out=out, replications=2)
    assert before.items() < row_bytes(out).items()
    with pytest.raises(InputError, match=r"holds another run: workload\.file is"):
        sojourn.run(swept, flows={name: column[:40] for name, column in columns.items()}, out=out)
    # It moves, and is repeated from its own study.
    out.rename(tmp_path / "moved")
    assert command("run", tmp_path / "moved" / "study.toml", "--out", again).code == 0
    assert row_bytes(again) == row_bytes(tmp_path / "moved")
    assert (again / "study.toml").read_text() == (tmp_path / "moved" / "study.toml").read_text()


def test_a_kept_table_that_has_changed_is_refused(columns, command, tmp_path):
    sojourn.run(FABRIC, flows=columns, out=tmp_path / "out")
    (kept,) = (tmp_path / "out" / "flows").iterdir()
    pq.write_table(pq.read_table(kept).slice(0, 40), kept)
    result = command("run", tmp_path / "out" / "study.toml", "--out", tmp_path / "again")
    assert result.code == 2
    assert f"expected a file to read: {kept.name} has changed since: its SHA-256 is" in result.err
    kept.write_text("src,dst")
    words = ("--set", f"workload.sha256='{flow_tables.sha256(str(kept))}'")
    result = command("run", tmp_path / "out" / "study.toml", "--out", tmp_path / "again", *words)
    assert "expected a file to read: it is not Parquet (" in result.err
    kept.unlink()
    result = command("run", tmp_path / "out" / "study.toml", "--out", tmp_path / "again")
    assert "expected a file to read: No such file or directory" in result.err
    os.mkfifo(kept)
    result = command("run", tmp_path / "out" / "study.toml", "--out", tmp_path / "again")
    assert "expected a file to read: it is no regular file" in result.err
    assert not (tmp_path / "again").exists()


GOOD = {"src": [0, 1], "dst": [1, 2], "size_bytes": [5, 5], "arrival_s": [0.5, 0.25]}
TABLE = "flows, expected a table of flows, but in its "


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"src": [0, 4]}, TABLE + "row 1: src 4, expected a host from 0 to 3"),
        ({"src": [0, -1]}, TABLE + "row 1: src -1, expected a host from 0 to 3"),
        (
            {"src": [0, 1.5]},
            TABLE + "row 0: src 0.0, expected a host from 0 to 3, in a column of whole numbers",
        ),
        ({"src": ["0", "x"]}, TABLE + 'row 1: src "x", expected a host from 0 to 3'),
        ({"dst": [1, None]}, TABLE + "row 1: dst missing, expected a host from 0 to 3"),
        ({"size_bytes": [5, -5]}, TABLE + "row 1: size_bytes -5, expected 1 to 1000000000000"),
        (
            {"arrival_s": [0.5, np.nan]},
            TABLE + "row 1: arrival_s missing, expected seconds such as 0.25, at most 36000s",
        ),
        (
            {"deadline": [np.inf, 1.0]},
            TABLE + "row 0: deadline inf, expected a time such as 10ms, above zero, at most 36000s;"
            " numbers stand in deadline_s, deadline_ms, deadline_us, deadline_ns or deadline_ps",
        ),
        ({"class": [9, 0]}, TABLE + "row 0: class 9, expected 0 to 7"),
        (
            {"after": ["1", ""], "id": ["a", "b"]},
            TABLE + 'row 0: after "1", expected the id of another row',
        ),
        (
            {"arrival_ps": [1, 2]},
            "flows, expected a table of flows, but among its columns: both arrival_s and"
            " arrival_ps, expected one of them",
        ),
        ({"src": [True, False]}, TABLE + 'row 0: src "true", expected a host from 0 to 3'),
        (
            {"src": [{"a": 1}, {"a": 2}]},
            "column 'src' holds struct<a: int64>, expected whole numbers",
        ),
        (
            {"src": np.array([0, 2**63], np.uint64)},
            "flows: column 'src': Integer value 9223372036854775808 not in range",
        ),
        ({"src": [0, 2**63]}, "flows: column 'src', expected one of numbers or texts: Python int"),
        ({"src": [0]}, "flows: no table: Column 1 named dst expected length 1 but got length 2"),
        ({"src": 0}, "flows: column 'src', expected one of numbers or texts: "),
        ({"src": np.zeros((2, 2))}, "flows: column 'src', expected one of numbers or texts: only"),
        ({name: [] for name in GOOD}, "flows, expected a table of flows, at least one row"),
    ],
)
def test_a_table_is_refused_by_row_and_column(change, message):
    with pytest.raises((sojourn.StudyError, InputError)) as refused:
        sojourn.run(FABRIC, flows={**GOOD, **change})
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        ({}, 'flows, expected a table of flows, but among its columns: no column "src", expected'),
        ({**GOOD, "clas": [1, 2]}, 'among its columns: unknown column "clas", expected src, dst'),
        ("flows.csv", "flows: an object of the type str, expected a table of pandas or Arrow, or"),
    ],
)
def test_what_is_no_table_of_flows(flows, message):
    with pytest.raises((sojourn.StudyError, InputError)) as refused:
        sojourn.run(FABRIC, flows=flows)
    assert message in str(refused.value)


def test_further_columns_are_ignored_with_a_warning(tmp_path):
    further = {"pg": [3, 3], "seen": [True, False], "day": np.array(["2026-01-01"] * 2, "M8[D]")}
    plain = sojourn.run(FABRIC, flows=GOOD, out=tmp_path / "plain")
    with pytest.warns(Hint) as hints:
        more = sojourn.run(FABRIC, flows={**GOOD, **further}, out=tmp_path / "more")
    assert [str(hint.message) for hint in hints] == [
        'flows: columns "pg", "seen", "day" are ignored'
    ]
    assert more.rows.equals(plain.rows)


def test_a_function_draws_for_each_load_and_replication(command, function, tmp_path):
    out = tmp_path / "out"
    result = command("run", function, "--out", out)
    assert result.code == 0, result.err
    assert "drawing" not in result.out
    # A scheme is nothing that a function sees: two loads of two replications.
    kept = sorted((out / "flows").iterdir())
    tables = [pq.read_table(path) for path in kept]
    assert len(tables) == 4
    assert len({str(table["arrival_s"].to_pylist()) for table in tables}) == 4
    assert len({str(table["src"].to_pylist()) for table in tables}) == 2, "one a replication"
    assert {table.num_rows for table in tables} == {30}
    # The same again without the code, from where it is now.
    (tmp_path / "flows.py").unlink()
    out.rename(tmp_path / "moved")
    result = command("run", tmp_path / "moved" / "study.toml", "--out", tmp_path / "again")
    assert result.code == 0, result.err
    assert row_bytes(tmp_path / "again") == row_bytes(tmp_path / "moved")
    assert sorted(path.name for path in (tmp_path / "again" / "flows").iterdir()) == [
        path.name for path in kept
    ]
    summary = sojourn.load(tmp_path / "again").summary(by="load").to_list()
    assert {line["case"]["load"] for line in summary} == {0.3, 0.6}
    # What was not drawn is not there.
    words = ("run", tmp_path / "moved" / "study.toml", "--out", tmp_path / "other")
    result = command(*words, "--seed", 2)
    assert result.code == 2
    assert "it has none for this seed, replication, fabric, `set` and `sha256`" in result.err
    kept = next((tmp_path / "moved" / "flows").iterdir())
    kept.write_bytes(kept.read_bytes() + b" ")
    result = command(*words)
    assert result.code == 2
    assert f"a folder of drawn flows: {kept.name} has changed since" in result.err


def test_a_begun_run_goes_on_with_the_same_code_only(command, function, tmp_path):
    words = ("run", function, "--out", tmp_path / "out")
    assert command(*words).code == 0
    rows = row_bytes(tmp_path / "out")
    (tmp_path / "out" / "rows" / "case0002-replication001.parquet").unlink()
    result = command(*words)
    assert (result.code, row_bytes(tmp_path / "out")) == (0, rows)
    # More replications than the study's are drawn when they are asked for.
    result = command(*words, "--precision", "50%", "--most-replications", 5)
    assert "4 cases x 5 replications" in result.out, result.err
    assert len(list((tmp_path / "out" / "flows").iterdir())) == 10
    (tmp_path / "flows.py").write_text(FUNCTION.replace("100_000", "100_001"))
    result = command(*words)
    assert result.code == 2
    assert "holds another run: workload.sha256 is" in result.err


def test_workloads_of_several_kinds_in_one_sweep(command, function, tmp_path):
    own = '{ kind = "python", file = "flows.py", function = "arrivals" }'
    other = '{ kind = "poisson", load = 0.5, flows = 30 }'
    words = [
        "--set",
        f"sweep.workload=[{own}, {other}]",
        "--set",
        'sweep.workload.deadline=["1ms"]',
    ]
    function.write_text('scheme = "DCTCP"\n' + STUDY.partition("[workload]")[0])
    result = command("run", function, "--out", tmp_path / "out", *words)
    assert result.code == 0, result.err
    (tmp_path / "flows.py").unlink()
    result = command("run", tmp_path / "out" / "study.toml", "--out", tmp_path / "again")
    assert result.code == 0, result.err
    assert row_bytes(tmp_path / "again") == row_bytes(tmp_path / "out")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["workload.set.mode=raise"],
            "flows.py:7: ZeroDivisionError: division by zero"
            " (in arrivals, line 14: inverse(0); inverse, line 7: return 1 / number)",
        ),
        (
            ["workload.set.mode=leave"],
            "flows.py:16: SystemExit: 3 (in arrivals, line 16: raise SystemExit(3))",
        ),
        (
            ["workload.set.mode=nothing"],
            "flows.py: arrivals returned None, expected a table of pandas or Arrow, or a"
            " dictionary of NumPy arrays",
        ),
        (
            ["workload.set.mode=stray"],
            'workload.function = "arrivals", expected a table of flows, but in its row 0: src "a",'
            " expected a host from 0 to 3",
        ),
        (
            ["workload.set.laod=1"],
            "flows.py:10: arrivals(hosts, rates, random, load=0.5, flows=30, mode='') is called"
            " with (hosts, rates, random, laod=..., load=...): got an unexpected keyword argument"
            " 'laod', did you mean 'load'?",
        ),
        (
            ["workload.function=short"],
            "flows.py:28: short(hosts, rates) is called with (hosts, rates, random, load=...):",
        ),
        (
            ["workload.function=arrival"],
            "flows.py has no function 'arrival', did you mean 'arrivals'?",
        ),
        (["workload.set=3"], "workload.set = 3, expected a table of settings"),
        (["workload.file=none.py"], 'none.py", expected a file to read: No such file or'),
        (["workload.file=."], ", expected a file to read: it is no regular file"),
        (["workload.file=broken.py"], "broken.py:1: invalid syntax"),
        (["workload.file=wild.py"], "wild.py:2: NameError: name 'no_such' is not defined (in"),
        (["workload.sha256=abc"], "flows.py has changed since: its SHA-256 is "),
    ],
)
def test_a_function_is_refused_in_one_line(command, function, tmp_path, settings, message):
    (tmp_path / "broken.py").write_text("def arrivals(:\n")
    (tmp_path / "wild.py").write_text("import math\nno_such()\n")
    pairs = [word for setting in settings for word in ("--set", setting)]
    result = command("run", function, "--out", tmp_path / "out", *pairs)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.splitlines()[-1].startswith("sojourn: ")
    assert "Traceback" not in result.err
    assert not (tmp_path / "out").exists()


def test_each_call_runs_the_file_anew(command, function, tmp_path):
    (tmp_path / "flows.py").write_text(
        FUNCTION.replace("    print(", "    count.append(1)\n    print(")
        .replace("def inverse", "count = []\n\n\ndef inverse")
        .replace(
            "    size = np.full(flows, 100_000)", "    size = np.full(flows, 1000 * len(count))"
        )
    )
    result = command("run", function, "--out", tmp_path / "out")
    assert result.code == 0, result.err
    assert set(sojourn.load(tmp_path / "out").rows["size_bytes"].to_pylist()) == {1000}


def test_ctrl_c_ends_a_function(function, tmp_path):
    (tmp_path / "flows.py").write_text(
        "def arrivals(hosts, rates, random, load):\n    while True: pass\n"
    )
    main = threading.main_thread().ident
    timer = threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sojourn.run(function, out=tmp_path / "out")
    timer.join()
    assert not (tmp_path / "out").exists()
