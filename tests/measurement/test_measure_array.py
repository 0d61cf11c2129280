"""Real files as disks: what is issued, what is refused, that it comes back as rows."""

import stat
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn._core import Study
from sojourn._internal.errors import InputError
from sojourn.execution import inputs
from sojourn.measurement import fio, target
from sojourn.measurement.array import Offered

pytestmark = pytest.mark.alone

STUDY = """\
title = "one disk"
model = "array"
disk = "ST3500630NS"
layout = "single"
block = "4KiB"
[workload]
kind = "synthetic"
arrivals = { kind = "poisson", rate = "500/s" }
blocks = { kind = "geometric", mean = 2 }
requests = 100
warmup = 20
"""


def why_not() -> str | None:
    """Why this machine cannot measure an array."""
    try:
        fio.version()
    except InputError as error:
        return str(error)
    return None


needs_fio = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def disk(tmp_path):
    path = tmp_path / "a disk.img"
    target.create(path, 2**20)
    return path


def case(*settings):
    (found,) = inputs.parse(
        Study, STUDY, "one.toml", [tuple(s.split("=", 1)) for s in settings]
    ).cases()
    return found


# What is issued


def test_what_is_offered_is_what_is_simulated():
    one = case("layout={ kind = 'raid01', disks = 4 }", "workload.reads=0.5")
    offered = Offered.of(one, 0)
    rows = sojourn._core.Progress()
    simulated = one.run(0, rows).columns
    firsts = np.flatnonzero(np.diff(offered.request, prepend=-1))
    assert firsts.size == 120
    with_rows = firsts[20:]
    assert offered.arrived_ps[with_rows].tolist() == simulated["arrived_ps"].tolist()
    assert offered.request_blocks[with_rows].tolist() == simulated["blocks"].tolist()
    assert offered.op[with_rows].tolist() == simulated["op"][0].tolist()
    # a mirror's writes are twice as many blocks, its reads as many
    blocks = np.add.reduceat(offered.blocks, firsts)
    assert (blocks == offered.request_blocks[firsts] * (1 + offered.op[firsts])).all()
    assert offered.disk.max() == 3
    assert not offered.phase.any()


@pytest.fixture
def traced(tmp_path):
    """A study of three requests with addresses on two disks that take a block in turn."""
    (tmp_path / "trace.csv").write_text("0,h,0,Read,12288,8192,1\n10000,h,0,Read,0,4096,1\n")
    path = tmp_path / "traced.toml"
    path.write_text(
        'model = "array"\ndisk = "ST3500630NS"\nlayout = { kind = "raid0", disks = 2 }\n'
        'block = "4KiB"\nworkload = { kind = "msr", file = "trace.csv", tick = "100ns" }\n'
    )
    return path


def test_requests_with_addresses_go_to_them(traced):
    (one,) = inputs.study(traced.read_text(), str(traced), []).cases()
    offered = Offered.of(one, 0)
    # blocks 3 and 4 of the array are block 1 of the second disk and 2 of the first
    assert offered.at is not None
    places = zip(offered.request, offered.disk, offered.at, strict=True)
    assert sorted(tuple(map(int, place)) for place in places) == [(0, 0, 2), (0, 1, 1), (1, 0, 0)]


@needs_fio
def test_a_trace_is_measured_where_its_targets_reach_as_far(command, traced, tmp_path):
    disks = [tmp_path / "a.img", tmp_path / "b.img"]
    target.create(disks[0], 3 * 4096)
    target.create(disks[1], 4096)
    result = command("measure", "array", *disks, traced, "--out", tmp_path / "m")
    assert result.code == 2
    assert "b.img: 4,096 bytes, too few for" in result.err
    assert "which goes on to byte 8,192" in result.err
    disks[1].unlink()
    target.create(disks[1], 2 * 4096)
    result = command("measure", "array", *disks, traced, "--out", tmp_path / "m", "--json")
    assert (result.code, result.err) == (0, "")
    assert result.document["cases"][0]["figures"]["accesses"] == 3


def test_raid_5_writes_have_two_phases():
    one = case("layout={ kind = 'raid5', disks = 4 }", "workload.reads=0.0", "workload.blocks=1")
    offered = Offered.of(one, 0)
    assert offered.phase.tolist() == [0, 0, 1, 1] * 120


def test_a_log_of_a_child():
    numbers = np.array([0, 5, 9])
    accesses = fio.Accesses(
        due_us=numbers * 1000 + 999,
        target=np.array([0, 1, 2]),
        write=np.array([False, True, True]),
        offset=numbers * 4096,
        length=np.full(3, 4096),
    )
    assert fio._log(accesses, slice(0, None, 2)).splitlines() == [
        "fio version 2 iolog",
        "target0 add",
        "target2 add",
        "target0 open",
        "target2 open",
        "target0 wait 1000 0",
        "target0 read 0 4096",
        "target2 wait 1009 0",
        "target2 write 36864 4096",
    ]


# What is refused


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["block=1000B"], ['block = "1KB"', "multiple of 4096B"]),
        (["join=split-merge", "layout=raid1"], ['join = "split-merge"', '"fork-join"']),
        (["layout={ kind = 'raid0', disks = 4 }"], ['"raid0"', "4 disks", "there are 1"]),
        (["layout=raid1"], ['"raid1"', "2 disks", "there are 1"]),
    ],
)
def test_what_cannot_be_measured_is_one_message(command, study, disk, settings, words):
    extra = [part for setting in settings for part in ("--set", setting)]
    out = study.parent / "r"
    result = command("measure", "array", disk, study, *extra, "--out", out)
    assert (result.code, result.out) == (2, "")
    (line,) = result.err.splitlines()
    for word in [str(study), *words]:
        assert word in line
    assert not out.exists()


def test_second_phases_are_refused_by_name(command, study, disk, tmp_path):
    extra = ["--set", "layout={ kind = 'raid5', disks = 3 }", "--set", "workload.reads=0.0"]
    result = command("measure", "array", disk, disk, disk, study, *extra, "--out", tmp_path / "r")
    assert result.code == 2
    assert 'layout.kind = "raid5": some of its writes read first' in result.err


def test_another_room_is_refused(command, disk, tmp_path):
    fabric = tmp_path / "fabric.toml"
    fabric.write_text('scheme = "DCTCP"\nworkload = "websearch"\n[topology]\nkind = "fat-tree"\n')
    result = command("measure", "array", disk, fabric)
    assert result.code == 2


def test_targets_that_are_none(command, study, disk, tmp_path):
    nowhere = command("measure", "array", tmp_path / "none", study)
    assert (nowhere.code, "no such file or device; --create" in nowhere.err) == (2, True)
    folder = command("measure", "array", tmp_path, study)
    assert (folder.code, "neither a file nor a block device" in folder.err) == (2, True)
    there = command("measure", "array", disk, study, "--create", "1MiB")
    assert (there.code, "is there already" in there.err) == (2, True)
    size = command("measure", "array", tmp_path / "new", study, "--create", "much")
    assert (size.code, "expected a size such as 1GiB" in size.err) == (2, True)
    assert not (tmp_path / "new").exists()


@needs_fio
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("8KiB", "new"), "8,192 bytes, too few for"),
        (("900TiB", "new"), "GB free, and 989,560.5 GB are asked for"),
        (("1MiB", "none/new"), "is no directory"),
    ],
)
def test_what_cannot_be_made_is_refused_before_it_is_begun(command, study, tmp_path, asked, words):
    size, path = asked[0], tmp_path / asked[1]
    result = command("measure", "array", path, study, "--create", size, "--out", tmp_path / "r")
    assert (result.code, words in result.err) == (2, True)
    assert not path.exists()


@needs_fio
def test_a_file_that_was_made_for_nothing_is_removed(command, study, tmp_path):
    path, taken = tmp_path / "new", tmp_path / "taken"
    taken.mkdir()
    (taken / "study.toml").write_text("of another")
    result = command("measure", "array", path, study, "--create", "1MiB", "--out", taken)
    assert (result.code, path.exists()) == (2, False)


def test_without_fio_no_file_is_made(command, study, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = command("measure", "array", tmp_path / "new", study, "--create", "1MiB")
    assert (result.code, "needs fio" in result.err) == (2, True)
    assert not (tmp_path / "new").exists()


@needs_fio
def test_a_target_that_is_too_small(command, study, tmp_path):
    small = tmp_path / "small.img"
    target.create(small, 8192)
    result = command("measure", "array", small, study, "--out", tmp_path / "r")
    assert (result.code, "8,192 bytes, too few for" in result.err) == (2, True)


def test_data_is_not_overwritten_unless_asked(command, study, disk, monkeypatch):
    before = disk.read_bytes()
    writes = ["--set", "workload.reads=0.5"]
    result = command("measure", "array", disk, study, *writes)
    assert result.code == 2
    assert "the study writes, and what this file holds would be lost; --destroy-data" in result.err
    monkeypatch.setattr(stat, "S_ISBLK", lambda _: True)
    result = command("measure", "array", disk, study, *writes)
    assert (result.code, "what this block device holds would be lost" in result.err) == (2, True)
    assert disk.read_bytes() == before


def test_without_fio(command, study, disk, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = command("measure", "array", disk, study, "--out", tmp_path / "r")
    assert result.code == 2
    assert result.err == "sojourn: measuring an array needs fio (Debian's package of that name)\n"
    assert not (tmp_path / "r").exists()


@needs_fio
def test_an_old_fio_is_refused(monkeypatch):
    monkeypatch.setattr(fio, "_LEAST", (99, 0))
    with pytest.raises(InputError, match=r"needs fio 99\.0 or newer, this is fio-"):
        fio.version()


# What is measured


@needs_fio
def test_a_measurement_gives_the_rows_of_a_simulation(command, study, disk, tmp_path):
    measured, simulated = tmp_path / "m", tmp_path / "s"
    result = command("measure", "array", disk, study, "--out", measured, "--json")
    assert (result.code, result.err) == (0, "")
    (record,) = result.document["cases"]
    assert result.document["measured"].startswith(str(disk))
    assert record["figures"]["accesses"] == 120
    assert command("run", study, "--out", simulated).code == 0
    m, s = (sojourn.load(path).rows for path in (measured, simulated))
    assert m.schema.names == [*s.schema.names, "late_ps"]
    for name in ("job", "kind", "size_bytes", "arrived_ps", "op", "blocks"):
        assert m[name].to_pylist() == s[name].to_pylist()
    took, late = m["sojourn_ps"].to_numpy(), m["late_ps"].to_numpy()
    assert (took > 10**6).all()
    assert (late >= 0).all()
    assert (m["finished_ps"].to_numpy() == m["arrived_ps"].to_numpy() + late + took).all()
    assert m["slowdown"].to_numpy().min() == 1
    again = command("measure", "array", disk, study, "--out", measured)
    assert (again.code, "all measured before" in again.out) == (0, True)
    assert "issued late by" in again.out
    assert command("compare", measured, simulated, "-o", tmp_path / "c.png").code == 0
    assert disk.stat().st_size == 2**20


@needs_fio
def test_a_mirror_on_several_files_is_written(command, study, tmp_path):
    disks = [tmp_path / f"{number}.img" for number in range(4)]
    layout = ["--set", "layout={ kind = 'raid01', disks = 4 }", "--set", "workload.reads=0.5"]
    options = ["--create", "256KiB", "--children", "5", "--out", tmp_path / "m"]
    result = command("measure", "array", *disks, study, *layout, *options)
    assert (result.code, result.err) == (0, "")
    rows = sojourn.load(tmp_path / "m").rows
    assert set(rows["op"].to_pylist()) == {"read", "write"}
    assert [path.stat().st_size for path in disks] == [2**18] * 4


@needs_fio
def test_accesses_that_wait_for_a_child_are_counted(disk):
    found = target.find(disk, writes=False, destroy_data=False)
    zeros = np.zeros(200, dtype=np.int64)
    accesses = fio.Accesses(zeros, zeros, zeros > 0, zeros, zeros + 4096)
    done = fio.replay([found], accesses, children=1)
    assert done.queued.sum() == 199
    # one after the other
    assert (np.diff(done.issued_ns) > -2e6).all()


def test_holes_are_noticed(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(2**20)
    found = target.find(Path(path), writes=False, destroy_data=False)
    assert (found.size_bytes, found.whole, found.device) == (2**20, False, False)
