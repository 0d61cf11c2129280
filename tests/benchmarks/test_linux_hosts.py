"""The simulator's hosts with Linux against Linux's own TCP, in incasts of flows that end."""

import json

import numpy as np
import pytest

from peers.linux_hosts import hosts
from two_servers import needs_namespaces

# How far the simulator may be off in each figure, and in how many scenarios it may be further off.
BOUNDS = {"mean": 0.10, "p50": 0.10, "p95": 0.15}
POINTS = 10.0


def kept():
    """What a quiet machine's kernel did in each scenario: the mean of its runs."""
    runs = json.loads(hosts.MEASURED.read_text(encoding="utf-8"))["runs"]
    return {name: mean(runs[name]) for name in map(str, hosts.SCENARIOS)}


def mean(runs):
    return {name: np.mean([run[name] for run in runs]) for name in runs[0]}


def apart(model, kernel):
    """The figures in which they are further apart than they may be."""
    times = [name for name, most in BOUNDS.items() if abs(model[name] / kernel[name] - 1) > most]
    shares = [name for name in ("one", "two") if abs(model[name] - kernel[name]) > POINTS]
    return times, shares


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linux")
    return {
        str(one): hosts.simulated(one, folder / str(n)) for n, one in enumerate(hosts.SCENARIOS)
    }


def test_flows_take_as_long_and_time_out_as_often_as_the_kernels(simulated):
    found = {name: apart(simulated[name], kernel) for name, kernel in kept().items()}
    times = {name: apart for name, (apart, _) in found.items() if apart}
    assert len(found) >= 12
    assert len(times) <= len(found) - 10, times
    assert not {name: apart for name, (_, apart) in found.items() if apart}


@pytest.mark.parametrize("control", ["CUBIC", "Reno"])
def test_without_rack_lost_retransmissions_time_out(simulated, tmp_path, control):
    scenario = hosts.Scenario(32, 32, control)
    without = hosts.simulated(scenario, tmp_path, hosts.without("rack", scenario))
    assert without["two"] > 8 * max(simulated[str(scenario)]["two"], 1)
    assert without["p95"] > 1.5 * simulated[str(scenario)]["p95"]


@needs_namespaces
@pytest.mark.alone
@pytest.mark.parametrize(("senders", "size", "control"), [(8, 64, "CUBIC"), (16, 64, "Reno")])
def test_this_machines_kernel_agrees(request, tmp_path, senders, size, control):
    if not request.config.getoption("full"):
        pytest.skip("half a minute each: make test-full measures")
    scenario = hosts.Scenario(senders, size, control)
    (kernel,) = hosts.measured(scenario, tmp_path, 1)
    assert apart(hosts.simulated(scenario, tmp_path), kernel) == ([], [])
