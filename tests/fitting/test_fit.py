"""Devices learnt from runs: services, how many at once, predictions of other loads."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sojourn
from sojourn.fitting import MOST_SERVERS, Serving, _alone, fit, loads, mean_sojourn
from sojourn.fitting.judge import _mean_sojourn

STUDY = """\
title = "a device"
model = "array"
{disk}
layout = "single"
[workload]
kind = "synthetic"
arrivals = {{ kind = "poisson", rate = "1/s" }}
blocks = 1
requests = 20000
reads = {reads}
[sweep]
workload.arrivals.rate = [{rates}]
"""
PAPER = 'disk = "ST3500630NS"'
RATES = '"3/s", "30/s", "45/s"'


def run_of(path: Path, disk=PAPER, rates=RATES, reads=1.0):
    return sojourn.run(STUDY.format(disk=disk, rates=rates, reads=reads), out=path)


def test_the_mean_of_known_queues():
    spread = np.array([0.0, 2.0])  # as exponential services: the mean is 1, and so is the variance
    # M/M/1, M/M/2 and M/M/3 with servers that are busy half of the time
    assert mean_sojourn(spread, 0.5, 1) == pytest.approx(2)
    assert mean_sojourn(spread, 1.0, 2) == pytest.approx(4 / 3)
    assert mean_sojourn(spread, 1.5, 3) == pytest.approx(1 + 9 / 38 / 1.5)
    # M/D/1
    assert mean_sojourn(np.ones(3), 0.5, 1) == pytest.approx(1.5)
    assert mean_sojourn(np.ones(3), 2.0, 2) == np.inf


def test_the_mean_of_servers_that_slow_each_other():
    spread, rate = np.array([0.0, 2.0]), 1.0
    alone = _mean_sojourn(spread, rate, Serving(4))
    assert alone == mean_sojourn(spread, rate, 4)
    slowed = _mean_sojourn(spread, rate, Serving(4, slowdown=0.2))
    # With services s = 1 + 0.2 * s others are served on average: s = 1.25.
    assert slowed == pytest.approx(mean_sojourn(1.25 * spread, rate, 4))
    assert _mean_sojourn(spread, 10.0, Serving(4, slowdown=0.2)) == np.inf


def test_who_met_nobody():
    started = np.array([0, 10, 12, 40, 35])
    finished = np.array([5, 20, 13, 50, 41])
    # the third came while the second was served; the fifth before the fourth, into nothing
    assert _alone(started, finished).tolist() == [True, True, False, False, True]


def test_a_zoned_disk_is_learnt_and_predicted(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)  # so that names are short enough for a picture's legend
    run = run_of(tmp_path / "m")
    lightest, middle, heaviest = loads(run)
    assert [lightest.case, middle.case, heaviest.case] == [0, 1, 2]
    assert lightest.rate == pytest.approx(3, rel=0.05)
    fitted = fit(run, [lightest, middle, heaviest])
    assert set(fitted.service_ps) == {"read"}
    # the paper's disk takes 15.51 ms; at 3/s one in twenty waits
    assert fitted.service_ps["read"].mean() == pytest.approx(15.51e9, rel=0.01)
    assert (fitted.serving.servers, fitted.told) == (1, True)
    assert fitted.met_nobody == pytest.approx(1 - 3 * 0.01551, abs=0.01)
    assert fitted.waited_ps == pytest.approx(3 * 0.01551 * 8.4e9, rel=0.25)

    picture = tmp_path / "fit.png"
    done = command("array", "fit", "m", "--out", "fitted", "--picture", picture, "--json")
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert document["fit"]["servers"] == 1
    assert picture.stat().st_size > 10_000
    for one in document["comparisons"]:
        if one["bin"] == "all":
            assert one["ks"] < 0.03
    shown = command("array", "fit", "m", "--out", "fitted")
    assert shown.code == 0
    assert "serves 1 at once" in shown.out
    assert "reads take 15." in shown.out


def test_a_device_with_several_servers_is_learnt(tmp_path, command):
    (tmp_path / "times.csv").write_text("op,service\nread,8ms\nread,10ms\nread,12ms\nwrite,20ms\n")
    disk = f'disk = {{ kind = "empirical", file = "{tmp_path}/times.csv", servers = 3 }}'
    run = run_of(tmp_path / "m", disk, '"5/s", "120/s", "180/s"', reads=0.7)
    fitted = fit(run, loads(run))
    assert (fitted.serving.servers, fitted.told) == (3, True)
    assert set(fitted.service_ps["read"]) == {8e9, 10e9, 12e9}
    assert set(fitted.service_ps["write"]) == {20e9}
    done = command("array", "fit", tmp_path / "m", "--json")
    assert done.document["fit"]["verdict"] != "refused"
    assert Path(done.document["fit"]["study"]) == tmp_path / "m-fitted" / "fitted.toml"
    for one in done.document["comparisons"]:
        if one["bin"] == "all":
            assert one["ks"] < 0.03


@pytest.mark.share
@pytest.mark.parametrize(("servers", "slowdown"), [(2, 0.5), (4, 0.2), (8, 0.05)])
def test_a_device_whose_accesses_slow_each_other(tmp_path, command, servers, slowdown):
    """What was not learnt, a load in between, is predicted within 5 %."""
    (tmp_path / "times.csv").write_text("op,service\nread,6ms\nread,9ms\nread,13ms\nread,20ms\n")
    disk = (
        f'disk = {{ kind = "empirical", file = "{tmp_path}/times.csv", servers = {servers},'
        f" slowdown = {slowdown} }}"
    )
    most = servers / (1 + slowdown * (servers - 1)) / 0.012
    rates = ", ".join(f'"{share * most:.1f}/s"' for share in (0.05, 0.5, 0.8))
    run_of(tmp_path / "m", disk, rates)
    done = command("array", "fit", tmp_path / "m", "--json")
    fitted = done.document["fit"]
    assert fitted["verdict"] != "refused"
    assert fitted["slowdown"] > 0
    (between,) = (one for one in fitted["loads"] if not one["learnt_from"])
    assert all(abs(off["percent"]) < 5 for off in between["off"].values()), between


@pytest.mark.share
@pytest.mark.parametrize("seed", range(1, 21))
def test_a_device_that_is_the_model_is_not_refused(tmp_path, command, seed):
    """Twenty of twenty, with too few requests to accept them, one server or two."""
    (tmp_path / "times.csv").write_text("op,service\nread,2ms\nread,9ms\nread,13ms\nread,30ms\n")
    servers = 1 + seed % 2
    disk = f'disk = {{ kind = "empirical", file = "{tmp_path}/times.csv", servers = {servers} }}'
    rates = ", ".join(f'"{servers * rate}/s"' for rate in (5, 35, 60))
    text = STUDY.format(disk=disk, rates=rates, reads=1.0).replace("20000", "3000")
    sojourn.run(text, out=tmp_path / "m", seed=seed)
    done = command("array", "fit", tmp_path / "m", "--json")
    fitted = done.document["fit"]
    assert (done.code, fitted["verdict"]) in [(0, "accepted"), (1, "cannot tell")]
    assert (fitted["servers"], fitted["slowdown"]) == (servers, 0.0)
    assert [one["learnt_from"] for one in fitted["loads"]] == [True, False, True]


@pytest.mark.share
@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (0.2, "the device is quicker when it is busy, as no queue is"),
        (10, "30/s: predicted, mean off by +"),
    ],
)
def test_a_device_that_is_no_queue_is_refused(tmp_path, command, factor, words):
    run = run_of(tmp_path / "m")
    path = run.directory.rows(2, 0)
    table = pq.read_table(path)
    took = (table["sojourn_ps"].to_numpy() * factor).astype(np.int64)
    for name, values in (
        ("sojourn_ps", took),
        ("finished_ps", table["arrived_ps"].to_numpy() + took),
    ):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, path)
    done = command("array", "fit", tmp_path / "m")
    assert done.code == 1
    refusal = next(line for line in done.out.splitlines() if line.startswith("refused: "))
    assert words in refusal
    assert "next:" not in done.out
    assert not command("array", "fit", tmp_path / "m", "--json").document["fit"]["accepted"]


def test_a_light_load_tells_no_number_of_servers(tmp_path):
    run = run_of(tmp_path / "m", rates='"0.5/s", "1/s"')
    fitted = fit(run, loads(run))
    assert (fitted.serving.servers, fitted.told) == (1, False)
    assert fitted.serving.servers < MOST_SERVERS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('layout = "single"', 'layout = { kind = "raid0", disks = 2 }'), "expected single"),
        (("blocks = 1", 'blocks = { kind = "geometric", mean = 2 }'), "requests differ in size"),
        (("requests = 20000", "requests = 50"), "expected 100 or more: measure a lower rate"),
    ],
)
def test_what_cannot_be_learnt_is_one_message(tmp_path, command, change, message):
    text = STUDY.format(disk=PAPER, rates=RATES, reads=1.0)
    assert change[0] in text
    sojourn.run(text.replace(*change), out=tmp_path / "m")
    done = command("array", "fit", tmp_path / "m")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert message in line
    assert not (tmp_path / "m-fitted").exists()


def test_a_picture_is_no_place_for_a_model(tmp_path, command):
    done = command("array", "fit", tmp_path / "m", "-o", tmp_path / "fit.png")
    assert (done.code, done.out) == (2, "")
    assert "expected a directory; --picture" in done.err
    assert not (tmp_path / "fit.png").exists()


CLOSED = """\
title = "a device by queue depth"
model = "array"
disk = {{ kind = "empirical", file = "{times}", servers = {servers} }}
layout = "single"
[workload]
kind = "synthetic"
arrivals = {{ kind = "closed", depth = 1, think = "{think}" }}
blocks = 1
requests = 20000
[sweep]
workload.arrivals.depth = [{depths}]
"""


def closed(folder, depths, servers=3, think="0s"):
    times = folder / "times.csv"
    times.write_text("op,service\nread,6ms\nread,9ms\nread,13ms\nread,20ms\n")
    text = CLOSED.format(times=times, servers=servers, depths=depths, think=think)
    return sojourn.run(text, out=folder / "m")


@pytest.mark.share
@pytest.mark.parametrize("think", ["0s", "5ms"])
def test_a_device_is_learnt_from_queue_depths(tmp_path, command, think):
    """Saturated at 8 and at 32: the depth and not the rate says which load is the heaviest."""
    run = closed(tmp_path, "32, 1, 2, 8", think=think)
    assert [load.depth for load in loads(run)] == [1, 2, 8, 32]
    fitted = fit(run, loads(run))
    assert (fitted.serving.servers, fitted.serving.slowdown, fitted.told) == (3, 0.0, True)
    assert fitted.met_nobody == 1
    done = command("array", "fit", tmp_path / "m", "--json")
    found = done.document["fit"]
    assert found["verdict"] != "refused"
    for one in found["loads"]:
        assert all(abs(off["percent"]) < 5 for off in one["off"].values()), one


def test_a_depth_of_one_does_not_tell_how_many_are_served_at_once(tmp_path):
    run = closed(tmp_path, "1")
    fitted = fit(run, loads(run))
    assert (fitted.serving.servers, fitted.told) == (1, False)


def test_tenants_are_no_load_of_one_device(tmp_path, command):
    tenants = """
workload.tenant = [
    { name = "a", blocks = 1, arrivals = { kind = "closed", depth = 1 } },
    { name = "b", blocks = 1, arrivals = { kind = "closed", depth = 2 } },
]
"""
    text = 'model = "array"\nlayout = "single"\ndisk = { kind = "exponential", mean = "1ms" }\n'
    sojourn.run(f'{text}workload.kind = "tenants"{tenants}', out=tmp_path / "m")
    done = command("array", "fit", tmp_path / "m")
    assert (done.code, "workload.kind is tenants, expected synthetic" in done.err) == (2, True)
