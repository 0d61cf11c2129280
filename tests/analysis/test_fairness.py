"""How evenly long flows share, by averaging time: `fairness`, `show --over`, `plot`, `--more`."""

import csv
import io

import numpy as np
import pytest

import sojourn
from sojourn.analysis.fairness import FEWEST_TIMEOUTS, Shares, TooShort
from sojourn.analysis.statistics import jain

# Eight servers of 10 Gb/s into 40 Gb/s; a time-out of a millisecond.
LONG = """\
title = "long flows"
[topology]
kind = "single-switch"
hosts = 9
rate = "10Gbps"
uplink = "40Gbps"
[workload]
kind = "bulk"
parallel = 3
start_spread = "500us"
warm_up = "20ms"
window = "WINDOW"
[scheme]
name = "own"
transport = { kind = "new-reno", min_rto = "1ms" }
queue = { kind = "drop-tail", buffer = "150KB" }
balance = "ecmp"
[run]
replications = 5
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("long") / "run"
    return sojourn.run(LONG.replace("WINDOW", "100ms"), out=out)


def by_hand(goodputs):
    low, high = np.percentile(goodputs, [5, 95])
    return high / low, jain(goodputs), np.mean(goodputs > goodputs.mean())


def test_the_whole_window_is_what_the_rows_say(run):
    (whole,) = run.fairness("100ms")
    rows = run.rows.to_pandas()
    each = [by_hand(own["goodput_bps"].to_numpy()) for _, own in rows.groupby("replication")]
    assert whole.over_ps == 100 * 10**9
    assert (whole.flows, whole.starts, whole.replications) == (24, 1, 5)
    spread, fairness, above = np.mean(each, axis=0)
    found = whole.shares
    assert (found.spread, found.jain, found.above_mean) == pytest.approx((spread, fairness, above))
    low, high = whole.ci95["jain"]
    assert low < found.jain < high
    # The table of all jobs says the same of the whole window.
    (estimate,) = run.summary()
    shares = estimate.shares
    assert (shares["spread"], shares["jain"]) == pytest.approx((spread, fairness))


def test_shorter_times_are_less_fair_and_made_of_the_same_bytes(run):
    """From a round trip to the window, ten times a decade; the shorter, the less fair."""
    found = run.fairness()
    times = np.array([own.over_ps for own in found])
    assert times[-1] == 100 * 10**9
    assert (times[1:] / times[:-1] <= 1.34).all()
    assert times[0] < 30 * 10**6
    assert all(own.starts == 100 for own in found if own.over_ps < 10**9)
    fairness = np.array([own.shares.jain for own in found])
    assert fairness[times == 10**9] < fairness[times == 10**10] < fairness[-1]
    averages = run.directory.beside("averages", 0, 0)
    table = sojourn.store.rows.read(averages).to_pandas()
    whole = table[table.over_ps == times[-1]].received_bytes.to_numpy()
    halves = table[table.over_ps == times[-1] // 2].sort_values("start_ps")
    first, last = halves.start_ps.min(), halves.start_ps.max()
    assert last - first == times[-1] // 2
    ends = halves[halves.start_ps.isin([first, last])]
    assert (ends.groupby("job").received_bytes.sum().to_numpy() == whole).all()


def test_show_over_has_a_line_a_time(run, command):
    found = command("show", run.path, "--over", "1ms,10ms,100ms")
    assert found.code == 0
    assert "averaging time" in found.out
    assert all(f" {time} " in found.out for time in ("1 ms", "10 ms", "100 ms"))
    document = command("show", run.path, "--over", "1ms,10ms", "--json").document
    assert [own["over_s"] for own in document] == [0.001, 0.01]
    for own, same in zip(document, run.fairness(["1ms", "10ms"]), strict=True):
        assert own["jain"] == same.shares.jain
        assert own["spread_ci95"] == list(same.ci95["spread"])
        assert own["needs"] is None
    lines = list(
        csv.DictReader(io.StringIO(command("show", run.path, "--over", "1ms", "--csv").out))
    )
    assert float(lines[0]["jain"]) == document[0]["jain"]
    assert float(lines[0]["jain_ci95_low"]) == document[0]["jain_ci95"][0]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("7s", "--over 7s: expected a time from 2.5 us to 100 ms, the measuring window"),
        ("1ns", "--over 1ns: expected a time from 2.5 us to 100 ms"),
        ("0s", "--over 0s: expected a time from"),
        ("5", "--over '5': expected a time like 10ms"),
        ("-1ms", "--over '-1ms': expected a time like 10ms"),
    ],
)
def test_times_that_there_are_not_are_refused(run, command, over, said):
    found = command("show", run.path, f"--over={over}")
    assert found.code == 2
    assert said in found.err
    assert found.out == ""


def test_options_without_effect_are_refused(run, command):
    found = command("show", run.path, "--over", "1ms", "--percentiles", "99")
    assert (found.code, found.out) == (2, "")
    assert "--percentiles has no effect with --over" in found.err


def test_two_windows_have_no_time_in_common(tmp_path, command):
    """One error and no traceback, whether a time is asked for or not."""
    study = LONG.replace("WINDOW", "3ms").replace("replications = 5", "replications = 1")
    parts = study + '[background]\nkind = "bulk"\nwarm_up = "100ms"\nwindow = "7ms"\n'
    out = sojourn.run(parts, out=tmp_path / "two").path
    for options in (["show", out, "--over", "1ms"], ["plot", out, "--kind", "fairness"]):
        found = command(*options)
        assert (found.code, found.out) == (2, "")
        assert "long flows are measured over different windows here" in found.err
    drawn = command("plot", out)
    assert (drawn.code, "fairness" in drawn.out) == (0, False)


def test_short_flows_have_no_fairness(simulated, command):
    found = command("show", simulated.path, "--over", "1ms")
    assert found.code == 2
    assert "no flow was measured over a window" in found.err


def test_a_window_of_few_time_outs_tells_no_fairness_and_more_does(tmp_path, command):
    """In 5 ms few time-outs of 1 ms are over; the command of the note has enough of them."""
    study = tmp_path / "short.toml"
    study.write_text(LONG.replace("WINDOW", "5ms"))
    assert command("run", study, "--out", tmp_path / "short").code == 0
    estimate = command("show", tmp_path / "short", "--json").document[0]
    assert (estimate["spread"], estimate["jain"], estimate["above_mean"]) == (None, None, None)
    assert estimate["p5"] > 0
    needs = estimate["fairness_needs"]
    assert needs["window_s"] >= 0.01
    shown = command("show", tmp_path / "short").out
    assert "no fairness: the measuring window of 5 ms has to be 10 times the longest" in shown
    over = command("show", tmp_path / "short", "--over", "1ms", "--json").document[0]
    assert (over["jain"], over["needs"]) == (None, needs)
    drawn = command("plot", tmp_path / "short", "--kind", "fairness")
    assert drawn.code == 2
    assert "no fairness to draw: the measuring window of 5 ms" in drawn.err
    words = shown.partition("no fairness")[2].partition("(sojourn ")[2].partition(")")[0].split()
    assert "--more" in words
    assert command(*words, "--out", tmp_path / "long").code == 0
    longer = command("show", tmp_path / "long", "--json").document[0]
    assert longer["fairness_needs"] is None
    assert 0 < longer["jain"] < 1


def test_the_rule_is_ten_of_the_longest_time_outs():
    second = 10**12
    window = {"measuring_window_ps": 2 * second, "longest_timeout_ps": second // 5}
    assert TooShort.of([window]) is None
    short = TooShort.of([window, {**window, "longest_timeout_ps": second // 5 + 1}])
    assert short is not None
    assert short.needed_ps == FEWEST_TIMEOUTS * (second // 5 + 1)
    assert short.times * short.window_ps >= 2 * short.needed_ps - 1
    # Nothing is known of measured flows.
    assert TooShort.of([{"goodput": 1}]) is None


def test_shares_by_hand():
    """Two flows that take turns: at each time one of them has all."""
    turns = Shares.of(np.array([[8.0, 0.0], [0.0, 8.0]]))
    assert (turns.spread, turns.jain, turns.above_mean) == (pytest.approx(19), 0.5, 0.5)
    whole = Shares.of(np.array([[4.0, 4.0]]))
    assert (whole.spread, whole.jain, whole.above_mean) == (1, 1, 0)
    idle = Shares.of(np.zeros((2, 30)))
    assert (idle.spread, idle.jain) == (None, 1)
    assert Shares.mean([turns, idle]).spread is None


def test_the_picture_has_a_panel_for_each_statistic(run):
    panels = run.plot("fairness").axes
    assert [panel.get_ylabel() for panel in panels] == ["p95/p5", "Jain", "above mean"]
    (line,) = panels[1].get_lines()
    assert line.get_xdata()[-1] == 0.1
    assert line.get_ydata()[-1] == run.fairness("100ms")[0].shares.jain


def test_totals_say_whether_the_buffer_is_enough(run, command):
    shown = command("show", run.path).out
    heads = ("drops", "marked packets", "time-outs", "fullest port [KB]")
    assert all(head in shown for head in heads)
    totals = command("show", run.path, "--json").document[0]["totals"]
    cases = run.cases.to_pandas()
    assert totals["drops"] == cases["drops"].mean() > 0
    assert totals["timeouts"] == cases["timeouts"].mean()
    assert totals["port_memory_peak_bytes"] == cases["port_memory_peak_bytes"].max()
    assert 148_500 < totals["port_memory_peak_bytes"] <= 150_000
    (line,) = csv.DictReader(io.StringIO(command("show", run.path, "--csv").out))
    assert float(line["drops"]) == totals["drops"]
    assert float(line["port_memory_peak_bytes"]) == totals["port_memory_peak_bytes"]


def test_totals_stand_case_by_case(tmp_path, command):
    study = LONG.replace("WINDOW", "20ms") + '[sweep]\nbuffer = ["private", "sram-4mb"]\n'
    run = sojourn.run(study, out=tmp_path / "run", replications=1)
    found = {
        estimate["case"]["buffer"]: estimate["totals"]
        for estimate in command("show", run.path, "--json").document
    }
    assert found["private"]["port_memory_peak_bytes"] <= 150_000
    assert "switch_memory_peak_bytes" not in found["private"]
    shared = found["sram-4mb"]
    assert 150_000 < shared["switch_memory_peak_bytes"] <= 4_000_000
    assert shared["port_memory_peak_bytes"] <= shared["switch_memory_peak_bytes"]
    table = command("show", run.path).out
    assert "fullest switch [KB]" in table


def test_goodput_beyond_the_link_is_doubted(run):
    from sojourn.analysis.cautions import doubted

    assert doubted(run.ledger) == []
    (record, *_) = run.ledger
    figures = {**record.figures, "received_share_of_link": 1.28}
    others = type(run.ledger)([type(record)(**{**vars(record), "figures": figures})])
    (said,) = doubted(others)
    assert "sum to 128% of what its link can carry" in said
