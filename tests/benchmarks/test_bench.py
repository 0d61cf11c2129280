"""Benchmarks: their studies, their contract, their processes."""

import shutil
import sys

import pytest

from conftest import STUDY
from sojourn._core import Progress
from sojourn._internal import classes
from sojourn._internal.errors import InputError
from sojourn._internal.formats import json_text
from sojourn.benchmarks import engine as bench
from sojourn.benchmarks.user_classes import flows_at_once, has_code
from sojourn.execution import inputs

CONTRACT = [
    "case",
    "unit",
    "units",
    "cpu_s",
    "per_cpu_s",
    "ns_per_unit",
    "instructions_per_unit",
    "peak_mb",
    "bytes_per_live_flow",
]


def silent(_text):
    pass


def test_the_benchmarks_of_the_fabric():
    studies = bench.studies("fabric")
    hosts = {}
    for name, text in studies.items():
        (case,) = inputs.study(text, name, []).cases()
        about = case.parameters
        match about["topology.kind"]:
            case "fat-tree":
                hosts[name] = about["topology.k"] ** 3 // 4
            case "leaf-spine":
                hosts[name] = about["topology.racks"] * about["topology.hosts"]
        # 0.47 of the hosts' links are 0.95 of the uplinks
        load = 0.47 if name.startswith("racks5") else 0.6
        assert about["workload.kind"] != "poisson" or about["workload.load"] == load
    assert hosts == {
        "k4-uet": 16,
        "k6-droptail": 54,
        "k6-ideal": 54,
        "k6-pfabric": 54,
        "racks5-answers": 100,
        "racks5-backpressure": 100,
        "racks5-private": 100,
        "racks5-queries": 100,
        "racks5-shared": 100,
        "racks9-ideal": 144,
        "k16-ndp": 1024,
        "k16-pfabric": 1024,
        "k16-uet": 1024,
        "k32-all-at-once": 8192,
        "k32-dctcp": 8192,
        "k32-pfabric": 8192,
    }
    assert bench.studies("fabric", "k6-pfabric") == {"k6-pfabric": studies["k6-pfabric"]}


def test_the_benchmarks_of_the_array():
    studies = bench.studies("array")
    blocks = {}
    for name, text in studies.items():
        (case,) = inputs.study(text, name, []).cases()
        blocks[name] = case.parameters["workload.blocks"]
    assert blocks == {
        "closed": 1,
        "raid01-events": 4,
        "raid01-recursion": 4,
        "raid01-rpo": 4,
        "raid5-writes": 4,
    }


def test_an_array_is_counted_in_requests_and_keeps_none_of_them():
    text = bench.studies("array", "raid5-writes")["raid5-writes"]
    peaks = []
    for requests in (20_000, 400_000):
        study = text.replace("2000000", str(requests))
        cost = bench.measure("array", "small", study, repeat=1, instructions=False, say=silent)
        assert (cost.unit, cost.units) == ("request", requests + 5000)
        peaks.append(cost.peak_mb)
    # a row alone takes 80 bytes
    assert peaks[1] - peaks[0] < 400_000 * 8 / 1e6


def test_a_list_simulated_is_counted_in_deliveries():
    studies = bench.studies("mail")
    assert list(studies) == ["what-if-internet", "what-if-office"]
    study = studies["what-if-office"].replace("1000", "3")
    cost = bench.measure("mail", "office", study, repeat=1, instructions=False, say=silent)
    assert (cost.unit, cost.units) == ("delivery", 1500)


def test_the_contract_of_a_cost():
    said = []
    cost = bench.measure("fabric", "small", STUDY, repeat=2, instructions=False, say=said.append)
    assert list(vars(cost)) == CONTRACT
    assert said == ["small: run 1 of 2", "small: run 2 of 2"]
    assert (cost.case, cost.unit, cost.instructions_per_unit) == ("small", "packet-hop", None)
    assert cost.per_cpu_s == pytest.approx(cost.units / cost.cpu_s)
    assert cost.ns_per_unit == pytest.approx(1e9 / cost.per_cpu_s)
    assert 5 < cost.peak_mb < 500
    assert cost.bytes_per_live_flow is None
    assert '"instructions_per_unit": null' in json_text(vars(cost))


def test_the_ideal_scheduler_is_counted_in_flows():
    study = bench.studies("fabric", "racks9-ideal")["racks9-ideal"]
    cost = bench.measure("fabric", "ideal", study, repeat=1, instructions=False, say=silent)
    (case,) = inputs.study(study, "ideal", []).cases()
    assert (cost.unit, cost.units) == ("flow", case.jobs)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_instructions_are_counted_in_the_event_loop_only():
    cost = bench.measure("fabric", "small", STUDY, repeat=1, instructions=True, say=silent)
    # starting Python alone takes hundreds of millions
    assert 50 < cost.instructions_per_unit < 2000


def test_the_command_prints_the_contract(command, monkeypatch):
    monkeypatch.setattr(bench, "studies", lambda _room, case, **_: {case: STUDY})
    options = ["--repeat", 1, "--no-instructions"]
    result = command("bench", "fabric", "--case", "small", *options, "--json")
    assert (result.code, result.err) == (0, "")
    (cost,) = result.document
    assert list(cost) == CONTRACT
    shown = command("bench", "fabric", "--case", "small", *options)
    assert "small" in shown.out
    assert "ns / unit" in shown.out


def test_a_failing_process_is_one_message(monkeypatch):
    command = [sys.executable, "-c", "raise SystemExit('out of luck')"]
    monkeypatch.setattr(bench, "_CHILD", command)
    with pytest.raises(InputError, match="benchmark 'small' ended with 1: out of luck"):
        bench.measure("fabric", "small", STUDY, repeat=1, instructions=False, say=silent)


@pytest.mark.parametrize("case", ["python", "compiled"])
def test_classes_of_python_stand_beside_what_is_built_in(case):
    studies = bench.studies("fabric", case)
    pairs = list(studies)
    names = ["dctcp", "new-reno", "cubic", "swift", "marking queue", "codel queue"]
    assert pairs[::2] == [f"{name} built in" for name in names]
    assert pairs[1::2] == [name.replace("built in", case) for name in pairs[::2]]
    own = [inputs.study(text, name, []).cases()[0].parameters for name, text in studies.items()]
    assert {about["workload.load"] for about in own} == {0.6}
    assert {has_code(text) for text in bench.studies("fabric").values()} == {False}
    assert [has_code(text) for text in studies.values()] == [False, True] * 6
    (compiled,) = {table["compiled"] for about in own for table in classes.of_case(about).values()}
    assert compiled == (case == "compiled")


def test_the_memory_of_a_flow_of_a_class():
    """Of flows none of which ends before the last begins: more than built in, and not by much."""
    studies = bench.studies("fabric", "python")
    costs = []
    for name in ("dctcp built in", "dctcp python"):
        case = inputs.study(studies[name], name, flows_at_once(studies[name], 1000)).cases()[0]
        columns = case.run(0, Progress()).columns
        assert len(columns["arrived_ps"]) == 1000
        finished = columns["finished_ps"][columns["finished_ps"] >= 0]  # the others never end
        assert columns["arrived_ps"].max() < finished.min()
        brief = studies[name].replace("3000", "30")
        cost = bench.measure(
            "fabric", name, brief, repeat=1, instructions=False, live_flows=60_000, say=silent
        )
        costs.append(cost.bytes_per_live_flow)
    built_in, plain = costs
    assert 100 < built_in < plain < built_in + 400
