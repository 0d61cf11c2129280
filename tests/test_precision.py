"""Replications until the intervals are narrow, and what is said where they are not."""

import pytest

from conftest import STUDY, Made, make_run
from sojourn.errors import InputError
from sojourn.ledger import Ledger
from sojourn.precision import FEWEST, Found, Precision, judge
from sojourn.runs import Run

CASES = (
    STUDY
    + """\
[sweep]
workload.load = [0.2, 0.7]
"""
)


@pytest.fixture
def two_loads(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(CASES)
    return path


def half_widths(run, metric):
    return [
        (e.ci95[1] - e.ci95[0]) / 2 / e.mean
        for e in run.summary()
        if (e.bin, e.metric) == ("all", metric)
    ]


def replications(run):
    counted = {}
    for record in run.ledger:
        counted[record.case] = counted.get(record.case, 0) + 1
    return counted


def test_every_mean_is_as_narrow_as_was_asked(command, two_loads, tmp_path):
    result = command("run", two_loads, "--out", tmp_path / "out", "--precision", "10%", "--json")
    assert result.code == 0
    said = result.document["precision"]
    assert (said["share"], said["percentile"], said["reached"]) == (0.1, None, True)
    run = Run.open(tmp_path / "out")
    for metric in ("slowdown", "sojourn_ps"):
        assert max(half_widths(run, metric)) <= 0.1
    assert {c["case"]: c["replications"] for c in said["cases"]} == replications(run)
    # neither was known that well by the fewest, and the study's own number is one
    assert min(replications(run).values()) > FEWEST
    assert run.missing == 0
    shown = command("run", two_loads, "--out", tmp_path / "out", "--precision", "10%")
    assert "all finished before" in shown.out
    assert "mean within 10 % in every case, by" in shown.out


def test_more_replications_are_those_of_the_study_with_more(command, two_loads, tmp_path):
    command("run", two_loads, "--out", tmp_path / "a", "--precision", "10%")
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
    assert "mean within 0.1 % not reached in 2 of 2 cases with 7 replications:" in result.out
    assert "  load 0.7, sojourn of flow: ± " in result.out
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


@pytest.mark.parametrize(
    ("share", "wanted"),
    # asked for 10 % at 50 at most: 0.12 wants 10 * 1.2^2, 0.5 would want 250 and gets the double
    [(0.1, 10), (0.1001, 11), (0.12, 15), (0.5, 20), (None, 20)],
)
def test_how_many_are_next(share, wanted):
    asked = Precision(0.1, most=50)
    assert Found(0, {}, 10, share, "flow", "slowdown").wanted(asked) == wanted
    assert Found(0, {}, 40, 0.5, "flow", "slowdown").wanted(asked) == 50
    assert Found(0, {}, 60, 0.5, "flow", "slowdown").wanted(asked) == 60


def test_the_widest_number_counts(tmp_path):
    # slowdowns 2 and 4: a mean of 3, and Student's t of one degree of freedom
    run = make_run(
        tmp_path / "made",
        [Made({"load": 0.5}, [v, v], replication=r) for r, v in enumerate([2, 4])],
    )
    (found,) = judge(Precision(0.5), run.directory, run.ledger).cases
    assert found.share == pytest.approx(12.7062047364 / 3)
    assert found.axes == {"load": 0.5}
    first = Ledger(record for record in run.ledger if record.replication == 0)
    (alone,) = judge(Precision(0.5), run.directory, first).cases
    assert alone.share is None


def test_what_is_read():
    assert Precision.read("5%") == Precision(0.05)
    assert Precision.read("2.5%", "p99.9", 7) == Precision(0.025, 99.9, 7)
    with pytest.raises(InputError, match="expected a percentage"):
        Precision.read("five%")
