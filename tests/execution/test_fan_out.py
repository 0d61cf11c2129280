"""What a host does when very much is due at one moment costs n log n at most, not n squared."""

import resource
from pathlib import Path

import pytest

STUDY = """\
title = "fan-out"
drain = "100s"
workload = {{ kind = "csv", file = "flows.csv" }}
hosts = {{ overhead = {overhead} }}
scheme = {{ name = "DCTCP" }}
[topology]
kind = "single-switch"
hosts = 8
delay = "1us"
"""
CHILDREN = 200_000
# With a walk over all that is due for each of them it took more than half a minute.
MOST_CPU_S = 12


def _cpu_s() -> float:
    """What this process and its finished children have computed, in seconds."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + children.ru_utime


@pytest.mark.parametrize("overhead", [0, 1])
def test_one_parent_with_many_children(command, tmp_path, overhead):
    lines = ["id,src,dst,size_bytes,arrival,after", "0,1,0,1000,0s,"]
    lines += [f"{i},0,{1 + i % 7},1000,,0" for i in range(1, CHILDREN + 1)]
    (tmp_path / "flows.csv").write_text("\n".join(lines) + "\n")
    study = Path(tmp_path / "fan-out.toml")
    study.write_text(STUDY.format(overhead=overhead))
    before = _cpu_s()
    done = command("run", study, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert _cpu_s() - before < MOST_CPU_S
