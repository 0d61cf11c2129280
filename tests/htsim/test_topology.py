"""htsim's trees: those that it builds itself, and those of its files."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refusals import expect_one_line
from sojourn._internal.errors import InputError
from sojourn.htsim import fabric, topology_file
from sojourn.htsim.fabric import Tier, Tree

SHIPPED = Path(__file__).parents[2] / "papers" / "uet" / "topologies"
GBPS = 10**9
US = 10**6
TINY = (SHIPPED / "leaf_spine_tiny.topo").read_text()
CLOS = (SHIPPED / "fat_tree_128_4os.topo").read_text()


@pytest.fixture
def read(tmp_path):
    def of(text):
        path = tmp_path / "y.topo"
        path.write_text(text)
        return topology_file.read(path)

    return of


def shape(tree):
    return tree.pods, tree.racks, tree.hosts, tree.planes, tree.cores, tree.oversubscription


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("leaf_spine_tiny", (1, 4, 8, 2, 0, 4)),
        ("leaf_spine_1024_oversub", (1, 32, 32, 8, 0, 4)),
        ("leaf_spine_1024_oversub_8-1", (1, 32, 32, 4, 0, 8)),
        ("fat_tree_128_4os", (8, 4, 4, 4, 1, 4)),
        ("fat_tree_1024_4os", (16, 8, 8, 2, 8, 4)),
    ],
)
def test_files_that_come_with_htsim(name, expected):
    tree = topology_file.read(SHIPPED / f"{name}.topo")
    assert shape(tree) == expected
    assert tree.latency == (6 if tree.cores else 4) * US


def test_topologies_of_a_study(read):
    assert fabric.topology(read(TINY), 100 * GBPS) == {
        "kind": "leaf-spine",
        "racks": 4,
        "hosts": 8,
        "spines": 2,
        "uplinks": 1,
        "rate": "100Gbps",
        "uplink_rate": "100Gbps",
        "delay": "1us",
    }
    assert fabric.topology(read(CLOS), 50 * GBPS) == {
        "kind": "clos",
        "pods": 8,
        "racks": 4,
        "hosts": 4,
        "planes": 4,
        "spines": 1,
        "rate": "50Gbps",
        "uplink_rate": "100Gbps",
        "spine_rate": "100Gbps",
        "delay": "1us",
    }


def test_a_full_tree_is_a_fat_tree():
    tree = fabric.default_tree(3, 16, US, 0, 100 * GBPS)
    expected = {"kind": "fat-tree", "k": 4, "rate": "100Gbps", "delay": "1us"}
    assert fabric.topology(tree, 100 * GBPS) == expected
    assert shape(fabric.default_tree(2, 32, US, 0, GBPS)) == (1, 8, 4, 4, 0, 1)


@pytest.mark.parametrize(("tiers", "nodes"), [(3, 17), (3, 6), (2, 16), (3, 1), (3, 10**9)])
def test_numbers_of_hosts_without_a_tree(tiers, nodes):
    with pytest.raises(InputError, match=f"{nodes} nodes: "):
        fabric.default_tree(tiers, nodes, US, 0, GBPS)


def test_parallel_links_and_latencies_of_switches(read):
    text = TINY.replace("Radix_Up 2", "Radix_Up 4").replace("Oversubscribed 4", "Oversubscribed 2")
    text = text.replace("Tier 1\n", "Tier 1\nBundle 2\n").replace("Radix_Down 4", "Radix_Down 8")
    tree = read(text)
    assert (tree.planes, tree.tiers[1].bundle) == (2, 2)
    assert fabric.topology(tree, GBPS)["uplinks"] == 2
    tiers = (Tier(GBPS, 3 * US, 400), Tier(GBPS, US, 200))
    slow = Tree(1, 4, 8, 2, 0, tiers)
    assert slow.latency == 2 * (3 * US + US) + 2 * 400 + 200
    found = fabric.topology(slow, GBPS)
    # Twice each link, between hosts of two racks: the same in all.
    assert (found["delay"], found["host_delay"]) == ("1000300ps", "1999900ps")
    assert slow.latency == 2 * (1_000_300 + 1_999_900) + 2 * 1_000_300


@pytest.mark.parametrize(
    ("tiers", "message"),
    [
        ([Tier(GBPS, US, 0), Tier(GBPS, 2 * US, 0)], "no longer links between switches"),
        ([Tier(GBPS, US, US), Tier(GBPS, US, US)], "from the hosts up, 1500ns, 2us"),
        ([Tier(GBPS, US, 1), Tier(GBPS, US, 0)], "expected whole nanoseconds"),
        ([Tier(GBPS, US, 0), Tier(GBPS, US, 0), Tier(GBPS, 2 * US, 0)], "one for all links"),
        ([Tier(GBPS, US, 0), Tier(GBPS, US, 0), Tier(GBPS, US, 0, 2)], "Bundle: expected 1"),
    ],
)
def test_what_a_study_cannot_say(tiers, message):
    cores = 2 if len(tiers) == 3 else 0
    with pytest.raises(InputError, match=message):
        fabric.topology(Tree(1, 4, 8, 2, cores, tuple(tiers)), GBPS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Nodes 32\n", "", "no nodes in its head"),
        ("Nodes 32", "Nodes 30", "Podsize 32, expected a divisor of Nodes, 30"),
        ("Nodes 32", "Nodes 64", "Podsize 32, expected 64, one pod, in two tiers"),
        ("Tiers 2", "Tiers 4", "line 2: Tiers '4', expected a whole number from 2 to 3"),
        ("Tiers 2", "Tiers 3", "no radix_up of tier 1"),
        ("Podsize", "Podsise", "unknown 'Podsise', did you mean 'podsize'?"),
        ("Tier 1", "Tier 0", "tier 0 again, expected one block for it"),
        ("Tier 1", "Tier 7", "Tier '7', expected a whole number from 0 to 2"),
        ("Radix_Down 8", "Radix_Down 7", "Radix_Down of tier 0 7, expected a divisor of Podsize"),
        ("Radix_Down 8\n", "", "no radix_down of tier 0"),
        ("Radix_Up 2\n", "", "no radix_up of tier 0"),
        ("Radix_Up 2", "Radix_Up 2 3", "'3', expected one number behind Radix_Up"),
        ("Radix_Up 2", "Radix_Up 2\nRadix_Up 2", "Radix_Up again"),
        ("Radix_Up 2", "Bundle 2\nRadix_Up 2", "Bundle 2 of tier 0, expected 1"),
        ("Oversubscribed 4", "Oversubscribed 3", "Oversubscribed 3 of tier 0, expected 4"),
        ("Radix_Down 4", "Radix_Down 3", "Radix_Down of tier 1: 8 links up to it"),
        ("Radix_Down 4", "Radix_Down 8", "Radix_Up 2 of tier 0, expected 1"),
        ("Downlink_Latency_ns 1000\n", "", "no downlink_latency_ns of tier 0"),
    ],
)
def test_what_is_refused(read, old, new, message):
    with pytest.raises(InputError) as refused:
        read(TINY.replace(old, new, 1))
    assert message in str(refused.value)


def test_uplinks_of_the_top(read):
    with pytest.raises(InputError, match="radix_up or queue_up of tier 2, expected none"):
        read(CLOS.replace("Tier 2\n", "Tier 2\nRadix_Up 3\n"))
    with pytest.raises(InputError, match="no block of tier 2"):
        read(CLOS[: CLOS.index("Tier 2")])
    with pytest.raises(InputError, match="Radix_Up 2 of tier 1, expected 1"):
        read(CLOS.replace("Radix_Up 1", "Radix_Up 2"))


def test_failed_links_of_two_tiers_are_whole_spines(read):
    found = [failure["link"] for failure in fabric.failures(read(TINY), 1)]
    assert found == ["1.0 - 0.0", "1.0 - 0.1", "1.0 - 0.2", "1.0 - 0.3"]
    assert len(fabric.failures(read(TINY), 99)) == 8


def test_failed_links_of_three_tiers_lead_down():
    tree = fabric.default_tree(3, 128, US, 0, GBPS)
    # Of the reference's output: the cores of aggregation switch 0 in turn, then of switch 1.
    assert fabric.failures(tree, 5) == [
        {"link": f"2.{core} > 1.{switch}", "capacity": 0.25}
        for switch, core in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 4)]
    ]


KEYS = ["Nodes", "Tiers", "Podsize", "Tier", "Radix_Up", "Radix_Down", "Bundle", "Oversubscribed"]


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    base=st.sampled_from([TINY, CLOS]),
    changes=st.lists(
        st.tuples(st.sampled_from(KEYS), st.integers(-1, 2**70) | st.integers(0, 64)), max_size=3
    ),
    more=st.text(max_size=20),
)
def test_any_file_is_read_or_refused_in_one_line(base, changes, more, tmp_path):
    rows = [line.split() for line in base.splitlines()] + [more.split()]
    for key, value in changes:
        for row in rows:
            if row[:1] == [key]:
                row[1:] = [str(value)]
    path = tmp_path / "y.topo"
    path.write_text("\n".join(map(" ".join, rows)), encoding="utf-8")
    try:
        tree = topology_file.read(path)
        found = fabric.topology(tree, 100 * GBPS)
    except InputError as error:
        expect_one_line(error)
        return
    assert tree.all_hosts >= 2
    assert all(isinstance(value, int | str) for value in found.values())
