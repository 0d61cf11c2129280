"""Summaries of runs whose every number is known."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import sojourn
from conftest import IDEAL_PS, STUDY, Made, make_run, mm1
from sojourn._internal.errors import InputError
from sojourn._internal.formats import json_text
from sojourn.analysis.intervals import Batches, mean_interval
from sojourn.analysis.observed import Basis
from sojourn.analysis.sample import groups_of
from sojourn.api.handles import Run
from sojourn.store import rows

NAN = float("nan")
KEYS = ["case", "kind", "bin", "metric", "n", "unfinished", "warmup", "mean", "ci95"]
KEYS += ["ci95_needs", "ci_method"]


def pick(summary, **wanted):
    """The one estimate with these attributes."""
    (found,) = [e for e in summary if all(getattr(e, k) == v for k, v in wanted.items())]
    return found


def test_the_contract_of_the_document(tmp_path):
    sizes = [1000, 1000, 20_000_000, 1000]
    run = make_run(tmp_path / "r", [Made({"load": 0.5}, [1, 2, 3, 4], sizes)])
    text = json_text(run.summary(percentiles=[50, 99.9]).to_list())
    entries = json.loads(text)
    assert [list(entry) for entry in entries] == [
        [
            *[*KEYS, "p50", "p99.9", "p50_ci95", "p99.9_ci95"],
            *["p50_ci95_needs", "p99.9_ci95_needs", "max", "steady_state", "totals", "cautions"],
        ]
    ] * 6
    first = entries[0]
    assert first["case"] == {"load": 0.5}
    assert (first["kind"], first["bin"], first["metric"]) == ("flow", "all", "slowdown")
    assert (first["n"], first["mean"], first["p50"], first["max"]) == (4, 2.5, 2.5, 4)
    assert [e["bin"] for e in entries[::2]] == ["all", "(0,100KB]", "(10MB,inf)"]
    assert {e["metric"] for e in entries} == {"slowdown", "sojourn_ps"}
    (thin,) = first["cautions"]
    assert thin.startswith("percentiles with fewer than 10 jobs beyond them")


def test_an_interval_holds_the_value_beside_it(tmp_path):
    """The value is of the whole run, the interval of its last three quarters."""
    chance = np.random.default_rng(1)
    slowdown = 3 + chance.random(20_000)
    slowdown[:5750] -= 1
    found = pick(make_run(tmp_path / "r", [Made({}, [*slowdown])]).summary(), metric="slowdown")
    (low, high), late = found.ci95, mean_interval(Batches.cut([slowdown[5750:]]))
    assert found.mean < 3.4 < late[0] < high == pytest.approx(late[1], rel=0.01)
    assert low == found.mean
    low, high = found.quantiles_ci95["p50"]
    assert low == found.quantiles["p50"] < high


def test_equal_sizes_are_not_told_apart(tmp_path):
    run = make_run(tmp_path / "r", [Made({"load": 0.5}, [1, 2, 3, 4])])
    assert {e.bin for e in run.summary()} == {"all"}
    assert " size " not in repr(run.summary())
    (nothing, _) = make_run(tmp_path / "s", [Made({}, [NAN])]).summary()
    assert (nothing.n, nothing.mean, nothing.quantiles["p50"], nothing.max) == (0, None, None, None)


def test_each_model_has_its_own_words(tmp_path):
    """Requests in milliseconds with p99.9, mail in seconds by how many were served."""
    request = make_run(tmp_path / "r", [Made({}, [2e6, 4e6], kind=["request"] * 2)]).summary()
    assert request.percentiles == ("p50", "p90", "p95", "p99", "p99.9")
    head, line = (row.split() for row in repr(request).splitlines()[2:5:2])
    assert head[:7] == ["n", "unfinished", "warm-up", "response", "time", "mean", "[ms]"]
    assert line[:5] == ["2", "0", "0", "3", "3"]
    kinds = ["delivery", "message-50", "message"]
    mail = make_run(tmp_path / "m", [Made({}, [2e9, 1e9, 4e9], kind=kinds)]).summary()
    lines = [row.split("  ")[0].strip() for row in repr(mail).splitlines()[4:7]]
    assert lines == ["delivery", "message, half served", "message, all served"]
    assert "delay mean [s]" in repr(mail)


def test_frames_are_flat_and_say_their_units(tmp_path, command):
    cases = [Made({"load": x}, [1, 2, 3], replication=n) for x in (0.2, 0.4) for n in (0, 1)]
    run = make_run(tmp_path / "r", cases)
    frame = run.summary().to_pandas()
    assert [*frame.columns[:5]] == ["load", "kind", "bin", "metric", "n"]
    assert frame["ci95_low"].dtype == frame["mean"].dtype == float
    assert "case" not in frame.columns
    told = command("show", run.path, "--csv")
    read = pd.read_csv(StringIO(told.out), comment="#")
    assert (told.code, [*read.columns]) == (0, [*frame.columns])
    assert read["mean"].tolist() == frame["mean"].tolist()
    both = command("show", run.path, "--csv", "--json")
    assert (both.code, both.out) == (2, "")


def test_a_tidy_frame_has_a_number_a_row_in_the_units_of_tables(tmp_path):
    cases = [Made({"n": x}, [2e6, 4e6], kind=["request"] * 2) for x in (1, 2)]
    run = make_run(tmp_path, cases)
    frame = run.summary(percentiles=[50]).tidy()
    assert [*frame.columns] == [
        "case_n", "kind", "bin", "metric", "statistic", "value", "ci_low", "ci_high", "n",
    ]  # fmt: skip
    shown = frame[frame["metric"] == "response time [ms]"]
    assert shown["statistic"].tolist() == ["mean", "p50", "max"] * 2
    assert shown["value"].tolist() == [3.0, 3.0, 4.0] * 2
    assert frame["ci_low"].isna().all()
    assert frame["value"].dtype.kind == "f"
    empty = replace(run.summary(percentiles=[50]), estimates=())
    assert [*empty.tidy().columns] == ["n", *frame.columns[1:]]


def test_an_axis_called_as_a_number_keeps_its_column(tmp_path):
    run = make_run(tmp_path / "r", [Made({"mean": x}, [1, 2, 3]) for x in (5.0, 7.0)])
    records = run.summary().to_records()
    assert {(r["case_mean"], r["mean"]) for r in records if r["metric"] == "slowdown"} == {
        (5.0, 2.0),
        (7.0, 2.0),
    }


def test_groups_stand_in_the_order_that_is_asked_for(tmp_path):
    cases = [Made({"scheme": s, "load": x}, [1, 2]) for s in "BA" for x in (0.2, 0.8)]
    run = make_run(tmp_path / "r", cases)

    def stands(*by):
        return [*dict.fromkeys(tuple(e.case.values()) for e in run.summary(by=by))]

    assert stands("scheme", "load") == [("B", 0.2), ("B", 0.8), ("A", 0.2), ("A", 0.8)]
    assert stands("load", "scheme") == [(0.2, "B"), (0.2, "A"), (0.8, "B"), (0.8, "A")]


def test_parts_of_a_workload_are_apart():
    study = 'background = { kind = "incast", fan_in = 3, rounds = 5 }\n' + STUDY
    run = sojourn.run(study)
    found = [e for e in run.summary(warmup=False) if (e.bin, e.metric) == ("all", "slowdown")]
    assert {e.case["part"]: e.n for e in found}["background"] == 15
    assert len({e.case["part"] for e in found}) == 2
    together = [e for e in run.summary(by=[], warmup=False) if e.bin == "all"]
    assert {e.n for e in together} == {sum(record.jobs for record in run.ledger)}
    assert "part" not in sojourn.run(STUDY).summary().by


def test_rows_that_are_fewer_than_their_record_says_are_refused(tmp_path):
    run = make_run(tmp_path / "r", [Made({"load": 0.5}, [1, 2, 3, 4])])
    make_run(tmp_path / "other", [Made({"load": 0.5}, [1, 2, 3])])
    other = next((tmp_path / "other/rows").iterdir())
    other.rename(run.path / "rows" / other.name)
    with pytest.raises(InputError, match=r"parquet: 3 rows, expected 4, one a job of this case"):
        run.summary()


def test_upper_ends_belong_to_their_bin(tmp_path):
    sizes = [1, 100_000, 100_001, 10_000_000, 10_000_001]
    run = make_run(tmp_path / "r", [Made({}, [1, 2, 3, 4, 5], sizes)])
    summary = run.summary()
    means = {e.bin: (e.n, e.mean) for e in summary if e.metric == "slowdown"}
    assert means == {
        "all": (5, 3),
        "(0,100KB]": (2, 1.5),
        "(100KB,10MB]": (2, 3.5),
        "(10MB,inf)": (1, 5),
    }


def test_sojourn_is_in_picoseconds(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, 2, 3])])
    assert pick(run.summary(), bin="all", metric="sojourn_ps").mean == 2 * IDEAL_PS


def test_unfinished_jobs_are_counted_and_in_no_number(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, NAN, 3, NAN], [10, 10, 200_000, 200_000])])
    summary = run.summary()
    for size_bin, n, mean, unfinished in [("all", 2, 2, 2), ("(0,100KB]", 1, 1, 1)]:
        found = pick(summary, bin=size_bin, metric="slowdown")
        assert (found.n, found.mean, found.unfinished) == (n, mean, unfinished)


def test_missed_deadlines(tmp_path):
    """Of five jobs, one has no deadline, one meets it to the picosecond, three miss theirs."""
    sizes = [1000, 1000, 1000, 1000, 1_000_000]
    deadlines = [-1, 2001, 2999 + 2, 3000, 4999]
    done = [1, 2, 3, NAN, 5]
    run = make_run(tmp_path / "r", [Made({}, done, sizes, deadline_ps=deadlines)])
    found = {e.bin: e for e in run.summary() if e.metric == "missed_deadline"}
    shares = {name: (e.n, e.unfinished, e.mean) for name, e in found.items()}
    assert shares == {
        "all": (4, 1, 0.75),
        "(0,100KB]": (3, 1, 2 / 3),
        "(100KB,10MB]": (1, 0, 1),
    }
    assert "missed [%]" in repr(run.summary())


def test_jobs_of_the_warm_up_miss_no_deadline(tmp_path):
    slowdown = [1000.0] * 5 + [1.0] * 95
    deadlines = [arrived + (500 * IDEAL_PS if arrived % 2 else 0) for arrived in range(100)]
    run = make_run(tmp_path / "r", [Made({}, slowdown, deadline_ps=deadlines)])
    for warmup, missed in [(True, 47 / 95), (False, 52 / 100)]:
        found = pick(run.summary(warmup=warmup), bin="all", metric="missed_deadline")
        assert (found.mean, found.n, found.warmup) == (missed, *((95, 5) if warmup else (100, 0)))


def test_without_deadlines_none_is_missed(tmp_path):
    cases = {"no column": None, "no deadline": [-1, -1]}
    for name, deadlines in cases.items():
        run = make_run(tmp_path / name, [Made({}, [1, 2], deadline_ps=deadlines)])
        assert {e.metric for e in run.summary()} == {"slowdown", "sojourn_ps"}
        assert "missed" not in repr(run.summary())


def test_a_run_without_a_finished_job_has_no_numbers(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [NAN, NAN])])
    found = pick(run.summary(), bin="all", metric="slowdown")
    assert (found.n, found.unfinished, found.mean, found.ci95) == (0, 2, None, None)


def test_batches_of_one_replication(tmp_path):
    """What the model knows of the queue decides whether there is an interval, and of what."""
    load, jobs = 0.8, mm1(np.random.default_rng(2), 0.8, 12_000)
    known = {
        "queue_utilisation": load,
        "queue_dispersion_of_arrivals": 1.0,
        "queue_squared_cv_of_services": 1.0,
        "queue_fourth_moment_of_services": 24.0,
    }
    offered = {**known, "queue_utilisation_offered": load}
    del offered["queue_utilisation"]
    for figures, kept, last in (
        (known, jobs, ""),
        # of a fabric the first quarter of the run decides too
        (offered, jobs[3000:], " in the last three"),
    ):
        run = make_run(tmp_path / f"r{len(last)}", [Made({}, jobs, figures=figures)])
        found = pick(run.summary(warmup=False), bin="all", metric="sojourn_ps")
        assert found.ci95 == mean_interval(Batches.cut([np.trunc(kept * IDEAL_PS)]))
        assert found.ci_method.startswith(f"from 20 batches in order of arrival{last}")
        assert {name for name, ends in found.quantiles_ci95.items() if ends} == {"p50"}
        needs = found.needs["p95"]
        assert (needs.jobs, needs.replications) == (15_901, 2)
        assert found.flat()["p95_ci95_needs"]["jobs"] == 15_901
        table = repr(run.summary(warmup=False))
        said = "no interval of p90, p95: it takes at least 1.4 times as many jobs (a longer trace"
        assert said in table


def test_batches_follow_the_arrivals_not_the_rows(tmp_path):
    values = np.arange(1.0, 41.0)
    order = np.random.default_rng(2).permutation(40)
    straight = make_run(tmp_path / "a", [Made({}, values, arrived_ps=[*range(40)])])
    shuffled = make_run(tmp_path / "b", [Made({}, values[order], arrived_ps=order.tolist())])
    assert straight.summary().to_list() == shuffled.summary().to_list()


def test_batches_of_several_cases_are_taken_case_by_case(tmp_path):
    low, high = [1.0] * 40, [9.0] * 40
    run = make_run(tmp_path / "r", [Made({"load": 0.1}, low), Made({"load": 0.9}, high)])
    found = pick(run.summary(by=[]), bin="all", metric="slowdown")
    assert (found.n, found.mean) == (76, 5)
    batches = run_of_both(run)
    assert [batch.tolist() for batch in batches.parts] == [[1.0, 9.0]] * 20


def test_of_several_cases_common_replications_have_intervals(tmp_path):
    cases = [
        Made({"load": load}, [load, load + r], replication=r, arrived_ps=[5, 5])
        for load, numbers in ((0.1, range(7)), (0.9, range(1, 6)))
        for r in numbers
    ]
    run = make_run(tmp_path / "r", cases)
    found = pick(run.summary(by=[]), bin="all", metric="slowdown")
    assert (found.n, found.ci_method) == (24, "from 5 replications")
    apart = [Made({"load": n}, [1.0, 2.0], replication=n) for n in (0, 1)]
    found = pick(make_run(tmp_path / "s", apart).summary(by=[]), bin="all", metric="slowdown")
    assert found.needs["mean"].why == "no replication that all cases have"


def run_of_both(run):
    """The batches of all cases together."""
    no_columns = []
    (group,) = groups_of(run.directory, run.ledger, no_columns, warmup=True)
    return group.sample.observed("slowdown").batches(Basis.WHOLE)


def test_replications(tmp_path):
    means = [2, 3, 7, 4, 4]
    cases = [Made({}, [v - 1.0, v + 1.0], replication=r) for r, v in enumerate(means)]
    found = pick(make_run(tmp_path / "r", cases).summary(), bin="all", metric="slowdown")
    assert found.mean == 4
    r = 2.77644510520 * np.sqrt(14 / 4 / 5) / 3  # the smallest is 1
    assert found.ci95 == pytest.approx((1 + 3 / (1 + r), 1 + 3 * (1 + r + 3 * r**2 + 6 * r**3)))
    assert found.ci_method == "from 5 replications"
    few = pick(make_run(tmp_path / "s", cases[:4]).summary(), bin="all", metric="slowdown")
    assert (few.ci95, few.needs["mean"].replications) == (None, 5)
    said = f"it takes 5 replications (sojourn run {tmp_path}/s/study.toml --replications 5 --out"
    assert said in repr(Run.open(tmp_path / "s").summary())


def test_the_warmup_is_left_out_and_counted(tmp_path):
    slowdown = np.concatenate([np.linspace(50, 2, 49), np.tile([1.0, 2.0], 475), [1.0]])
    slowdown = np.insert(slowdown, [3, 500], NAN)
    run = make_run(tmp_path / "r", [Made({}, slowdown)])
    found = pick(run.summary(), bin="all", metric="slowdown")
    assert (found.n, found.warmup, found.unfinished) == (951, 49, 2)
    assert found.max == 2
    kept = pick(run.summary(warmup=False), bin="all", metric="slowdown")
    assert (kept.n, kept.warmup, kept.unfinished, kept.max) == (1000, 0, 2, 50)


def test_a_warmup_of_ones_own(command, tmp_path):
    slowdown = [9.0, 9.0, NAN, 1.0, 2.0]
    made = Made({}, slowdown, arrived_ps=[0, 1000, 1500, 2000, 3000])
    run = make_run(tmp_path / "r", [made])
    found = pick(run.summary(warmup="2ns"), bin="all", metric="slowdown")
    assert (found.n, found.warmup, found.unfinished, found.mean) == (2, 2, 1, 1.5)
    shown = command("show", run.path, "--warmup", "2ns")
    assert "warm-up: jobs left out, that arrived before 2ns" in shown.out
    whole = command("show", run.path, "--warmup", "none")
    assert whole.code == 0
    assert "warm-up:" not in whole.out
    for wrong in ("2", "2KB", "2Gbps", "soons", ""):
        result = command("show", run.path, "--warmup", wrong)
        assert result.code == 2
        assert f"warm-up {wrong!r}: expected a time like 10ms" in result.err


def test_groups_by_axes_parameters_and_columns_of_the_rows(tmp_path):
    cases = [
        Made({"scheme": name, "load": load}, [load * 10, load * 10 + 1], kind=["query", "reply"])
        for name in ("A", "B")
        for load in (0.2, 0.4)
    ]
    run = make_run(tmp_path / "r", cases)

    def means(by):
        return [
            (*e.case.values(), e.kind, e.mean)
            for e in run.summary(by=by)
            if e.bin == "all" and e.metric == "slowdown"
        ]

    assert means(None)[:3] == [
        ("A", 0.2, "query", 2),
        ("A", 0.2, "reply", 3),
        ("A", 0.4, "query", 4),
    ]
    assert means("load") == means(["workload.load"])
    assert means("load")[0] == (0.2, "query", 2)
    assert means(["topology.k"]) == means(["k"]) == [(6, "query", 3), (6, "reply", 4)]
    assert means(["kind"]) == [("query", "query", 3), ("reply", "reply", 4)]


@pytest.mark.parametrize(
    ("by", "said"),
    [("laod", "did you mean 'load'"), ("scehme", "did you mean 'scheme'")],
)
def test_an_unknown_column_is_named_with_the_nearest(tmp_path, by, said):
    run = make_run(tmp_path / "r", [Made({"scheme": "A", "load": 0.5}, [1, 2])])
    with pytest.raises(InputError, match=said):
        run.summary(by=by)


def test_percentiles_that_are_the_same_to_six_digits_are_one(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, 2])])
    summary = run.summary(percentiles=[50, 50.00000001, 99.99999, 100])
    assert summary.percentiles == ("p50", "p99.99999", "p100")
    assert [*summary.estimates[0].quantiles] == ["p50", "p99.99999", "p100"]


@pytest.mark.parametrize("percentile", [-1, 100.5, NAN, 99.99999999])
def test_a_percentile_out_of_range(tmp_path, percentile):
    run = make_run(tmp_path / "r", [Made({}, [1, 2])])
    with pytest.raises(InputError, match="expected 0 to 100"):
        run.summary(percentiles=[percentile])


def test_a_notebook_sees_tables(tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    run = make_run(tmp_path / "r", [Made({"scheme": "<A>", "load": 0.5}, [1, 2, 3])])
    summary = run.summary()
    assert "&lt;A&gt;" in summary._repr_html_()
    assert "ideal: one nanosecond" in summary._repr_html_()
    frame = summary.to_pandas()
    assert frame.loc[0, ["scheme", "load", "n", "mean"]].tolist() == ["<A>", 0.5, 3, 2]


def test_rows_can_be_grouped_by_traffic_class(tmp_path):
    run = sojourn.run(f"{STUDY}classes = [1, 1]\n", out=tmp_path / "run")
    counts = {e.case["class"]: e.n for e in run.summary(by="class", warmup=False) if e.bin == "all"}
    assert [*counts] == ["0", "1"]
    assert sum(counts.values()) == 60


def test_flows_that_never_end_have_a_goodput_and_nothing_else(tmp_path):
    """Jain's index by hand: (1 + 2 + 3 + 4)^2 / (4 (1 + 4 + 9 + 16)) = 100 / 120."""
    goodput = [3e6, 1e6, 4e6, 2e6]
    nothing = [NAN] * 4
    made = Made({}, nothing, [0, 1, 2, 3], kind=["bulk"] * 4, goodput_bps=goodput)
    summary = make_run(tmp_path / "r", [made]).summary()
    (found,) = summary
    assert (found.kind, found.bin, found.metric) == ("bulk", "all", "goodput_bps")
    assert (found.n, found.unfinished, found.warmup, found.ci95) == (4, 0, 0, None)
    assert (found.mean, found.max, found.quantiles["p50"]) == (2.5e6, 4e6, 2.5e6)
    low, high = 1.15e6, 3.85e6
    assert found.shares == pytest.approx(
        {
            "min": 1e6,
            "p5": low,
            "p50": 2.5e6,
            "p95": high,
            "spread": high / low,
            "jain": 100 / 120,
            "above_mean": 0.5,
        }
    )
    assert found.flat()["jain"] == found.shares["jain"]
    table = repr(summary)
    assert "goodput mean [Mb/s]" in table
    assert "slowdown" not in table
    assert "0.8333" in table


def test_a_starved_flow_counts_and_makes_the_spread_endless(tmp_path):
    made = Made({}, [NAN] * 4, [0] * 4, kind=["bulk"] * 4, goodput_bps=[0.0, 0.0, 0.0, 8.0])
    (found,) = make_run(tmp_path / "r", [made]).summary()
    assert (found.n, found.shares["jain"], found.shares["spread"]) == (4, 0.25, None)
    made = Made({}, [NAN] * 2, kind=["bulk"] * 2, goodput_bps=[0.0, 0.0])
    (found,) = make_run(tmp_path / "s", [made]).summary()
    assert (found.n, found.shares["jain"]) == (2, 1)


def test_flows_that_never_end_stand_beside_others(tmp_path):
    """The warm-up is not theirs, they are not unfinished, and each kind has its own table."""
    slowdown = [NAN, NAN, *[1000.0] * 5, *[1.0] * 95]
    kinds = ["bulk", "bulk", *["flow"] * 100]
    goodput = [1e9, 3e9, *[NAN] * 100]
    summary = make_run(
        tmp_path / "r", [Made({}, slowdown, kind=kinds, goodput_bps=goodput)]
    ).summary()
    bulk = pick(summary, kind="bulk", metric="goodput_bps")
    assert (bulk.n, bulk.warmup, bulk.mean) == (2, 0, 2e9)
    flows = pick(summary, kind="flow", bin="all", metric="slowdown")
    assert (flows.n, flows.unfinished, flows.warmup) == (97, 0, 3)
    assert "slowdown mean" in repr(summary)
    assert "Jain" in repr(summary)


def test_goodputs_of_replications_have_an_interval(tmp_path):
    """Five replications, and not the flows of one: these share what there is."""
    nothing = [NAN, NAN]
    cases = [
        Made({}, nothing, kind=["bulk"] * 2, goodput_bps=goodput, replication=number)
        for number, goodput in enumerate([[1.0, 3.0], [3.0, 5.0], [2.0, 4.0], [1.0, 4.0], [2.0, 5]])
    ]
    (found,) = make_run(tmp_path / "r", cases).summary()
    low, high = found.ci95
    assert low < found.mean == 3 < high
    assert found.ci_method == "from 5 replications"


def test_queries_have_their_times_in_a_table(tmp_path):
    kinds = ["query", "query", "response", "response", "flow"]
    summary = make_run(tmp_path / "r", [Made({}, [2e6, 4e6, 1e6, 2e6, 5], kind=kinds)]).summary()
    (line,) = [line for line in repr(summary).splitlines() if line.startswith(" query ")]
    assert line.split()[1:10] == ["2", "0", "0", "3", "3", "3.8", "3.9", "3.98", "4"]
    assert "completion time of a query: until the last byte" in repr(summary)
    plain = make_run(tmp_path / "s", [Made({}, [1, 2])]).summary()
    assert "query" not in repr(plain)


def test_jobs_have_their_times_in_a_table(tmp_path):
    kinds = ["flow", "flow", "flow", "job", "job"]
    summary = make_run(tmp_path / "r", [Made({}, [1e6, 2e6, 5, 2e6, 4e6], kind=kinds)]).summary()
    (line,) = [line for line in repr(summary).splitlines() if line.startswith(" job ")]
    assert line.split()[1:10] == ["2", "0", "0", "3", "3", "3.8", "3.9", "3.98", "4"]
    assert "completion time of a job: from the begin of its first message" in repr(summary)
    assert {e.kind for e in summary} == {"flow", "job"}


def test_a_busy_queue_is_not_made_to_look_idle_by_its_warmup(tmp_path):
    generator = np.random.default_rng(20)
    cases = [
        Made({"study": study}, mm1(generator, 0.9, 6000), replication=replication)
        for study in range(20)
        for replication in range(10)
    ]
    run = make_run(tmp_path / "r", cases)
    found = [e for e in run.summary() if (e.bin, e.metric) == ("all", "slowdown")]
    # The exact mean is 10; runs that begin empty are a little below. A cut that is chosen by what
    # was seen takes away busy beginnings: 9.36.
    assert np.mean([e.mean for e in found]) == pytest.approx(10, abs=0.45)


def test_rows_that_lack_a_column_are_refused_by_name(tmp_path):
    path = make_run(tmp_path / "made", [Made({}, [1, 2, 3])]).directory.rows(0, 0)
    with pytest.raises(
        InputError, match=rf"{path}: not a readable Parquet file \(no column size\)"
    ):
        rows.read(path, ["job", "size"])
