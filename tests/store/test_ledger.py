"""The ledger and the run directory as files."""

import numpy as np
import pyarrow as pa
import pytest

from conftest import Made, make_run
from sojourn._internal.errors import InputError
from sojourn._internal.files import write_text
from sojourn.api.handles import Run
from sojourn.store import rows
from sojourn.store.ledger import Ledger, Record
from sojourn.store.run_directory import RunDirectory, first_difference


def record(case, replication=0, **groups):
    given = {"axes": {}, "parameters": {}, "figures": {}} | groups
    return Record(case, replication, 10, 0.5, 0.25, 0, 0, **given)


def test_records_survive_the_file(tmp_path):
    records = [
        record(
            1, axes={"load": 0.5}, parameters={"topology.k": 6, "on": True}, figures={"hops": 9}
        ),
        record(0, 1, axes={"load": 0.25}, parameters={"topology.k": 4, "on": False}),
        record(0, 0, axes={"load": 0.25}, parameters={"topology.k": 4, "on": False}),
    ]
    path = tmp_path / "cases.parquet"
    Ledger(records).write(path)
    assert list(Ledger.read(path)) == [records[2], records[1], records[0]]


def test_mixed_columns_find_a_common_type():
    table = Ledger(
        [
            record(0, parameters={"number": 1, "either": "22.5KB", "only": 3}),
            record(1, parameters={"number": 0.5, "either": 15}),
        ]
    ).table()
    assert table["number"].to_pylist() == [1.0, 0.5]
    assert table["either"].to_pylist() == ["22.5KB", "15"]
    assert table["only"].to_pylist() == [3, None]


def test_a_name_in_two_places_is_one_column(tmp_path):
    path = tmp_path / "cases.parquet"
    twice = record(0, axes={"k": 6}, parameters={"k": 6, "topology.k": 6}, figures={"jobs": 10})
    Ledger([twice]).write(path)
    (read,) = Ledger.read(path)
    assert (read.axes, read.parameters, read.jobs) == ({"k": 6}, {"topology.k": 6}, 10)


def test_another_parquet_file_is_not_a_ledger(tmp_path):
    path = tmp_path / "cases.parquet"
    rows.write(pa.table({"a": [1]}), path)
    with pytest.raises(InputError, match=r"cases.parquet: not the ledger of a run"):
        Ledger.read(path)


def test_a_broken_file_is_named(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, 2])])
    run.directory.rows(0, 0).write_bytes(b"PAR1 this is not Parquet PAR1")
    with pytest.raises(InputError, match=r"case0000-replication000.parquet: not a readable"):
        run.summary()
    run.directory.cases.write_bytes(b"")
    with pytest.raises(InputError, match=r"cases.parquet: not a readable"):
        Run.open(run.path)


def test_a_record_without_rows_is_not_finished(tmp_path):
    run = make_run(tmp_path / "r", [Made({"load": 0.1}, [1]), Made({"load": 0.2}, [1])])
    run.directory.rows(0, 0).unlink()
    assert [r.key for r in RunDirectory(run.path).ledger()] == [(1, 0)]


def test_half_written_files_are_not_there(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, 2])])
    rows_of_another = run.directory.rows(1, 0)
    rows_of_another.with_name(f".{rows_of_another.name}.partial").write_bytes(b"PAR1")
    (run.path / ".cases.parquet.partial").write_bytes(b"PAR1")
    again = Run.open(run.path)
    assert [r.key for r in again.ledger] == [(0, 0)]
    assert again.rows.num_rows == 2


def test_a_failed_write_leaves_nothing(tmp_path):
    target = tmp_path / "there.txt"
    target.mkdir()  # a file cannot be renamed over a directory
    with pytest.raises(OSError, match=r"there\.txt"):
        write_text(target, "text")
    with pytest.raises(OSError, match=r"there\.txt"):
        rows.write(pa.table({"a": [1]}), target)
    assert [entry.name for entry in tmp_path.iterdir()] == ["there.txt"]


def test_units_of_nothing_become_null():
    columns = {
        "finished_ps": np.array([5, -1]),
        "slowdown": np.array([1.5, np.nan]),
        "query": np.array([-1, 1]),
        "kind": (np.array([1, 0], dtype=np.uint8), ["reply", "query"]),
    }
    table = rows.table_of(3, 1, columns)
    assert table.column_names == ["case", "replication", *columns]
    assert table.to_pylist() == [
        {
            "case": 3,
            "replication": 1,
            "finished_ps": 5,
            "slowdown": 1.5,
            "query": None,
            "kind": "query",
        },
        {
            "case": 3,
            "replication": 1,
            "finished_ps": None,
            "slowdown": None,
            "query": 1,
            "kind": "reply",
        },
    ]


@pytest.mark.parametrize(
    ("there", "here", "found"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ("a.b", 1, 2)),
        ({"a": {"b": 1}}, {"a": {}}, ("a.b", 1, None)),
        ({"a": [1, 2]}, {"a": [1, 3]}, ("a", [1, 2], [1, 3])),
        ({}, {"a": "x"}, ("a", None, "x")),
    ],
)
def test_the_first_difference_of_two_studies(there, here, found):
    assert first_difference(there, here) == found


def test_two_writers_do_not_meet(tmp_path):
    directory = RunDirectory(tmp_path / "r")
    with (
        directory.writing('title = "a"\n'),
        pytest.raises(InputError, match="another run is writing there"),
        directory.writing('title = "a"\n'),
    ):
        pass


def signed(directory, version, commit, *, finished):
    directory.sign({"version": version, "commit": commit}, finished=finished)
    meta = directory.read_meta()
    return meta["commit"], meta.get("earlier_commits")


def test_another_version_is_another_run(tmp_path):
    directory = RunDirectory(tmp_path)
    signed(directory, "1", "a", finished=False)
    with pytest.raises(InputError, match='the version of sojourn is "1" there and "2" here'):
        signed(directory, "2", "a", finished=True)


def test_every_commit_that_had_a_part_is_named(tmp_path):
    directory = RunDirectory(tmp_path)
    assert signed(directory, "1", "a", finished=False) == ("a", None)
    assert signed(directory, "1", "a", finished=False) == ("a", [])
    assert signed(directory, "1", "b", finished=False) == ("b", ["a"])
    assert signed(directory, "1", None, finished=False) == (None, ["a", "b"])
    assert signed(directory, "1", "c", finished=True) == (None, ["a", "b"])


def test_broken_rows_are_not_finished(tmp_path):
    loads = (0.1, 0.2, 0.3, 0.4)
    directory = make_run(tmp_path / "r", [Made({"load": load}, [1, 2]) for load in loads]).directory
    whole = directory.rows(0, 0).read_bytes()
    directory.rows(0, 0).unlink()
    directory.rows(1, 0).write_bytes(whole[:-10])
    rows.write(pa.table({"job": [0]}), directory.rows(2, 0))
    assert [r.key for r in directory.finished()] == [(3, 0)]
