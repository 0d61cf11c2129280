"""Replications until the intervals are narrow, and what is said where they are not."""

from math import ceil

import pytest

from conftest import STUDY, Made, make_run
from sojourn._internal.errors import InputError
from sojourn.analysis.precision import Precision, by_pilots, computed, judge
from sojourn.analysis.run_length import FEWEST_REPLICATIONS, Queue
from sojourn.api.handles import Run
from sojourn.store.ledger import Ledger

CASES = (
    STUDY.replace("flows = 60", "flows = 8000").replace("websearch", "fb-webserver")
    + """\
[sweep]
workload.load = [0.2, 0.5]
"""
)


@pytest.fixture
def two_loads(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(CASES)
    return path


def half_widths(run, metric):
    return [
        (e.ci95[1] - e.ci95[0]) / (e.ci95[0] + e.ci95[1])
        for e in run.summary()
        if (e.bin, e.metric) == ("all", metric)
    ]


def replications(run):
    counted = {}
    for record in run.ledger:
        counted[record.case] = counted.get(record.case, 0) + 1
    return counted


def test_every_mean_is_as_narrow_as_was_asked(command, two_loads, tmp_path):
    result = command("run", two_loads, "--out", tmp_path / "out", "--precision", "5%", "--json")
    assert result.code == 0
    said = result.document["precision"]
    assert (said["share"], said["percentile"], said["reached"]) == (0.05, None, True)
    run = Run.open(tmp_path / "out")
    for metric in ("slowdown", "sojourn_ps"):
        assert max(half_widths(run, metric)) <= 0.05
    assert {c["case"]: c["replications"] for c in said["cases"]} == replications(run)
    # neither was known that well by the study's own number, which is one
    assert min(replications(run).values()) >= FEWEST_REPLICATIONS
    assert run.missing == 0
    shown = command("run", two_loads, "--out", tmp_path / "out", "--precision", "5%")
    assert "all finished before" in shown.out
    assert "mean within 5 % in every case, by" in shown.out


def test_more_replications_are_those_of_the_study_with_more(command, two_loads, tmp_path):
    command("run", two_loads, "--out", tmp_path / "a", "--precision", "5%")
    run = Run.open(tmp_path / "a")
    most = max(replications(run).values())
    command("run", two_loads, "--out", tmp_path / "b", "--replications", most)
    other = Run.open(tmp_path / "b")
    for record in run.ledger:
        name = run.directory.rows(*record.key)
        assert name.read_bytes() == other.directory.rows(*record.key).read_bytes()


def test_where_it_is_not_reached_it_says_how_near_it_came(command, two_loads, tmp_path):
    out = tmp_path / "out"
    words = ("run", two_loads, "--out", out, "--precision", "0.1%", "--most-replications", "7")
    result = command(*words)
    assert result.code == 1
    assert "mean within 0.1 % not reached in 2 of 2 cases:" in result.out
    assert "  load 0.5, sojourn of flow: ± " in result.out
    assert replications(Run.open(out)) == {0: 7, 1: 7}
    assert not command(*words, "--json").document["precision"]["reached"]
    # less is asked, and no more is run
    again = command("run", two_loads, "--out", out, "--precision", "90%")
    assert (again.code, "all finished before" in again.out) == (0, True)


def test_a_percentile_too(command, two_loads, tmp_path):
    words = ("run", two_loads, "--out", tmp_path / "out", "--precision", "40%")
    result = command(*words, "--precision-of", "p90", "--json")
    assert (result.code, result.document["precision"]["percentile"]) == (0, 90)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--precision", "5"], "precision '5': expected a percentage like 5%"),
        (["--precision", "200%"], "precision '200%': expected a percentage like 5%, below 100%"),
        (["--precision-of", "p99"], "expected --precision too"),
        (["--most-replications", "7"], "expected --precision too"),
        (["--precision", "0%"], "precision '0%'"),
        (["--precision", "nan%"], "precision 'nan%'"),
        (["--precision", "120%"], "precision '120%'"),
        (["--precision", "5%", "--precision-of", "median"], "'median': expected mean, or a"),
        (["--precision", "5%", "--precision-of", "p100"], "'p100': expected mean, or a"),
        (["--precision", "5%", "--most-replications", "4"], "expected 5 or more"),
    ],
)
def test_a_word_that_is_wrong(command, two_loads, tmp_path, words, said):
    result = command("run", two_loads, "--out", tmp_path / "out", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert not (tmp_path / "out").exists()


def test_how_many_fresh_ones_it_takes(tmp_path):
    """The half-width of five is known to a quarter; it falls with the root of their number."""
    pilots = make_run(
        tmp_path / "made",
        [Made({"load": 0.5}, [v, v], replication=r) for r, v in enumerate([2, 4, 3, 2, 4])],
    )
    (found,) = judge(Precision(0.5), pilots.directory, pilots.ledger).cases
    asked = Precision(found.share / 2)
    assert by_pilots(asked, pilots.directory, pilots.ledger) == {0: 5 * 4 * 2}
    roughly = ceil(5 * 2 * (found.share / 0.9) ** 2)
    assert by_pilots(Precision(0.9), pilots.directory, pilots.ledger) == {0: max(roughly, 5)}


def test_what_a_model_knows_is_computed():
    queue = Queue(load=0.8, arrivals=1, services=1, fourth=24)
    # 10 % is t / sqrt(2 / length) with t = 2.09: a length of 871, of which a replication has 189
    assert computed(Precision(0.1), queue, 10_000) == 5
    assert computed(Precision(0.5, 99), queue, 10_000) == 11  # the 99th percentile needs 2,000
    with pytest.raises(InputError, match="replications of 500 jobs are too short"):
        computed(Precision(0.1), queue, 500)
    with pytest.raises(InputError, match="no steady state"):
        computed(Precision(0.1), Queue(1.0, 1, 1, 24), 10_000)


def test_the_widest_number_counts(tmp_path):
    run = make_run(
        tmp_path / "made",
        [Made({"load": 0.5}, [v, v], replication=r) for r, v in enumerate([2, 4, 3, 2, 4])],
    )
    (found,) = judge(Precision(0.5), run.directory, run.ledger).cases
    ends = [(low, high) for e in run.summary() for low, high in [e.ci95]]
    assert found.share == pytest.approx(max((high - low) / (high + low) for low, high in ends))
    assert found.axes == {"load": 0.5}
    first = Ledger(record for record in run.ledger if record.replication == 0)
    (alone,) = judge(Precision(0.5), run.directory, first).cases
    assert alone.share is None


def test_what_is_read():
    assert Precision.read("5%") == Precision(0.05)
    assert Precision.read("2.5%", "p99.9", 7) == Precision(0.025, 99.9, 7)
    with pytest.raises(InputError, match="expected a percentage"):
        Precision.read("five%")
