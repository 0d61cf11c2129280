"""What a run says of the trace it replays, and what becomes of asking for more of it."""

import gzip

import pytest

from sojourn.analysis.summary import longer
from sojourn.store import rows
from sojourn.store.stored_run import StoredRun

STUDY = """model = "array"
disk = { kind = "exponential", mean = "5ms" }
layout = { kind = "raid5", disks = 4 }

[workload]
kind = "fio"
file = "t.log"
"""
HEADER = "fio version 3 iolog\n"


@pytest.fixture
def replayed(command, tmp_path):
    """Runs the study with a trace beside it."""

    def run(trace: str, *arguments: str):
        (tmp_path / "t.log").write_bytes(gzip.compress(trace.encode(), mtime=0))
        (tmp_path / "s.toml").write_text(STUDY)
        return command("run", tmp_path / "s.toml", "--out", tmp_path / "r", *arguments)

    return run


def steady(requests: int) -> str:
    """Reads of 4 KiB in turn, a millisecond apart."""
    lines = (f"{1000 * i} f read {4096 * i} 4096\n" for i in range(requests))
    return HEADER + "".join(lines)


def test_what_was_read_is_said(replayed):
    """Three requests over 2 s: 4, 12 and 8 KiB in the pages 0, 2, 3, 4 and 16, 17."""
    trace = HEADER + (
        "0 f read 0 4096\n1 f trim 0 4096\n1000000 f write 8192 12288\n"
        "2000000 f write 65536 8192\n2000001 f sync 0 0\n2000002 f read 0 0\n"
    )
    assert replayed(trace).out.splitlines()[1] == (
        "trace: 3 requests in 2 s (1.5/s); 33.3 % reads; 4 KiB to 12 KiB, mean 8 KiB;"
        " working set 24 KiB; block 4 KiB; 1 discard left out, 1 other action left out,"
        " 1 request without a length left out"
    )


def test_a_trace_replayed_faster_or_in_larger_blocks_says_so(replayed):
    settings = ["--set", "workload.speed=2", "--set", "block=8KiB"]
    said = replayed(HEADER + "0 f read 0 4096\n0 f read 4096 4096\n", *settings).out
    assert said.splitlines()[1] == (
        "trace: 2 requests in 0 ps, replayed 2 times as fast; 100 % reads; 4 KiB each;"
        " working set 8 KiB; block 8 KiB; 1 request at the time of the one before;"
        " 8.192KB rounded out to 16.384KB by blocks of 8KiB"
    )


def test_rows_have_the_sizes_of_the_trace_and_stripes_their_bytes(replayed, tmp_path):
    assert replayed(steady(8)).code == 0
    (kept,) = (tmp_path / "r" / "rows").glob("*.parquet")
    assert set(rows.read(kept)["size_bytes"].to_pylist()) == {4096}
    resolved = (tmp_path / "r" / "study.toml").read_text()
    assert 'block = "4.096KB"' in resolved
    assert "stripe = 32" in resolved


def test_a_trace_is_not_made_longer(replayed, command, tmp_path):
    assert replayed(steady(100)).code == 0
    shown = command("show", tmp_path / "r").out
    assert "--more" not in shown
    words = longer(StoredRun.open(tmp_path / "r"))
    assert words == "not possible: the trace has 100 requests"
    more = command("run", tmp_path / "r" / "study.toml", "--more", "2.9", "--out", tmp_path / "m")
    assert (more.code, more.err.count("\n")) == (2, 1)
    assert more.err == "sojourn: --more: the trace is replayed to its end, and cannot be longer\n"


def test_more_than_the_trace_has_is_refused(replayed):
    assert "1,000 later requests" not in replayed(steady(20), "--set", "workload.requests=10").out
    more = replayed(steady(20), "--set", "workload.requests=10", "--more", "10")
    assert more.code == 2
    assert "at most the 20 requests that the trace has" in more.err
