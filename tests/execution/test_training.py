"""Training: traces of other tools, studies of models, and what they come out as."""

import json
from pathlib import Path

import numpy as np
import pytest

import sojourn
from refusals import expect_one_line
from sojourn._internal.errors import InputError
from sojourn.store import rows

DATA = Path(__file__).parents[2] / "crates/traces/tests/data"
SWITCH = """\
scheme = "UET NSCC"
hosts = { overhead = 0.0 }
packets = { payload = "4096B", header = "64B", ack = "64B" }
topology = { kind = "single-switch", hosts = %d, rate = "400Gbps", delay = "500ns" }
[workload]
"""
MODEL = """\
kind = "training"
tensor = 2
data = 4
batch = 8
sequence = 256
server = 2
model = { kind = "transformer", layers = 4, width = 512, heads = 8, ffn = 2048, vocabulary = 2048 }
"""
PING = """\
num_ranks 2
rank 0 {
a: calc 1000
b: send 1000000b to 1 tag 7
b requires a
}
rank 1 {
recv 1000000b from 0 tag 7
}
"""


def run_of(tmp_path, workload, hosts=8, **files):
    for name, text in files.items():
        (tmp_path / name.replace("_", ".")).write_text(text)
    study = tmp_path / "study.toml"
    study.write_text(SWITCH % hosts + workload)
    return sojourn.run(study, out=tmp_path / "out")


def table(run):
    """The rows but those of the critical path."""
    (path,) = sorted((run.path / "rows").glob("*.parquet"))
    found = rows.read(path, list(NAMES))
    return found.filter([kind != "step" for kind in found["kind"].to_pylist()]).to_pydict()


NAMES = (
    "kind",
    "operation",
    "label",
    "ranks",
    "size_bytes",
    "finished_ps",
    "slowdown",
    "exposed_ps",
)


def test_a_schedule_computes_and_then_sends(tmp_path):
    """1 us of computing, then 1 MB as 245 packets over two links of 400 Gb/s and 500 ns."""
    found = table(run_of(tmp_path, 'kind = "goal"\nfile = "ping.goal"\n', 2, ping_goal=PING))
    packet = 4160 * 20
    last = 1_000_000 - 244 * 4096 + 64
    arrives = 1_000_000 + 244 * packet + last * 20 + packet + 1_000_000
    assert found["kind"] == ["iteration"]
    # The short packet behind a full one waits for it at the switch.
    assert arrives - packet <= found["finished_ps"][0] <= arrives + 2 * packet
    assert found["exposed_ps"][0] == found["finished_ps"][0] - 1_000_000


@pytest.mark.parametrize(
    ("operation", "size"),
    [
        ("all_reduce", 1 << 20),
        ("all_gather", 4 << 20),
        ("reduce_scatter", 1 << 20),
        ("all_to_all", 1 << 20),
    ],
)
def test_a_trace_of_chakra_takes_its_closed_form(tmp_path, operation, size):
    files = [f'[[workload.rank]]\nfile = "{DATA}/astra-sim/{operation}.{n}.et"\n' for n in range(4)]
    found = table(run_of(tmp_path, 'kind = "chakra"\n' + "".join(files), 4))
    assert found["kind"] == ["collective", "iteration"]
    assert (found["operation"][0], found["ranks"][0]) == (operation.replace("_", "-"), 4)
    assert found["size_bytes"][0] == size
    assert 1 <= found["slowdown"][0] < 1.05


def test_groups_of_chakra_come_from_the_file_beside_the_traces(tmp_path):
    files = [f'[[workload.rank]]\nfile = "{DATA}/astra-sim/all_reduce.{n}.et"\n' for n in range(4)]
    workload = 'kind = "chakra"\ngroups = "groups.json"\n' + "".join(files)
    found = table(run_of(tmp_path, workload, 4, groups_json='{"0": [3, 2, 1, 0]}'))
    assert (found["operation"][0], found["ranks"][0]) == ("all-reduce", 4)
    for text, message in [
        ('{"0": [0, 9]}', 'the group "0" names rank 9, which is not one of 4 ranks'),
        ("[]", "groups.json:1: expected a list of ranks for each name of a group"),
    ]:
        (tmp_path / "groups.json").write_text(text)
        with pytest.raises(InputError) as refused:
            sojourn.run(tmp_path / "study.toml", out=tmp_path / "again")
        assert message in str(refused.value)
        expect_one_line(refused.value)


def test_a_workload_file_of_aicb_runs_layer_by_layer(tmp_path):
    workload = f'kind = "simai"\nranks = 4\nfile = "{DATA}/aicb/all_reduce.txt"\n'
    found = table(run_of(tmp_path, workload, 4))
    sizes = [
        size
        for size, kind in zip(found["size_bytes"], found["kind"], strict=True)
        if kind == "collective"
    ]
    # Gradients of weights go backwards, from the last line to the first.
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-3:] == [16384, 8192, 4096]
    assert all(end is not None for end in found["finished_ps"])


def test_an_iteration_of_a_model_is_shown_and_drawn(tmp_path, command):
    run = run_of(tmp_path, MODEL)
    found = table(run)
    assert set(found["label"]) == {"gradients", "-"}
    assert np.isfinite(found["exposed_ps"][-1])
    shown = command("show", run.path).out
    assert "exposed communication" in shown
    assert "bus bandwidth" in shown
    picture = tmp_path / "timeline.png"
    assert command("plot", run.path, "--kind", "timeline", "--out", picture).code == 0
    assert picture.stat().st_size > 10_000


def test_the_critical_path_adds_up_to_the_iteration(tmp_path, command):
    run = run_of(tmp_path, MODEL)
    shown = command("show", run.path, "--path").out
    assert "gradients" in shown
    assert "network" in shown
    found = json.loads(command("show", run.path, "--path", "--json").out)
    (whole,) = [
        took
        for kind, took in zip(*(table(run)[n] for n in ("kind", "finished_ps")), strict=True)
        if kind == "iteration"
    ]
    assert sum(own["time_ms"] for own in found) == pytest.approx(whole / 1e9)
    assert sum(own["share"] for own in found) == pytest.approx(1)
    assert [own["time_ms"] for own in found] == sorted(
        (own["time_ms"] for own in found), reverse=True
    )
    refused = command("show", run.path, "--path", "--percentiles", "50")
    assert (refused.code, "has no effect with --path" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("workload", "files", "message"),
    [
        (MODEL.replace("data = 4", "data = 3"), {}, "workload.data = 3, expected a divisor of"),
        (
            MODEL.replace("data = 4", "data = 8"),
            {},
            "workload.data = 8, expected a number that makes",
        ),
        (MODEL + 'placement = "rails"\n', {}, "workload.placement"),
        (MODEL + "skew = 1.0\n", {}, "workload.skew = 1.0, expected 0 where every replica"),
        (
            'kind = "collective"\nranks = 6\n'
            'collective = { kind = "double-tree-all-reduce", node = 4 }\n',
            {},
            "a group of 6 ranks has no whole nodes of 4 ranks",
        ),
        ('kind = "collective"\nranks = 9\n', {}, "workload.ranks = 9, expected at least 2"),
        (
            'kind = "goal"\nfile = "a.goal"\n',
            {"a_goal": PING.replace("tag 7", "tag 8", 1)},
            "tag",
        ),
        ('kind = "goal"\nfile = "a.goal"\n', {"a_goal": PING[:60]}, "a.goal"),
        (
            'kind = "goal"\nfile = "a.goal"\n',
            {"a_goal": PING.replace("num_ranks 2", "num_ranks 9")},
            "",
        ),
    ],
)
def test_what_cannot_run_is_one_clear_error(tmp_path, command, workload, files, message):
    for name, text in files.items():
        (tmp_path / name.replace("_", ".")).write_text(text)
    study = tmp_path / "study.toml"
    study.write_text(SWITCH % 8 + workload)
    refused = command("run", study, "--out", tmp_path / "out")
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.err
    expect_one_line(refused.err.removesuffix("\n"))
