"""`--trace`: one flow packet by packet, its packets for Wireshark, and who stopped whom."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import sojourn

STUDY = """\
topology = { kind = "fat-tree", k = 4, rate = "100Gbps", delay = "1us" }
packets = { payload = "4000B", header = "64B", ack = "64B" }
scheme = "RoCE PFC only"
[workload]
kind = "csv"
file = "flows.csv"
"""
SENDERS = range(4, 16)
BYTES, PACKETS = 500_000, 125


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Twelve hosts of other pods send to host 0 at once, and host 2 to host 1, which is traced."""
    folder = tmp_path_factory.mktemp("traced")
    lines = [f"2,1,{BYTES},0us", *(f"{host},0,{BYTES},0us" for host in SENDERS)]
    (folder / "flows.csv").write_text("\n".join(["src,dst,size_bytes,arrival", *lines]) + "\n")
    (folder / "incast.toml").write_text(STUDY)
    return folder


@pytest.fixture(scope="module")
def run(traced):
    """The run, by the command."""
    from sojourn.cli import main

    code = main(
        ["run", str(traced / "incast.toml"), "--trace", "flow=0", "--out", str(traced / "out")]
    )
    assert code == 0
    return sojourn.load(traced / "out")


def test_a_trace_has_all_packets_of_the_flow(run):
    event = np.array(run.trace["event"].to_pylist())
    counts = {name: int((event == name).sum()) for name in ("sent", "arrived", "answered", "heard")}
    assert counts == dict.fromkeys(counts, PACKETS)
    assert run.trace["lost"].to_numpy()[event == "sent"].sum() == 0
    (path,) = {
        path
        for path, name in zip(run.trace["path"].to_pylist(), event, strict=True)
        if name == "sent"
    }
    assert path.startswith("host 2 > switch 1 > ")
    assert path.endswith(" > switch 0 > host 1")


def test_who_stopped_whom_is_in_table_and_report(run, command, tmp_path):
    pauses = run.pauses.to_pylist()
    assert sum(own["pauses"] for own in pauses) == run.cases["pauses"][0].as_py()
    longest = max(pauses, key=lambda own: own["paused_ps"])
    shown = command("show", run.path)
    assert shown.code == 0
    words = [f"switch {longest['switch']}", f"{longest['stopped']} {longest['number']}"]
    assert any(all(word in line for word in words) for line in shown.out.splitlines())
    assert "sojourn plot --kind pauses" in shown.out
    page = tmp_path / "report.html"
    assert command("report", run.path, "-o", page).code == 0
    assert f"{words[0]} stops {words[1]}" in page.read_text()


def test_both_pictures_are_drawn(run, command, tmp_path):
    for kind in ("pauses", "trace"):
        assert (
            command("plot", run.path, "--kind", kind, "--out", tmp_path / f"{kind}.png").code == 0
        )
        assert (tmp_path / f"{kind}.png").stat().st_size > 10_000


def test_tshark_reads_the_packets(run):
    """Each packet of data and each answer, at both ends, with the times of the trace."""
    if shutil.which("tshark") is None:
        pytest.skip("no tshark: make programs installs it")
    (capture,) = (run.path / "trace").glob("*.pcapng")
    fields = ["frame.interface_name", "frame.time_epoch", "frame.len", "udp.dstport", "ip.src"]
    words = [f"-e{field}" for field in (*fields, "infiniband.bth.opcode", "infiniband.bth.psn")]
    command = ["tshark", "-r", str(capture), "-Tjson", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    packets = [packet["_source"]["layers"] for packet in json.loads(done.stdout)]
    assert len(packets) == 4 * PACKETS
    assert {packet["udp.dstport"][0] for packet in packets} == {"4791"}
    sent = [
        packet
        for packet in packets
        if packet["frame.interface_name"] == ["sender"] and packet["ip.src"] == ["10.0.0.1"]
    ]
    assert [int(packet["infiniband.bth.psn"][0]) for packet in sent] == list(range(PACKETS))
    assert {packet["frame.len"][0] for packet in sent} == {"4064"}
    event = np.array(run.trace["event"].to_pylist())
    at = run.trace["at_ps"].to_numpy()[event == "sent"] / 1e12
    times = [float(packet["frame.time_epoch"][0]) for packet in sent]
    assert np.allclose(times, at, atol=2e-9)


@pytest.mark.parametrize("words", ["flow", "flow=x", "packet=3", "flow=-1", "flow="])
def test_what_is_no_flow_is_refused(command, traced, words):
    result = command("run", traced / "incast.toml", "--trace", words)
    assert (result.code, result.out) == (2, "")
    assert "expected flow=N, such as flow=17" in result.err


def test_a_flow_that_there_is_not_is_refused(command, traced, tmp_path):
    result = command("run", traced / "incast.toml", "--trace", "flow=13", "--out", tmp_path / "out")
    assert result.code == 2
    assert "trace" in result.err
    assert "expected a flow from 0 to 12" in result.err


def test_pictures_of_nothing_are_refused(command, study, tmp_path):
    assert command("run", study, "--out", tmp_path / "out").code == 0
    for kind, words in (("pauses", "no port of this run"), ("trace", "--trace flow=N")):
        result = command("plot", tmp_path / "out", "--kind", kind)
        assert result.code == 2
        assert words in result.err
