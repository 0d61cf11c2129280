"""Two runs beside each other: matched by what they sweep, apart by hand-computed numbers."""

import re
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from conftest import IDEAL_PS, Made, make_run
from share import share
from sojourn._internal.errors import InputError
from sojourn.analysis.comparison import between, compare
from sojourn.analysis.comparison.difference import Difference
from sojourn.analysis.comparison.verdict import Outcome
from sojourn.analysis.statistics import holm, ks_distance, ks_probability, sign_flip_probability
from sojourn.api.handles import Run
from sojourn.presentation.comparison_plot import draw
from sojourn.store.ledger import Ledger

SAMPLE = st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, np.inf]), min_size=1, max_size=30)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of scipy's p-value, which nobody asked for
@given(SAMPLE, SAMPLE)
def test_the_distance_is_scipys(a, b):
    a, b = np.array(a), np.array(b)
    assert ks_distance(a, b) == pytest.approx(ks_2samp(a, b, method="asymp").statistic, abs=1e-12)


def two(tmp_path, a, b):
    return make_run(tmp_path / "a", a), make_run(tmp_path / "b", b)


def per_cent(one):
    return {name: d and d.per_cent for name, d in one.differences.items()}


def test_one_case_each_is_a_pair_whatever_it_is(tmp_path):
    a, b = two(
        tmp_path,
        [Made({"scheme": "A"}, [1, 2, 3, 4])],
        [Made({"load": 0.5}, [2, 4, 6, 8])],
    )
    slowdown, sojourn_ps = compare(a, b, percentiles=[50], warmup=False)
    assert slowdown.case == {}
    assert (slowdown.a.metric, sojourn_ps.a.metric) == ("slowdown", "sojourn_ps")
    assert (slowdown.a.mean, slowdown.b.mean) == (2.5, 5)
    assert per_cent(slowdown) == {"mean": 100, "p50": 100, "max": 100}
    # up to 4 lie all of A's jobs and half of B's
    assert slowdown.ks == 0.5
    assert (sojourn_ps.a.mean, sojourn_ps.ks) == (2.5 * IDEAL_PS, 0.5)


def test_cases_are_matched_by_the_parameters_either_run_sweeps(tmp_path):
    a, b = two(
        tmp_path,
        [Made({"load": load}, [10 * load] * 3) for load in (0.2, 0.5, 0.8)],
        [Made({"load": load}, [11 * load] * 3) for load in (0.8, 0.2)],
    )
    found = compare(a, b, metrics=["slowdown"], warmup=False)
    assert [one.case for one in found] == [{"load": 0.2}, {"load": 0.8}]
    for one in found:
        assert per_cent(one)["mean"] == pytest.approx(10)
    assert found.unmatched == (1, 0)


def test_a_parameter_that_only_one_run_sweeps_is_looked_up_in_the_other(tmp_path):
    a, b = two(
        tmp_path,
        [Made({"load": load, "k": 6}, [load]) for load in (0.2, 0.5)],
        [Made({"load": 0.5}, [1], replication=r) for r in (0, 1)],
    )
    (one,) = compare(a, b, metrics=["slowdown"], warmup=False)
    assert one.case == {"load": 0.5, "k": 6}
    assert (one.a.n, one.b.n) == (1, 2)


def test_kinds_stand_apart_and_only_common_ones_are_compared(tmp_path):
    a, b = two(
        tmp_path,
        [Made({}, [1, 2, 3], kind=["flow", "query", "flow"])],
        [Made({}, [4, 5], kind=["flow", "answer"])],
    )
    found = compare(a, b, metrics=["slowdown"], warmup=False)
    assert [(one.a.kind, one.a.mean, one.b.mean) for one in found] == [("flow", 2, 4)]


def test_size_bins_where_jobs_fall_into_several(tmp_path):
    sizes = [1000, 200_000]
    a, b = two(
        tmp_path,
        [Made({}, [1, 10], size_bytes=sizes)],
        [Made({}, [2, 30], size_bytes=sizes)],
    )
    found = compare(a, b, metrics=["slowdown"], warmup=False)
    means = [(one.a.bin, per_cent(one)["mean"]) for one in found]
    assert means == [
        ("all", pytest.approx(100 * (16 / 5.5 - 1))),
        ("(0,100KB]", 100),
        ("(100KB,10MB]", 200),
    ]


def test_an_unfinished_job_took_longer_than_all_others(tmp_path):
    a, b = two(tmp_path, [Made({}, [1, 2])], [Made({}, [1, np.nan])])
    slowdown, _ = compare(a, b, warmup=False)
    assert (slowdown.b.n, slowdown.b.unfinished) == (1, 1)
    assert slowdown.ks == 0.5


def test_a_run_without_finished_jobs_has_no_distance(tmp_path):
    a, b = two(tmp_path, [Made({}, [1, 2])], [Made({}, [np.nan])])
    slowdown, _ = compare(a, b, percentiles=[50], warmup=False)
    assert slowdown.differences == {"mean": None, "p50": None, "max": None}
    assert slowdown.ks == 1  # all of A's jobs are done before any of B's
    assert slowdown.beyond(50) == ["mean", "p50"]


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (
            [Made({"load": x, "mix": "m"}, [1]) for x in (0.1, 0.2)],
            [Made({"load": x, "mix": "m"}, [1]) for x in (0.3, 0.4)],
            ["share no case", "load is 0.1, 0.2 and 0.3, 0.4"],
        ),
        (
            [Made({"x": x, "y": y}, [1]) for x, y in ((1, 1), (2, 2))],
            [Made({"x": x, "y": y}, [1]) for x, y in ((1, 2), (2, 1))],
            ["share no case", "no combination of x, y"],
        ),
        (
            [Made({"load": x}, [1]) for x in (0.1, 0.2)],
            [Made({"scheme": x}, [1]) for x in ("A", "B")],
            ["no parameter 'scheme'", "the other run's cases differ"],
        ),
        ([Made({}, [1], kind=["x"])], [Made({}, [1], kind=["y"])], ["share no kind of job"]),
        ([], [Made({}, [1])], ["no case is finished"]),
    ],
)
def test_runs_that_share_nothing(tmp_path, command, a, b, words):
    two(tmp_path, a, b)
    result = command("compare", tmp_path / "a", tmp_path / "b")
    assert (result.code, result.out) == (2, "")
    for word in words:
        assert word in result.err


def seeded(run, seed):
    """The same run, which says that it was drawn with a seed."""
    run.directory.meta.write_text(f'{{"version": "0", "seed": {seed}}}\n')
    return Run.open(run.path)


def replicated(means, numbers, arrived_ps=(0, 1)):
    return [
        Made({}, [mean - 0.5, mean + 0.5], replication=n, arrived_ps=arrived_ps)
        for mean, n in zip(means, numbers, strict=True)
    ]


def test_the_difference_of_pairs_is_that_of_their_own_ratios(tmp_path):
    # every replication of B takes a tenth longer: the pairs leave nothing to chance
    means = [2, 5, 11, 4, 7]
    a, b = two(
        tmp_path,
        replicated(means, range(5)),
        [
            Made({}, [1.1 * v for v in m.slowdown], replication=m.replication, arrived_ps=[0, 9])
            for m in replicated(means, range(5))
        ],
    )
    independent = compare(a, b, warmup=False)
    (slowdown, _) = compare(seeded(a, 1), seeded(b, 1), warmup=False)
    assert slowdown.differences["mean"].per_cent == pytest.approx(10)
    assert slowdown.differences["mean"].ci95 == (pytest.approx(10), pytest.approx(10))
    assert not slowdown.differences["mean"].by_chance
    assert slowdown.method == "over 5 pairs of replications"
    other, _ = independent
    assert other.method == "independent runs"
    low, high = other.differences["mean"].ci95
    assert low < -20 < 40 < high
    assert other.differences["mean"].by_chance > 0.5


def test_of_one_seed_only_common_replications_are_compared(tmp_path):
    a, b = two(
        tmp_path,
        replicated([2, 4, 2, 4, 3, 93], range(6)),
        replicated([3, 5, 3, 5, 4, 10], [0, 1, 2, 3, 4, 9]),
    )
    slowdown, _ = compare(seeded(a, 1), seeded(b, 1), warmup=False)
    assert (slowdown.a.mean, slowdown.b.mean) == (3, 4)
    assert slowdown.method == "over 5 pairs of replications"
    other, _ = compare(seeded(a, 1), seeded(b, 2), warmup=False)
    assert (other.a.mean, other.b.mean) == (18, 5)


def test_measured_and_simulated_rows_of_the_same_jobs_are_pairs(tmp_path):
    own, others = [2, 4, 2, 4, 3], [3, 5, 3, 5, 4]
    a, b = two(tmp_path, replicated(own, range(5)), replicated(others, range(5)))
    b.directory.meta.write_text('{"version": "0", "seed": 1, "measured": "here"}\n')
    slowdown, _ = compare(seeded(a, 1), Run.open(b.path), warmup=False)
    assert slowdown.method == "over 5 pairs of replications"
    other = make_run(tmp_path / "c", replicated(others, range(5), arrived_ps=(0, 2)))
    other.directory.meta.write_text('{"version": "0", "seed": 1, "measured": "here"}\n')
    slowdown, _ = compare(seeded(a, 1), Run.open(other.path), warmup=False)
    assert slowdown.method == "independent runs"


def test_the_same_jobs_are_left_out_of_both(tmp_path):
    values = np.concatenate([np.full(20, 100.0), np.tile([1.0, 2.0], 190)])
    a, b = two(tmp_path, [Made({}, values)], [Made({}, np.tile([2.0, 4.0], 200))])
    slowdown, _ = compare(a, b)
    assert slowdown.a.n == slowdown.b.n == 380
    assert slowdown.differences["mean"].per_cent == pytest.approx(100)


def test_of_a_measurement_and_its_simulation_none_is_better(tmp_path):
    slow, quick = replicated([2, 4] * 5, range(10)), replicated([1, 2] * 5, range(10))
    a, b = two(tmp_path, slow, quick)
    assert f"{b.path} is better, by 50.0 %" in compare(a, b, warmup=False).verdicts[0].sentence
    b.directory.meta.write_text('{"version": "0", "seed": 1, "measured": "here"}\n')
    assert (
        f"{b.path} is lower, by 50.0 %"
        in compare(a, Run.open(b.path), warmup=False).verdicts[0].sentence
    )


def test_slowdowns_over_different_ideals_are_not_compared(tmp_path, command):
    a, b = two(tmp_path, replicated([2, 4], [0, 1]), replicated([3, 5], [0, 1]))
    other = make_run(
        tmp_path / "c",
        [
            replace(made, figures={"ideal": "ideal: the quickest of its run"})
            for made in replicated([2, 4], [0, 1])
        ],
    )
    assert [one.a.metric for one in compare(a, b)] == ["slowdown", "sojourn_ps"]
    found = compare(a, other)
    assert [one.a.metric for one in found] == ["sojourn_ps"]
    assert any(
        line.startswith("slowdown is not compared: the runs mean") for line in found.cautions
    )
    refused = command("compare", a.path, other.path, "--metric", "slowdown")
    assert (refused.code, "slowdown cannot be compared: the runs mean" in refused.err) == (2, True)


def test_a_measurement_on_a_busy_machine_says_so(tmp_path):
    a, b = two(
        tmp_path,
        [Made({}, [1, 2], figures={"processors_busy": 0.991})],
        [Made({}, [1, 2], figures={"processors_busy": 0.2})],
    )
    (said,) = compare(a, b).cautions
    assert said.startswith(f"{a.path}: measured while the processors were up to 99% busy")
    assert any("up to 99% busy" in line for line in a.summary().cautions)


def test_a_measurement_beside_other_programs_says_so(tmp_path):
    figures = {"processors_busy": 0.5, "processors_busy_elsewhere": 0.4}
    quiet = {"processors_busy": 0.5, "processors_busy_elsewhere": 0.02}
    a, b = two(tmp_path, [Made({}, [1, 2], figures=figures)], [Made({}, [1, 2], figures=quiet)])
    (said,) = compare(a, b).cautions
    assert said.startswith(f"{a.path}: measured while other programs took up to 40% of the")


def test_what_only_one_run_sweeps_is_found_among_tables(tmp_path):
    """`buffer` is short for scheme.queue.buffer, though there is a buffer.kind as well."""
    paths = {"scheme.queue.buffer": "15KB", "buffer.kind": "private"}
    one = make_run(tmp_path / "a", [Made({}, [1, 2])])
    many = make_run(tmp_path / "b", [Made({"buffer": size}, [2, 3]) for size in ("9KB", "15KB")])
    for run in (one, many):
        records = [
            replace(r, parameters={**paths, "scheme.queue.buffer": r.axes.get("buffer", "15KB")})
            for r in run.ledger
        ]
        Ledger(records).write(run.directory.cases)
    (found, _) = compare(Run.open(one.path), Run.open(many.path), warmup=False)
    assert found.case == {"buffer": "15KB"}
    assert Run.open(one.path).summary(by=["buffer"]).by == ("buffer",)


def test_one_replication_each_is_paired_in_batches(tmp_path):
    values = np.random.default_rng(1).uniform(1, 3, 2000)
    a, b = two(tmp_path, [Made({}, values)], [Made({}, 2 * values)])
    slowdown, _ = compare(seeded(a, 1), seeded(b, 1), warmup=False)
    assert slowdown.method == "over 20 pairs of batches in order of arrival"
    assert slowdown.differences["mean"].ci95 == (pytest.approx(100), pytest.approx(100))


def test_who_is_better_is_said(command, tmp_path):
    slow = replicated([2, 4, 2, 4, 3], range(5))
    quick = [replace(made, slowdown=[v / 2 for v in made.slowdown]) for made in slow]
    a, b = two(tmp_path, slow, quick)
    seeded(a, 1), seeded(b, 1)
    shown = command("compare", a.path, b.path, "--metric", "slowdown", "--warmup", "none").out
    said = f"flows, slowdown: {b.path} is better, by 50.0 % [50, 50] in the mean"
    assert said in " ".join(shown.split())
    back = command("compare", b.path, a.path, "--metric", "slowdown", "--warmup", "none").out
    assert f"{a.path} is worse, by 100.0 % [100, 100] in the mean" in " ".join(back.split())


def test_better_on_the_whole_is_a_trade_off_where_a_size_is_worse(tmp_path):
    generator = np.random.default_rng(5)
    sizes = [1000, 1000, 1000, 20_000_000] * 500

    def of(small, large):
        noise = generator.uniform(0.9, 1.1, 2000)
        return [Made({}, np.tile([small, small, small, large], 500) * noise, sizes)]

    a = make_run(tmp_path / "a", of(4, 2))
    trade, better, chance, slower = (
        make_run(tmp_path / name, of(*means))
        for name, means in {"b": (2, 4), "c": (2, 1.5), "d": (4, 2), "e": (2, 2.005)}.items()
    )
    (found,) = compare(a, trade, metrics=["slowdown"], warmup=False).verdicts
    assert found.outcome is Outcome.TRADE_OFF
    gain, loss = r"better in all sizes by 28\.\d %", r"worse in sizes over 10 MB by 100\.\d %"
    assert re.search(f"{gain}.*{loss}", found.sentence)
    assert "the distributions differ (KS" in found.sentence
    comparisons = compare(a, better, metrics=["slowdown"], warmup=False)
    (found,) = comparisons.verdicts
    assert found.outcome is Outcome.BETTER
    # Its mean has an interval; that the 99th percentile has none is no matter of the sentence.
    assert next(iter(comparisons)).differences["p99"].ci95 is None
    assert "long run" not in found.sentence
    (found,) = compare(a, slower, metrics=["slowdown"], warmup=False).verdicts
    assert found.outcome is Outcome.BETTER
    assert re.search(
        r"; worse in sizes over 10 MB by 0\.\d %.*, which may be chance", found.sentence
    )
    (found,) = compare(a, chance, metrics=["slowdown"], warmup=False).verdicts
    assert found.outcome is Outcome.CHANCE
    assert "differ by no more than chance" in found.sentence


def ten_times(draw, size=200):
    """Ten replications of what is drawn, whose jobs arrive together."""
    return [Made({}, draw(size), replication=r, arrived_ps=[5] * size) for r in range(10)]


def test_means_that_are_alike_do_not_hide_what_the_distributions_are(tmp_path):
    """As bulk flows: the mean is the uplink's rate on both sides."""
    generator = np.random.default_rng(6)
    a, b = two(
        tmp_path,
        ten_times(lambda size: generator.uniform(1.9, 2.1, size)),
        ten_times(lambda size: generator.choice([1.0, 2.0, 3.0], size)),
    )
    (found,) = compare(a, b, metrics=["slowdown"], percentiles=[50], warmup=False).verdicts
    assert "which may be chance" in found.sentence
    assert "the distributions differ (KS 0.3" in found.sentence


def deadlines(missed, replications=3):
    """Of a hundred jobs so many miss their deadlines, one more in each replication."""
    return [
        Made(
            {},
            [1.0] * 100,
            deadline_ps=[at + (500 if at < missed + r else 5000) for at in range(100)],
            replication=r,
        )
        for r in range(replications)
    ]


def test_missed_deadlines_are_compared_by_their_share(command, tmp_path):
    a, b = two(tmp_path, deadlines(0), deadlines(30))
    same, other = (compare(a, it, metrics=["missed_deadline"]) for it in (a, b))
    assert same.beyond(1) == []
    (one,) = other
    assert [*one.differences] == ["mean"]
    (verdict,) = other.verdicts
    assert "missed deadlines: " in verdict.sentence
    every = command("compare", a.path, b.path)
    assert (every.code, every.err) == (0, "")
    drawn = command(
        "compare", a.path, b.path, "--metric", "missed_deadline", "-o", tmp_path / "m.png"
    )
    assert (drawn.code, "nothing to draw" in drawn.err) == (2, True)


def test_who_leaves_jobs_undone_is_not_better(tmp_path):
    def drawn(size):
        return np.random.default_rng(size).uniform(1, 9, size)

    def given_up(size):
        return np.where(drawn(size) > 7, np.nan, drawn(size))

    a, b = two(
        tmp_path,
        *(
            [
                m
                for n in range(10)
                for m in [Made({}, of(200 + n), replication=n, arrived_ps=[5] * (200 + n))]
            ]
            for of in (drawn, given_up)
        ),
    )
    (found,) = compare(a, b, metrics=["slowdown"], warmup=False).verdicts
    assert found.outcome is Outcome.TRADE_OFF
    assert "unfinished, and so in no mean: 0 and " in found.sentence
    assert "the distributions differ" in found.sentence


def test_a_run_beside_itself_does_not_differ(tmp_path):
    run = make_run(tmp_path / "a", ten_times(np.random.default_rng(1).random))
    for verdict in compare(run, run).verdicts:
        assert "no difference in the mean" in verdict.sentence
        assert "differ by no more than chance" in verdict.sentence


def test_kinds_that_several_are_called_alike_are_told_apart(tmp_path):
    made = Made({}, [1e9, 2e9], kind=["message-50", "message"])
    run = make_run(tmp_path / "a", [made])
    said = [verdict.sentence.partition(":")[0] for verdict in compare(run, run).verdicts]
    assert said == ["message, half served, delay", "message, all served, delay"]


def test_holm_is_as_in_the_paper():
    """Four tests at 5 %: bounds 1.25, 1.67, 2.5 and 5 %, the first that fails ends it."""
    assert holm([0.03, 0.01, 0.016, 0.2]) == [False, True, True, False]
    assert holm([0.04, 0.03, 0.02, 0.013]) == [False] * 4
    assert holm([]) == []


def test_distances_by_chance_are_rare():
    """Of pairs of samples of one distribution about one in twenty is beyond chance."""
    generator = np.random.default_rng(3)
    pairs = share(200)
    for paired in (True, False):
        beyond = 0
        assert ks_probability([np.ones(9)] * 7, [np.zeros(9)] * 7, paired=paired) is None
        for _ in range(pairs):
            a, b = ([*generator.exponential(1, (20, 30))] for _ in range(2))
            beyond += ks_probability(a, b, paired=paired) <= 0.05
        assert 1 <= beyond <= 0.05 * pairs + 3 * (0.05 * 0.95 * pairs) ** 0.5


@pytest.fixture
def apart(tmp_path):
    """Two directories ten per cent apart."""
    loads = (0.2, 0.8)
    two(
        tmp_path,
        [Made({"load": load}, [1, 2, 3]) for load in loads],
        [Made({"load": load}, [1.1, 2.2, 3.3]) for load in loads],
    )
    return tmp_path / "a", tmp_path / "b"


@pytest.mark.parametrize(("within", "code"), [("10.1%", 0), ("9.9%", 1)])
def test_a_comparison_as_a_check(command, apart, within, code):
    result = command("compare", *apart, "--within", within, "--json")
    assert result.code == code
    assert result.document["holds"] is (code == 0)
    shown = command("compare", *apart, "--within", within)
    assert shown.code == code
    assert ("does not hold" in shown.out) is (code == 1)


@pytest.mark.parametrize(
    ("per_cent", "ci95", "in_a_table", "in_a_sentence"),
    [
        (12.5, (10.0, 15.0), "+12.5 % [10.0, 15.0]", "12.5 % [10.0, 15.0]"),
        (899.0, None, "+899.0 %", "899.0 %"),
        (4_909_202.1, None, "x 49,093", "a factor of 49,093"),
        (1400.0, (1300.0, 1500.0), "x 15 [14.0, 16.0]", "a factor of 15 [14.0, 16.0]"),
        (-98.0, None, "-98.0 %", "98.0 %"),
        (-99.5, (-99.6, -99.0), "/ 200 [100, 250]", "a factor of 200 [100, 250]"),
        (-100.0, None, "-100.0 %", "100.0 %"),
    ],
)
def test_large_differences_are_factors(per_cent, ci95, in_a_table, in_a_sentence):
    difference = Difference(per_cent, ci95)
    assert (difference.signed, str(difference)) == (in_a_table, in_a_sentence)


def test_what_a_factor_means_stands_below_the_table(command, tmp_path):
    cases = [Made({"load": 1}, [2.0] * 30), Made({"load": 1}, [900.0] * 30)]
    paths = [make_run(tmp_path / str(n), [made]).path for n, made in enumerate(cases)]
    told = " ".join(command("compare", *paths).out.split())
    assert "x 450" in told
    assert "x 12: twelve times as much, / 12: a twelfth" in told


def test_a_case_without_a_steady_state_is_named(command, tmp_path):
    overload = {"offered_utilisation": 1.2}
    cases = [
        Made({"failed": failed, "load": load}, [2.0] * 9, kind=["request"] * 9, figures=figures)
        for load in (1, 2)
        for failed, figures in (("none", {}), (0, overload if load == 2 else {}))
    ]
    run = make_run(tmp_path / "r", cases)
    told = command("compare", run.path, "--between", "failed=none,0").out
    assert "no disk failed and disk 0 failed" in told
    assert told.count("a case has no steady state (load 2): the difference grows") == 1
    assert "(load 1)" not in told


def test_the_document(command, apart):
    document = command(
        "compare", *apart, "--percentiles", "50", "--warmup", "none", "--json"
    ).document
    a = {"run": str(apart[0]), "title": "made up", "unmatched_cases": 0, "algorithms": []}
    assert document["a"] == a
    assert document["algorithms_differ_in"] == {}
    assert (document["within_percent"], document["holds"]) == (None, None)
    first = document["comparisons"][0]
    assert (first["case"], first["kind"], first["bin"]) == ({"load": 0.2}, "flow", "all")
    assert (first["metric"], first["a"]["p50"], first["b"]["p50"]) == ("slowdown", 2, 2.2)
    assert first["difference_percent"]["p50"] == pytest.approx(10)
    assert first["ks"] == pytest.approx(1 / 3)


def test_the_table_has_a_line_for_each_run_and_one_for_the_difference(command, apart):
    lines = command("compare", *apart, "--metric", "slowdown", "--warmup", "none").out.splitlines()
    rows = [line.split() for line in lines if " made" not in line]
    places = [i for i, row in enumerate(rows) if row[:4] == ["0.2", "flow", "all", "slowdown"]]
    assert len(places) == 1
    a, b, difference = rows[places[0] : places[0] + 3]
    assert a[-5:] == ["2", "2.8", "2.9", "2.98", "3"]
    assert b[-5:] == ["2.2", "3.08", "3.19", "3.278", "3.3"]
    assert difference[-1] == "0.333"
    assert difference[0] == "difference"
    assert difference[1::2][:6] == ["+10.0"] * 6


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--metric", "slowdwn"], ["no metric 'slowdwn'", "did you mean 'slowdown'"]),
        (["--within", "much"], ["--within 'much'", "like 5%"]),
        (["--within", "5"], ["--within '5'", "like 5%"]),
        (["--within", "-3"], ["--within '-3'"]),
        (["--percentiles", "101"], ["percentile 101"]),
        (["-o", "nowhere/x.gif"], ["a picture is one of"]),
    ],
)
def test_a_word_that_is_wrong(command, apart, more, words):
    result = command("compare", *apart, *more)
    assert (result.code, result.out) == (2, "")
    for word in words:
        assert word in result.err


def test_the_picture_has_a_panel_for_each_case_and_metric(command, apart, tmp_path):
    out = tmp_path / "pictures" / "both.svg"
    assert command("compare", *apart, "--warmup", "none", "-o", out).code == 0
    again = tmp_path / "again.svg"
    assert command("compare", *apart, "--warmup", "none", "-o", again).code == 0
    assert out.read_bytes() == again.read_bytes()


def test_the_lines_of_the_picture_are_distribution_functions(tmp_path):
    a, b = two(tmp_path, [Made({}, [3, 1, 2])], [Made({}, [5, 4, np.nan])])
    panel, _ = draw(compare(a, b, warmup=False)).axes
    first, second = panel.get_lines()
    assert first.get_xydata().tolist() == [[1, 0], [1, 1 / 3], [2, 2 / 3], [3, 1]]
    assert second.get_xydata().tolist() == [[4, 0], [4, 1 / 3], [5, 2 / 3]]
    assert first.get_label() == str(a.path)
    assert all(low <= high for low, high in pairwise(second.get_ydata()))


def test_more_cases_than_a_picture_holds(tmp_path):
    loads = [Made({"load": load / 100}, [1, 2]) for load in range(25)]
    a, b = two(tmp_path, loads, loads)
    with pytest.raises(InputError, match="25 cases do not fit"):
        draw(compare(a, b))


def test_two_values_of_a_column_within_a_run(command, tmp_path):
    run = make_run(
        tmp_path / "r",
        [
            Made({"scheme": scheme, "load": load}, [factor * load, 3 * factor * load])
            for scheme, factor in [("A", 10), ("B", 30), ("C", 1)]
            for load in (0.2, 0.8)
        ],
    )
    found = between(run, "scheme", ("A", "B"), metrics=["slowdown"], warmup=False)
    assert [one.case for one in found] == [{"load": 0.2}, {"load": 0.8}]
    assert [per_cent(one)["mean"] for one in found] == [pytest.approx(200)] * 2
    assert found.names == ("scheme A", "scheme B")
    shown = command("compare", run.path, "--between", "scheme = A, B", "--warmup", "none")
    assert "difference: per cent of scheme A" in shown.out


def test_values_with_commas_in_them(command, tmp_path):
    names = ("EDF", "EDF, demoting", "demoting")
    run = make_run(tmp_path / "r", [Made({"scheme": name}, [1, 2]) for name in names])
    for both, of in (("EDF, demoting,EDF", names[1]), ("EDF,demoting", names[0])):
        shown = command("compare", run.path, "--between", f"scheme={both}", "--warmup", "none")
        assert f"difference: per cent of scheme {of}" in shown.out
    wrong = command("compare", run.path, "--between", "scheme=EDF,EDF, promoting")
    assert (wrong.code, "expected COLUMN=A,B" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "expected a second run, or --between"),
        (["{run}", "--between", "scheme=A,B"], "RUN_B and --between: expected one of them"),
        (["--between", "scheme"], "--between 'scheme': expected COLUMN=A,B"),
        (["--between", "scheme=A"], "expected COLUMN=A,B"),
        (["--between", "scheme=A,B,A"], "expected COLUMN=A,B"),
        (["--between", "schme=A,B"], "no column 'schme', did you mean 'scheme'?"),
        (["--between", "scheme=A,b"], "no case with scheme 'b'"),
        (["--between", "kind=flow,query"], "'kind' differs from job to job"),
    ],
)
def test_what_is_not_two_values(command, tmp_path, more, words):
    run = make_run(tmp_path / "r", [Made({"scheme": s}, [1, 2]) for s in "AB"])
    result = command("compare", run.path, *(word.format(run=run.path) for word in more))
    assert (result.code, result.out) == (2, "")
    assert words in result.err


def test_signs_are_flipped_in_all_ways():
    random = np.random.default_rng(1)
    for number in (1, 5, 9):
        values = random.normal(0.5, 1, number)
        ways = [np.dot(signs, values) for signs in product((1, -1), repeat=number)]
        as_far = np.mean(np.abs(ways) >= abs(values.sum()) * (1 - 1e-12))
        assert sign_flip_probability(values) == pytest.approx(as_far)
    assert sign_flip_probability(np.ones(20)) == 2 / 2**20
    assert sign_flip_probability(np.ones(45)) == 2 / 2**20
    assert sign_flip_probability(np.zeros(20)) == 1
    chances = [sign_flip_probability(random.normal(0, 1, 20)) for _ in range(1000)]
    # 50 and 10 of a thousand, give or take three deviations
    assert 29 <= sum(chance <= 0.05 for chance in chances) <= 71
    assert 1 <= sum(chance <= 0.01 for chance in chances) <= 19
