"""Other simulators beside ours: the same flows, nearly the same hops and completion times."""

import dataclasses

import pytest

from sojourn import bench, beside
from sojourn.beside import Outcome, Simulator

STUDY = bench.studies("fabric", beside.CASE)[beside.CASE]


@pytest.mark.parametrize("place", [0, 1], ids=["ns-3", "simpy"])
def test_a_simulator_repeats_the_study(place):
    simulator = beside.simulators()[place]
    if simulator.missing:
        pytest.skip(f"{simulator.name} lacks {simulator.missing}")
    reads, ours = beside.task(STUDY, flows=8)
    theirs = simulator.run(reads)
    assert theirs.finished == ours.finished == 8
    # Packets and their acknowledgements cross as many links. A connection's own packets (ns-3's
    # opening and closing) and other retransmissions are a few per cent.
    assert theirs.hops == pytest.approx(ours.hops, rel=0.05)
    # Other draws among the paths, other details of the window after a loss.
    assert theirs.mean_fct_ps == pytest.approx(ours.mean_fct_ps, rel=0.25)
    assert theirs.cpu_s > 0
    assert theirs.peak_mb > 1


def test_lines_of_the_table(monkeypatch):
    outcome = Outcome(hops=2_000_000, finished=1, mean_fct_ps=1.0, cpu_s=4.0, peak_mb=9.0)
    monkeypatch.setattr(
        beside,
        "simulators",
        lambda: [Simulator("quick", None, lambda _: outcome), Simulator("gone", "wings", None)],
    )
    warned = []
    (cost,) = beside.measure({beside.CASE: STUDY}, say=lambda _: None, warn=warned.append)
    assert dataclasses.asdict(cost) == {
        "case": "k6-droptail (quick)",
        "unit": "packet-hop",
        "units": 2_000_000,
        "cpu_s": 4.0,
        "per_cpu_s": 500_000.0,
        "ns_per_unit": 2000.0,
        "instructions_per_unit": None,
        "peak_mb": 9.0,
    }
    assert warned == ["gone: left out, it lacks wings"]


def test_only_one_benchmark_has_others_beside_it():
    warned = []
    assert beside.measure({"k32-pfabric": ""}, say=lambda _: None, warn=warned.append) == []
    assert warned == ["beside: only k6-droptail has others to stand beside"]


def test_a_simulator_that_fails_is_named(monkeypatch):
    monkeypatch.setattr(beside, "_NS3", ["no-such-library"])
    simulator = beside.simulators()[0]
    if simulator.missing:
        pytest.skip(f"{simulator.name} lacks {simulator.missing}")
    with pytest.raises(beside.InputError, match="ns-3 ended with 1: "):
        simulator.run("")
