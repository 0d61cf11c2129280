"""Topologies from files: TOML, JSON and htsim's `.topo`, and a fabric of 16,384 hosts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn
from refusals import expect_one_line
from sojourn._core import StudyError
from sojourn.htsim import fabric, topology_file
from sojourn.htsim.fabric import Tier, Tree

TOPO = Path(__file__).parents[2] / "papers" / "uet" / "topologies" / "leaf_spine_tiny.topo"
GBPS = 10**9
US = 10**6
STUDY = """\
scheme = "DCTCP"
topology = { kind = "file", file = "graph.NAME" }
[workload]
kind = "csv"
file = "flows.csv"
"""
FLOWS = "src,dst,size_bytes,arrival\n0,31,1000000,0us\n1,2,50000,1ms\n"


def as_toml(graph):
    """The same graph, with a table per group of hosts and per link."""
    lines = [f"switches = {json.dumps(graph['switches'])}"]
    for name in ("hosts", "links"):
        for one in graph[name]:
            lines += [f"[[{name}]]", *(f"{key} = {json.dumps(one[key])}" for key in one)]
    return "\n".join(lines) + "\n"


def study(path, name, text):
    """A study with that topology file beside it."""
    (path / f"graph.{name}").write_text(text)
    (path / "flows.csv").write_text(FLOWS)
    (path / f"{name}.toml").write_text(STUDY.replace("NAME", name))
    return path / f"{name}.toml"


def test_all_formats_give_the_fabric_that_htsim_has(tmp_path):
    graph = fabric.graph(topology_file.read(TOPO))
    found = {}
    for name, text in (
        ("topo", TOPO.read_text()),
        ("json", json.dumps(graph)),
        ("toml", as_toml(graph)),
    ):
        jobs = sojourn.run(study(tmp_path, name, text), out=tmp_path / f"out-{name}").rows
        found[name] = jobs["sojourn_ps"].to_pylist()
    assert found["topo"] == found["json"] == found["toml"]
    # The same tree, by the parameters of a leaf-spine.
    known = study(tmp_path, "json", "{}")
    known.write_text(
        known.read_text().replace(
            '{ kind = "file", file = "graph.json" }',
            '{ kind = "leaf-spine", racks = 4, hosts = 8, spines = 2, rate = "100Gbps",'
            ' uplink_rate = "100Gbps", delay = "1us" }',
        )
    )
    jobs = sojourn.run(known, out=tmp_path / "known").rows
    assert jobs["sojourn_ps"].to_pylist() == found["topo"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("topo", "Nodes 32\nTires 2\n", "a topology of htsim, but in its line 2: unknown 'Tires'"),
        ("topo", "Nodes 32\nTiers x\n", "in its line 2: Tiers 'x', expected a whole number"),
        ("topo", "Nodes 32\nTiers 2\n", "a topology of htsim, but no podsize in its head"),
        ("json", '{"switches": ["a"],\n"hosts": 3}', "in line 2 hosts is 3"),
        ("json", '{"switches": ["a"],\n"hosts"}', "a graph in JSON, but in line 2"),
        (
            "json",
            '{"switches": ["a", "b"], "hosts": [{"switch": "a", "count": 2}]}',
            "no link from b on",
        ),
        ("toml", 'switches = ["a"]\nhosts = 3\n', "in line 2 hosts is 3"),
        ("toml", "switches = [\n", "a graph in TOML, but in line"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path, name, text, words):
    with pytest.raises(StudyError) as error:
        sojourn.run(study(tmp_path, name, text), out=tmp_path / "out")
    expect_one_line(error.value)
    assert f"{name}.toml:2: topology.file" in str(error.value)
    assert words in str(error.value)


def test_a_topology_of_htsim_that_is_not_there_is_refused(tmp_path):
    path = study(tmp_path, "topo", "")
    (tmp_path / "graph.topo").unlink()
    with pytest.raises(StudyError, match="a file to read: No such file"):
        sojourn.run(path, out=tmp_path / "out")


MOST_BYTES = 16 * 10**9
SCRIPT = """\
import resource, sys
import sojourn
run = sojourn.run(sys.argv[1], out=sys.argv[2])
assert run.rows["finished_ps"].null_count == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def test_16384_hosts_take_at_most_16_gb(request, tmp_path):
    """Three tiers from a file; each host sends to one of another pod."""
    if not request.config.getoption("full"):
        pytest.skip("several minutes: make test-full measures")
    tiers = tuple(Tier(rate=400 * GBPS, latency=US, switch_latency=0) for _ in range(3))
    tree = Tree(pods=16, racks=32, hosts=32, planes=8, cores=32, tiers=tiers)
    assert tree.all_hosts == 16_384
    path = study(tmp_path, "json", json.dumps(fabric.graph(tree)))
    hosts = range(tree.all_hosts)
    lines = [f"{host},{(host * 5 + 1024 * 3) % tree.all_hosts},100000,0us" for host in hosts]
    lines = [line for line in lines if line.split(",")[0] != line.split(",")[1]]
    (tmp_path / "flows.csv").write_text("\n".join(["src,dst,size_bytes,arrival", *lines]) + "\n")
    command = [sys.executable, "-c", SCRIPT, str(path), str(tmp_path / "out")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) <= MOST_BYTES
