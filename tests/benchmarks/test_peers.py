"""Other simulators beside ours: the same study, nearly the same units and sojourn times."""

import dataclasses

import pytest

import peers
from peers import array, fabric
from peers.simulator import InputError, Outcome, Simulator
from sojourn.benchmarks import engine as bench

STUDY = bench.studies("fabric", fabric.CASE)[fabric.CASE]


@pytest.mark.parametrize("place", [0, 1], ids=["ns-3", "simpy"])
def test_a_simulator_repeats_the_study(place):
    simulator = fabric.simulators()[place]
    if simulator.missing:
        pytest.skip(f"{simulator.name} lacks {simulator.missing}")
    reads, ours = fabric.task(STUDY, flows=8)
    theirs = simulator.run(reads)
    assert theirs.finished == ours.finished == 8
    # Packets and their acknowledgements cross as many links. A connection's own packets (ns-3's
    # opening and closing) and other retransmissions are a few per cent.
    assert theirs.units == pytest.approx(ours.units, rel=0.05)
    # Other draws among the paths, other details of the window after a loss.
    assert theirs.mean_ps == pytest.approx(ours.mean_ps, rel=0.25)
    assert theirs.cpu_s > 0
    assert theirs.peak_mb > 1


@pytest.mark.parametrize("place", [0, 1], ids=["simpy", "ciw"])
def test_a_simulator_repeats_the_array(place):
    simulator = array.simulators()[place]
    if simulator.missing:
        pytest.skip(f"{simulator.name} lacks {simulator.missing}")
    reads, ours = array.task(bench.studies("array", array.CASE)[array.CASE], requests=4000)
    theirs = simulator.run(reads)
    assert theirs.finished == theirs.units == 4000
    # 95 % intervals of 4,000 requests are about 1.5 % wide to each side, on both sides
    assert theirs.mean_ps == pytest.approx(ours.mean_ps, rel=0.04)
    assert theirs.mean_ps == pytest.approx(21.85e9, rel=0.04)
    assert theirs.cpu_s > 0
    assert theirs.peak_mb > 1


def test_lines_of_the_table(monkeypatch):
    outcome = Outcome(units=2_000_000, finished=1, mean_ps=1.0, cpu_s=4.0, peak_mb=9.0)
    monkeypatch.setattr(
        fabric,
        "simulators",
        lambda: [Simulator("quick", None, lambda _: outcome), Simulator("gone", "wings", None)],
    )
    warned = []
    (cost,) = peers.measure("fabric", {fabric.CASE: STUDY}, say=lambda _: None, warn=warned.append)
    assert dataclasses.asdict(cost) == {
        "case": "k6-droptail (quick)",
        "unit": "packet-hop",
        "units": 2_000_000,
        "cpu_s": 4.0,
        "per_cpu_s": 500_000.0,
        "ns_per_unit": 2000.0,
        "instructions_per_unit": None,
        "peak_mb": 9.0,
        "bytes_per_live_flow": None,
    }
    assert warned == ["gone: left out, it lacks wings"]


def test_ns3_repeats_dctcp():
    (simulator,) = fabric.with_dctcp()
    if simulator.missing:
        pytest.skip(f"{simulator.name} lacks {simulator.missing}")
    study = bench.studies("fabric", "python")[fabric.DCTCP]
    reads, ours = fabric.task(study, flows=8)
    theirs = simulator.run(reads)
    assert theirs.finished == ours.finished == 8
    assert theirs.units == pytest.approx(ours.units, rel=0.02)
    assert theirs.mean_ps == pytest.approx(ours.mean_ps, rel=0.05)
    # without marks its senders fill the buffers, and the same flows take longer
    first, flows = reads.split("\n", 1)
    unmarked = simulator.run(f"{first.rpartition(' ')[0]} 0\n{flows}")
    assert unmarked.mean_ps > 1.1 * theirs.mean_ps


@pytest.mark.parametrize("case", ["python", "compiled"])
def test_dctcp_stands_beside_the_classes(monkeypatch, case):
    outcome = Outcome(units=2_000_000, finished=1, mean_ps=1.0, cpu_s=4.0, peak_mb=9.0)
    quick = Simulator("quick", None, lambda _: outcome)
    monkeypatch.setattr(fabric, "with_dctcp", lambda: [quick])
    chosen = bench.studies("fabric", case)
    (cost,) = peers.measure("fabric", chosen, say=lambda _: None, warn=pytest.fail)
    assert (cost.case, cost.per_cpu_s) == ("dctcp (quick)", 500_000.0)


def test_few_benchmarks_have_others_beside_them():
    warned = []
    assert (
        peers.measure("fabric", {"k32-pfabric": ""}, say=lambda _: None, warn=warned.append) == []
    )
    assert warned == ["beside: of the benchmarks, others can only do k6-droptail, python, compiled"]


def test_a_simulator_that_fails_is_named(monkeypatch):
    monkeypatch.setattr(fabric, "_NS3", ["no-such-library"])
    simulator = fabric.simulators()[0]
    if simulator.missing:
        pytest.skip(f"{simulator.name} lacks {simulator.missing}")
    with pytest.raises(InputError, match="ns-3 ended with 1: "):
        simulator.run("")
