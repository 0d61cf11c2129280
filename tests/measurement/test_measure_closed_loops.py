"""Closed loops on real files: the depth is kept, all settings have an effect or are refused."""

import numpy as np
import pytest

import sojourn
from sojourn._core import Study
from sojourn._internal.errors import InputError
from sojourn.execution import inputs
from sojourn.measurement import closed_loops, target
from sojourn.measurement import fio as open_loop
from sojourn.measurement.closed_loops import fio

pytestmark = pytest.mark.alone

STUDY = """\
title = "one disk"
model = "array"
disk = { kind = "exponential", mean = "100us" }
layout = "single"
block = "4KiB"
[workload]
kind = "synthetic"
arrivals = { kind = "closed", depth = 4 }
blocks = 2
requests = 2000
warmup = 100
"""
TENANTS = (
    STUDY.partition("[workload]")[0]
    + """\
[workload]
kind = "tenants"
requests = 1000
warmup = 100
[[workload.tenant]]
name = "deep"
arrivals = { kind = "closed", depth = 4 }
blocks = 1
reads = 0.7
[[workload.tenant]]
name = "alone"
arrivals = { kind = "closed", depth = 1 }
blocks = 4
"""
)
# A head that moves, so that places matter and the simulator permits them.
PLACES = ["disk=ST3500630NS", "positioning=mechanical"]


def why_not() -> str | None:
    """Why this machine cannot measure a closed loop."""
    try:
        open_loop.version()
        fio.engine(direct=False)
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
    target.create(path, 2**22)
    return path


@pytest.fixture
def found(disk):
    return target.find(disk, writes=True, destroy_data=True)


def case(*settings, text=STUDY):
    (one,) = inputs.parse(
        Study, text, "one.toml", [tuple(s.split("=", 1)) for s in settings]
    ).cases()
    return one


def loop(**given):
    usual = {"tenant": "", "depth": 4, "think_us": 0, "size_bytes": 8192, "align_bytes": 4096}
    return closed_loops.Loop(**{**usual, "read_percent": 100, **given})


# What is asked of fio


def test_loops_are_what_the_study_says():
    settings = ["workload.reads=0.25", "workload.places={ kind = 'uniform', align = 4 }", *PLACES]
    asked = case(*settings, "workload.arrivals={ kind = 'closed', depth = 3, think = '2ms' }")
    assert closed_loops.loops_of(asked) == [
        loop(depth=3, think_us=2000, align_bytes=16384, read_percent=25)
    ]
    deep, alone = closed_loops.loops_of(case(text=TENANTS))
    assert deep == loop(tenant="deep", size_bytes=4096, read_percent=70)
    assert alone == loop(tenant="alone", depth=1, size_bytes=16384)


# What is measured


@needs_fio
def test_the_depth_is_kept(command, study, disk, tmp_path):
    out, simulated = tmp_path / "m", tmp_path / "s"
    result = command("measure", "array", disk, study, "--out", out, "--json")
    assert (result.code, result.err) == (0, "")
    figures = result.document["cases"][0]["figures"]
    assert (figures["accesses"], figures["closed_loop_depth"]) == (2100, 4)
    assert figures["fio_engine"] in ("io_uring", "libaio")
    measured = sojourn.load(out).rows
    assert command("run", study, "--out", simulated).code == 0
    assert measured.schema.names == sojourn.load(simulated).rows.schema.names
    assert measured["job"].to_pylist() == [*range(2000)]
    arrived, took = (measured[f"{name}_ps"].to_numpy() for name in ("arrived", "sojourn"))
    assert (np.diff(arrived) >= 0).all()
    assert arrived[0] > 0  # the warm-up came before
    assert (measured["finished_ps"].to_numpy() == arrived + took).all()
    assert set(measured["size_bytes"].to_pylist()) == {8192}
    # the law of interactive response times
    rate = (arrived.size - 1) / (arrived[-1] - arrived[0])
    assert rate * took.mean() == pytest.approx(4, rel=0.05)
    assert figures["closed_loop_depth_kept"] == pytest.approx(rate * took.mean())
    shown = command("show", out, "--json").document[0]["totals"]
    assert shown["jobs_per_s"] == pytest.approx(rate * 1e12, rel=0.2)
    assert shown["jobs_present"] == pytest.approx(4, rel=0.1)
    assert command("compare", out, simulated).code == 0
    again = command("measure", "array", disk, study, "--out", out)
    assert (again.code, "issued late by" in again.out) == (0, False)


@needs_fio
def test_places_and_reads_are_as_asked(found):
    reads = loop(read_percent=70, align_bytes=4096, size_bytes=12288)
    places = []
    read = fio._read

    def spied(place, number, job, size_bytes):
        places.extend(int(one[3]) for one in fio._accesses(place / f"issued{number}"))
        return read(place, number, job, size_bytes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fio, "_read", spied)
        done = fio.run([found], [reads], 20_000, [1, 0])
    # four standard errors
    assert done.write.mean() == pytest.approx(0.3, abs=4 * (0.21 / 20_000) ** 0.5)
    # Each of 1,022 places of three blocks is as likely as any other, the last one too.
    blocks = np.array(places) // 4096
    assert (blocks.min(), blocks.max()) == (0, 1021)
    often = np.bincount(blocks)
    expected = blocks.size / 1022
    squares = ((often - expected) ** 2 / expected).sum()
    assert squares == pytest.approx(1021, abs=4 * (2 * 1021) ** 0.5)


@needs_fio
def test_a_loop_goes_on_until_all_is_done(found):
    done = fio.run([found], [loop(depth=16)], 500, [1, 0])
    assert 500 <= done.loop.size <= 516
    first = done.first(500)
    ends = first.issued_ns + first.took_ns
    # no request with a row is left without company: those after it were issued before it ended
    assert done.issued_ns[-1] > np.sort(ends)[-17] - 10**7
    under_way = (done.issued_ns[:, None] < done.issued_ns[None, :]) & (
        (done.issued_ns + done.took_ns)[:, None] > done.issued_ns[None, :] + 50_000
    )
    assert under_way.sum(axis=0).max() <= 16


@needs_fio
def test_time_to_think_is_that_of_each_request(command, study, disk, tmp_path):
    think = "workload.arrivals={ kind = 'closed', depth = 3, think = '5ms' }"
    options = ["--set", think, "--set", "workload.requests=300", "--set", "workload.warmup=30"]
    result = command("measure", "array", disk, study, *options, "--out", tmp_path / "m")
    assert result.code == 0
    rows = sojourn.load(tmp_path / "m").rows
    arrived, took = (rows[f"{name}_ps"].to_numpy() for name in ("arrived", "sojourn"))
    # Each of the three loops has one turn less than requests: a turn is an answer and a thought.
    turns = arrived.size - 3
    turn = 3 * (arrived[-1] - arrived[0]) / turns
    assert turn > np.sort(took)[:turns].mean() + 5e9
    # A job of depth 3 that stalls would have a third of the requests.
    assert turn < 1.5 * (took.mean() + 5e9)


@needs_fio
def test_tenants_have_rows_of_their_own(command, study, disk, tmp_path):
    study.write_text(TENANTS)
    out = tmp_path / "m"
    options = ["--destroy-data", "--out", out]
    assert command("measure", "array", disk, study, *options).code == 0
    rows = sojourn.load(out).rows
    assert rows.num_rows == 1000
    tenant, blocks, op = (np.array(rows[name].to_pylist()) for name in ("tenant", "blocks", "op"))
    assert set(blocks[tenant == "deep"]) == {1}
    assert set(blocks[tenant == "alone"]) == {4}
    assert set(op[tenant == "alone"]) == {"read"}
    assert (op[tenant == "deep"] == "read").mean() == pytest.approx(0.7, abs=0.1)
    assert command("run", study, "--out", tmp_path / "s").code == 0
    assert rows.schema.names == sojourn.load(tmp_path / "s").rows.schema.names
    shown = command("show", out, "--by", "tenant")
    assert (shown.code, "alone" in shown.out) == (0, True)


@needs_fio
@pytest.mark.parametrize(("layout", "disks"), [("raid0", 3), ("raid1", 2), ("raid10", 4)], ids=str)
def test_requests_of_one_block_go_to_several_targets(command, study, tmp_path, layout, disks):
    kind = "raid1" if layout == "raid1" else f"{{ kind = '{layout}', disks = {disks} }}"
    settings = [f"layout={kind}", "workload.blocks=1", "workload.requests=200"]
    targets = [tmp_path / f"{number}.img" for number in range(disks)]
    options = [part for one in settings for part in ("--set", one)]
    out = tmp_path / "m"
    result = command(
        "measure", "array", *targets, study, *options, "--create", "64KiB", "--out", out
    )
    assert (result.code, result.err) == (0, "")
    assert sojourn.load(out).rows.num_rows == 200


@needs_fio
def test_as_much_of_each_target_is_used_as_the_smallest_has(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, blocks in zip(paths, (8, 64), strict=True):
        target.create(path, blocks * 4096)
    found = [target.find(path, writes=False, destroy_data=False) for path in paths]
    done = fio.run(found, [loop(size_bytes=4096)], 500, [1, 0])
    assert done.loop.size >= 500
    assert [path.stat().st_size for path in paths] == [8 * 4096, 64 * 4096]


# What is refused


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            ["workload.arrivals={ kind = 'closed', depth = 5000 }"],
            ["workload.arrivals.depth = 5000", "at most 4096"],
        ),
        (
            ["workload.arrivals={ kind = 'closed', depth = 300, think = '1ms' }"],
            ["workload.arrivals.depth = 300", "at most 256 with think above 0"],
        ),
        (
            ["workload.arrivals={ kind = 'closed', depth = 1, think = '1500ns' }"],
            ["workload.arrivals.think", "whole microseconds"],
        ),
        (
            ["workload.blocks={ kind = 'geometric', mean = 2 }"],
            ['workload.blocks = "geometric"', "a number"],
        ),
        (["workload.reads=0.123"], ["workload.reads = 0.123", "per cent"]),
        (
            [*PLACES, "workload.places={ kind = 'hot' }"],
            ['workload.places.kind = "hot"', '"uniform" or "anywhere"'],
        ),
        (
            [*PLACES, "workload.places={ kind = 'near' }"],
            ['workload.places.kind = "near"', '"uniform" or "anywhere"'],
        ),
        (
            [*PLACES, "workload.places={ kind = 'sequential' }"],
            ['workload.places.kind = "sequential"', '"uniform" or "anywhere"'],
        ),
        (
            ["workload.arrivals={ kind = 'closed', depth = 4096 }", "workload.blocks=4000"],
            ["67,108,864,000 bytes", "at most 1,073,741,824"],
        ),
        (["block=1000B"], ['block = "1KB"', "multiple of 4096B"]),
        (["join=split-merge", "layout=raid1"], ['join = "split-merge"', '"fork-join"']),
        (["layout={ kind = 'raid0', disks = 4 }"], ['layout.kind = "raid0"', "blocks = 1 for all"]),
        (
            ["layout=raid1", "workload.blocks=1", "workload.reads=0.5"],
            ['layout.kind = "raid1"', "reads = 1.0 for all"],
        ),
        (
            ["layout={ kind = 'raid1', failed = 0 }", "workload.blocks=1"],
            ["layout.failed = 0", '"none"'],
        ),
        (
            ["layout={ kind = 'raid5', disks = 4 }", "workload.blocks=1"],
            ['layout.kind = "raid5"', "one access per request", '"single"'],
        ),
        (["layout=raid1", "workload.blocks=1"], ['layout.kind = "raid1"', "there are 1"]),
    ],
)
def test_what_fio_cannot_do_is_one_message(command, study, disk, settings, words):
    extra = [part for setting in settings for part in ("--set", setting)]
    out = study.parent / "r"
    result = command("measure", "array", disk, study, *extra, "--out", out)
    assert (result.code, result.out) == (2, "")
    (line,) = result.err.splitlines()
    for word in [str(study), *words]:
        assert word in line
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ('"closed", depth = 1 }', '"poisson", rate = "10/s" }'),
            ['tenant "alone": workload.tenant.arrivals.kind = "poisson"', '"closed"'],
        ),
        (
            ("blocks = 4", 'blocks = { kind = "geometric", mean = 2 }'),
            ['tenant "alone": workload.tenant.blocks = "geometric"', "a number"],
        ),
        (("reads = 0.7", "reads = 0.777"), ['tenant "deep": workload.tenant.reads = 0.777']),
    ],
)
def test_a_tenant_that_fio_cannot_be_is_named(command, study, disk, change, words):
    study.write_text(TENANTS.replace(*change))
    result = command("measure", "array", disk, study, "--out", study.parent / "r")
    assert (result.code, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert all(word in line for word in words), line


def test_all_that_thinks_is_counted_together():
    think = 'depth = 200, think = "1ms"'
    text = TENANTS.replace("depth = 4", think).replace("depth = 1", think)
    with pytest.raises(InputError, match="sum to 400, expected at most 256"):
        closed_loops.loops_of(case(text=text))


def test_data_is_not_overwritten_unless_asked(command, study, disk):
    before = disk.read_bytes()
    result = command("measure", "array", disk, study, "--set", "workload.reads=0.5")
    assert (result.code, "the study writes" in result.err) == (2, True)
    assert disk.read_bytes() == before


@needs_fio
def test_a_target_that_is_too_small(command, study, tmp_path):
    small = tmp_path / "small.img"
    target.create(small, 4096)
    result = command("measure", "array", small, study, "--out", tmp_path / "r")
    assert (result.code, "4,096 bytes, too few for" in result.err) == (2, True)


@needs_fio
def test_a_machine_without_an_asynchronous_engine(monkeypatch, found):
    monkeypatch.setattr(fio, "_ENGINES", ("none_such", "nor_this"))
    fio.engine.cache_clear()
    with pytest.raises(InputError, match=r"asynchronous engine.*none_such and nor_this"):
        fio.run([found], [loop()], 10, [1, 0])
    fio.engine.cache_clear()


@needs_fio
def test_what_takes_too_long_is_refused(monkeypatch, found):
    monkeypatch.setattr(fio, "LONGEST_S", 1)
    slow = loop(depth=1, think_us=400_000)
    with pytest.raises(InputError, match=r"in 1 s, and 100,000 are asked for: at most 1 s"):
        fio.run([found], [slow], 100_000, [1, 0])


# What is said of it


def test_a_queue_that_was_not_kept_is_said():
    kept = {"closed_loop_depth": 64, "closed_loop_depth_kept": 63.0}
    assert closed_loops.warnings([{}, kept]) == []
    lacking = {"closed_loop_depth": 32, "closed_loop_depth_kept": 21.0}
    (line,) = closed_loops.warnings([kept, lacking])
    assert "fio kept 21 of 32 requests under way" in line
