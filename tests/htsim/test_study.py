"""What a study says that was made of htsim_uec's arguments."""

import tomllib
from pathlib import Path

import pytest

from sojourn._internal.errors import InputError
from sojourn.htsim import made

TOPOLOGIES = Path(__file__).parents[2] / "papers" / "uet" / "topologies"
CSV = {"kind": "csv", "file": "x.csv"}


@pytest.fixture
def make(tmp_path):
    path = tmp_path / "x.cm"
    path.write_text("Nodes 32\nConnections 1\n0->31 start 3 size 9\n")

    def of(words):
        return made(f"-tm {path} {words}")

    return of


@pytest.fixture
def study(make):
    return lambda words: tomllib.loads(make(words).text(CSV))


TINY = f"-topo {TOPOLOGIES / 'leaf_spine_tiny.topo'}"
TWO = "-tiers 2"


@pytest.mark.parametrize(
    ("words", "path", "value"),
    [
        ("", "scheme.name", "UET NSCC"),
        ("-receiver_cc_only", "scheme.name", "UET RCCC"),
        ("-receiver_cc", "scheme.name", "UET NSCC+RCCC"),
        ("", "completion", "sender"),
        ("", "forwarding", "store-and-forward"),
        ("", "hosts.overhead", 0.0),
        ("", "drain", "997us"),
        ("-end 0", "drain", "32000s"),
        ("-mtu 4096", "packets.payload", "4032B"),
        ("", "run.seed", 13),
        ("-seed 5", "run.seed", 5),
        ("-cwnd 50", "scheme.transport.initial_window", "207500B"),
        ("-cwnd 50 -receiver_cc", "scheme.transport.initial_window", "207500B"),
        ("-cwnd 50 -receiver_cc_only", "scheme.transport.initial_window", None),
        ("", "scheme.transport.initial_window", None),
        ("-sack_threshold 4000", "scheme.transport.ack_every", "4000B"),
        ("-qa_gate 1", "scheme.transport.quick_adapt_gate", 1),
        ("-target_q_delay 4.5", "scheme.transport.target", "4500000ps"),
        ("-load_balancing_algo reps", "scheme.transport.spraying", {"kind": "reps", "paths": 64}),
        ("-paths 8", "scheme.transport.spraying", {"kind": "mixed", "paths": 8}),
        ("", "scheme.transport.last_hop_trims", "quick-adapt"),
        ("", "scheme.transport.timed_out_entropy", "zero"),
        ("", "scheme.transport.untimed_acks", "average"),
        ("", "scheme.transport.average_weight", 0.0125),
        ("-q 100", "scheme.queue.buffer", "415000B"),
        ("-q 100 -ecn 1 2", "scheme.queue.mark_all", "8300B"),
        ("", "scheme.queue.trims", None),
        ("-disable_trim", "scheme.queue.trims", False),
        ("-linkspeed 400000", "topology.rate", "400Gbps"),
        ("-linkspeed 400000", "topology.uplink_rate", "400Gbps"),
        ("-hop_latency 0.5", "topology.delay", "500ns"),
        (f"{TINY} -linkspeed 400000", "topology.rate", "400Gbps"),
        (f"{TINY} -linkspeed 400000", "topology.uplink_rate", "100Gbps"),
        (f"{TINY} -receiver_cc_only", "scheme.transport.oversubscription", 4.0),
        (f"{TINY} -receiver_cc_only -oversubscribed_cc", "scheme.transport.oversubscription", 4.0),
        (f"{TINY} -receiver_cc", "scheme.transport.oversubscription", 1.0),
        (
            f"{TINY} -receiver_cc_only -force_disable_oversubscribed_cc",
            "scheme.transport.oversubscription",
            1.0,
        ),
        (f"{TINY} -failed 0", "failure", None),
        (TINY + " -failed 1", "failure", [
            {"link": f"1.0 - 0.{rack}", "capacity": 0.25} for rack in range(4)
        ]),
    ],
)  # fmt: skip
def test_each_argument_has_its_place(study, words, path, value):
    found = study(words if "-topo" in words else f"{TWO} {words}")
    for key in path.split("."):
        found = found.get(key) if found else None
    assert found == value


def test_the_command_line_is_a_comment(make):
    lines = make(f"{TWO} -o 'a\nb'").text(CSV).splitlines()
    assert lines[0].startswith("# htsim_uec -tm ")
    assert lines[1] == 'title = "x: UET NSCC"'


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        (f"{TWO} -cwnd 9 -receiver_cc_only", ["-cwnd has no effect on results with receiver"]),
        (f"{TINY} -tiers 3 -hop_latency 2", ["-hop_latency has no effect with -topo", "-tiers"]),
        (
            f"{TINY} -linkspeed 400000",
            ["the hosts' links have -linkspeed, 400 Gb/s; htsim_uec paces hosts by it, but has"],
        ),
        (TWO, []),
    ],
)
def test_what_an_author_should_know(make, words, notes):
    found = make(words).notes
    assert len(found) == len(notes)
    assert all(note.startswith(begin) for note, begin in zip(found, notes, strict=True))


def test_a_topology_of_other_hosts(make):
    with pytest.raises(InputError, match="has 128 hosts, expected 32"):
        make(f"-topo {TOPOLOGIES / 'fat_tree_128_4os.topo'}")
