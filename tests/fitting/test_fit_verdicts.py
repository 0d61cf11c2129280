"""Three verdicts on devices of known laws: how often each is wrong, over several seeds."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sojourn
from sojourn.fitting import fit, loads
from sojourn.fitting.judge import TAIL, Verdict, judge
from sojourn.fitting.predict import predict, write
from sojourn.store.ledger import Ledger
from sojourn.store.stored_run import StoredRun

STUDY = """\
title = "a device of a known law"
model = "array"
block = "16KiB"
disk = {disk}
{order}
layout = "single"
[workload]
kind = "synthetic"
arrivals = {{ kind = "poisson", rate = "1/s" }}
blocks = 1
warmup = 0
requests = {requests}
reads = 1.0
[sweep]
workload.arrivals.rate = [{rates}]
"""
SATF = 'positioning = "mechanical"\nscheduling = "satf"'


def uniform(tmp_path, servers=1, slowdown=0.0) -> str:
    """A disk whose services are evenly spread over 5 to 25 ms."""
    times = np.linspace(5e9, 25e9, 4001).astype(np.int64)
    lines = ["op,service", *(f"read,{time}ps" for time in times)]
    (tmp_path / "uniform.csv").write_text("\n".join(lines) + "\n")
    disk = f'kind = "empirical", file = "{tmp_path}/uniform.csv", servers = {servers}'
    return f"{{ {disk}, slowdown = {slowdown} }}"


def measured(path, disk, rates, requests, *, seed=1, order="") -> StoredRun:
    shown = ", ".join(f'"{rate}/s"' for rate in rates)
    text = STUDY.format(disk=disk, order=order, rates=shown, requests=requests)
    return sojourn.run(text, out=path, seed=seed)


def verdict(run: StoredRun) -> Verdict:
    known = loads(run)
    fitted = fit(run, known)
    study = write(fitted, run, run.path.with_name(f"{run.path.name}-fitted"))
    return judge(fitted, known, predict(study, run, percentiles=[TAIL], command="a test"))


def verdicts(tmp_path, seeds, *args, **settings) -> Counter:
    runs = (measured(tmp_path / f"m{seed}", *args, seed=seed, **settings) for seed in seeds)
    return Counter(verdict(run).outcome.value for run in runs)


def test_so_few_requests_tell_nothing(tmp_path):
    """As of the findings: 500 reads at each of four loads."""
    found = verdicts(tmp_path, range(1, 7), uniform(tmp_path), (7, 25, 40, 53), 500)
    assert found == {"cannot tell": 6}


def test_a_device_that_is_no_queue_is_not_accepted_for_want_of_requests(tmp_path):
    found = verdicts(tmp_path, range(1, 11), '"ST3500630NS"', (7, 35, 60), 400, order=SATF)
    assert found == {"cannot tell": 10}


def test_a_device_that_is_no_queue_is_never_accepted(tmp_path):
    """The more wait for a disk that takes the nearest first, the less each of them takes."""
    found = verdicts(tmp_path, range(1, 5), '"ST3500630NS"', (7, 63, 105), 5000, order=SATF)
    assert found["refused"] >= 2
    assert found["accepted"] == 0


@pytest.mark.share
@pytest.mark.parametrize(
    ("servers", "slowdown", "rates"), [(1, 0.0, (7, 25, 45)), (2, 0.5, (7, 35, 50))]
)
def test_a_device_that_is_the_model_is_accepted_with_enough_requests(
    tmp_path, servers, slowdown, rates
):
    disk = uniform(tmp_path, servers, slowdown)
    assert verdicts(tmp_path, range(1, 3), disk, rates, 10_000) == {"accepted": 2}


def test_a_device_with_services_of_its_own_is_accepted(tmp_path):
    """A zoned disk draws other services than its model does, as a real one does."""
    found = verdicts(tmp_path, range(1, 4), '"ST3500630NS"', (7, 25, 40), 12_000)
    assert found == {"accepted": 3}


def test_as_many_requests_as_it_asks_for_tell(tmp_path, command):
    disk, rates = uniform(tmp_path), (7, 25, 40)
    measured(tmp_path / "few", disk, rates, 500)
    done = command("array", "fit", tmp_path / "few", "--json")
    few = done.document["fit"]
    assert (done.code, few["verdict"], few["accepted"]) == (1, "cannot tell", False)
    assert 1600 <= few["requests_needed"] <= 4000
    shown = command("array", "fit", tmp_path / "few")
    assert shown.code == 1
    last = shown.out.splitlines()[-1]
    assert last == f"measure every load with {few['requests_needed']:,} requests or more"
    assert "accepted" not in shown.out
    measured(tmp_path / "enough", disk, rates, few["requests_needed"])
    done = command("array", "fit", tmp_path / "enough", "--json")
    assert (done.code, done.document["fit"]["verdict"]) == (0, "accepted")
    assert done.document["fit"]["requests_needed"] is None


def with_figure(run: StoredRun, case: int, **figures) -> StoredRun:
    records = [
        replace(r, figures={**r.figures, **figures}) if r.case == case else r for r in run.ledger
    ]
    Ledger(records).write(run.directory.cases)
    return StoredRun.open(run.path)


@pytest.mark.parametrize(("busy", "outcome"), [(0.5, "accepted"), (0.95, "cannot tell")])
def test_a_busy_machine_tells_nothing(tmp_path, busy, outcome):
    run = measured(tmp_path / "m", uniform(tmp_path), (7, 25, 40), 5000)
    found = verdict(with_figure(run, 1, processors_busy=busy))
    assert found.outcome.value == outcome
    assert found.requests is None  # more of them would not help
    if outcome != "accepted":
        (reason,) = found.reasons
        assert reason == "rate 25/s: the processors were 95% busy while it was measured"


def test_requests_that_came_late_tell_nothing(tmp_path):
    """The machine stands still for 200 ms of each second, and then issues what is due."""
    run = measured(tmp_path / "m", uniform(tmp_path), (7, 25, 40), 5000)
    path = run.directory.rows(2, 0)
    table = pq.read_table(path)
    second = 10**12
    arrived = table["arrived_ps"].to_numpy()
    late = np.maximum(second // 5 - arrived % second, 0)
    finished = arrived + late + table["sojourn_ps"].to_numpy()
    place = table.column_names.index("finished_ps")
    pq.write_table(table.set_column(place, "finished_ps", pa.array(finished)), path)
    found = verdict(run)
    assert found.outcome.value == "cannot tell"
    assert [bool(one.doubts) for one in found.loads] == [False, False, True]
    (reason,) = found.reasons
    assert reason.startswith("rate 40/s: requests were issued late, which alone changes its mean")


def test_fit_and_compare_agree_on_the_same_pair(tmp_path, command):
    measured(tmp_path / "m", uniform(tmp_path, 2, 0.5), (7, 40, 60), 5000)
    fitted = command("array", "fit", tmp_path / "m", "--json").document
    pair = tmp_path / "m", tmp_path / "m-fitted" / "predicted"
    compared = command("compare", *pair, "--metric", "sojourn_ps", "--json").document
    of_fit, of_compare = (
        [one["difference_percent"] for one in document["comparisons"]]
        for document in (fitted, compared)
    )
    assert of_fit == of_compare
    for load, one in zip(fitted["fit"]["loads"], compared["comparisons"], strict=True):
        for name in ("mean", "p95"):
            assert load["off"][name]["percent"] == one["difference_percent"][name]


def test_the_order_of_a_disk_with_platters_is_no_part_of_a_learnt_one(tmp_path, command):
    measured(tmp_path / "m", '"ST3500630NS"', (7, 35), 400, order=SATF)
    done = command("array", "fit", tmp_path / "m")
    assert (done.code, done.err) == (1, "")
    assert "no load in between was measured" in done.out
    text = (tmp_path / "m-fitted" / "fitted.toml").read_text()
    assert "satf" not in text
    assert "mechanical" not in text
