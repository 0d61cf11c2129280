"""Intervals against their own text, slowly, and against queues whose truth is known."""

from functools import cache
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sojourn.intervals import Model, by_the_pilot, mean_interval, quantile_interval, warmup

EXPONENTIAL = 24.0  # the fourth moment over the fourth power of the mean
SHARES = [None, 0.5, 0.95, 0.99]


@cache
def queues(load: float, jobs: int, number: int, seed: int = 1) -> np.ndarray:
    """Sojourn times in M/M/1 queues that begin empty, by Lindley's recursion, a row a queue."""
    random = np.random.default_rng(seed)
    gaps, services = random.exponential([[[1 / load]], [[1.0]]], (2, jobs, number))
    waits, found = np.zeros(number), np.empty((jobs, number))
    for job in range(jobs):
        waits = np.maximum(waits + services[job - 1] - gaps[job], 0) if job else waits
        found[job] = waits + services[job]
    return found.T


def truth(load: float, share: float | None) -> float:
    """Sojourn times in M/M/1 are exponential."""
    return 1 / (1 - load) * (1 if share is None else -log(1 - share))


def interval(runs, share):
    return mean_interval(runs) if share is None else quantile_interval(runs, share)


def after_warmup(series: np.ndarray, runs: int) -> list[list[np.ndarray]]:
    """So many runs at a time, without their warm-up."""
    kept = series[:, warmup(series.shape[1]) :]
    return [list(kept[i : i + runs]) for i in range(0, len(kept), runs)]


def covered(found: list, of: float) -> list[bool]:
    return [ends is not None and ends[0] <= of <= ends[1] for ends in found]


def covers(hits: list[bool]) -> bool:
    """Whether a coverage is that of a 95 % interval, within three standard errors."""
    return abs(np.mean(hits) - 0.95) < 3 * sqrt(0.95 * 0.05 / len(hits))


@pytest.mark.parametrize(
    ("load", "jobs", "runs"), [(0.5, 20_000, 1), (0.8, 20_000, 1), (0.8, 5_000, 5)]
)
def test_what_a_model_allows_covers(load: float, jobs: int, runs: int) -> None:
    model = Model(load=load, arrivals=1, services=1, fourth=EXPONENTIAL)
    said = 0
    for share in SHARES:
        if model.withholds(share, runs, jobs) is None:
            found = [
                interval(one, share) for one in after_warmup(queues(load, jobs, 300 * runs), runs)
            ]
            assert covers(covered(found, truth(load, share))), share
            said += 1
    assert said == 3  # the mean, the median, and the 95th percentile


@pytest.mark.parametrize(("load", "least"), [(0.5, 0.95), (0.8, 0.5)])
def test_what_the_pilot_allows_covers(load: float, least: float) -> None:
    for share in (None, 0.5, 0.95):
        judged = [by_the_pilot(runs, share) for runs in after_warmup(queues(load, 20_000, 300), 1)]
        said = [interval(main, share) for main, withheld in judged if withheld is None]
        assert len(said) >= least * len(judged)
        assert covers(covered(said, truth(load, share))), share


@pytest.mark.parametrize(("load", "jobs"), [(0.8, 5_000), (0.95, 20_000), (1.0, 20_000)])
def test_of_runs_too_short_hardly_one_is_wrong(load: float, jobs: int) -> None:
    model = Model(load=load, arrivals=1, services=1, fourth=EXPONENTIAL)
    for share in (None, 0.95):
        assert model.withholds(share, 1, jobs) is not None
        judged = [by_the_pilot(runs, share) for runs in after_warmup(queues(load, jobs, 300), 1)]
        said = [interval(main, share) for main, withheld in judged if withheld is None]
        of = truth(load, share) if load < 1 else inf
        wrong = len(said) - sum(covered(said, of))
        assert len(said) < 0.2 * len(judged)
        assert wrong <= 0.02 * len(judged)


def test_how_long_a_model_wants_its_runs() -> None:
    """The lengths from which on it speaks, of the page that the rule comes from."""
    mm1 = Model(load=0.8, arrivals=1, services=1, fourth=EXPONENTIAL)
    assert mm1.length(20_000) == pytest.approx(20_000 / (2 / 0.04 + 24 / 8))
    assert mm1.withholds(None, 1, 7_951) is None
    assert mm1.withholds(0.95, 1, 15_901) is None
    assert mm1.withholds(0.99, 1, 106_001) is None
    withheld = mm1.withholds(0.95, 1, 7_950)
    assert withheld is not None
    assert withheld.times == pytest.approx(2)
    # each of several runs has to be long, as what they begin with is common to all
    assert mm1.withholds(None, 40, 1_000) is not None
    # beyond the 99th percentile as much longer as fewer observations are
    rare = mm1.withholds(0.999, 1, 106_000)
    assert rare is not None
    assert rare.times == pytest.approx(10)
    assert Model(load=1.0, arrivals=1, services=1, fourth=24).withholds(0.5, 1, 10**9) == (inf,)
    assert Model(load=0.5, arrivals=1, services=inf, fourth=inf).withholds(None, 1, 10**9) == (inf,)
    # of a median at a low load no more is asked than of the mean
    idle = Model(load=0.01, arrivals=1, services=0, fourth=1)
    few = idle.withholds(0.95, 1, 1_000)
    assert few is not None
    assert few.times == pytest.approx(80 / 50 / 0.95)
    assert idle.withholds(0.05, 1, 1_000) == few


def slow_half_width(batches: np.ndarray, by_chance: float) -> float:
    """The formula, term by term."""
    values = batches.ravel()
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    products = sum(
        (row[i] - mean) * (row[i + 1] - mean) for row in batches for i in range(len(row) - 1)
    )
    phi = min(max(products / squares - by_chance, 0), 0.95)
    t = stats.t.ppf(0.975, len(values) - 1)
    return t * sqrt(squares / (len(values) - 1) / len(values)) * sqrt((1 + phi) / (1 - phi))


def batches_of(runs: list[np.ndarray]) -> np.ndarray:
    each = max(2, -(-20 // len(runs)))
    size = len(runs[0]) // each
    return np.array(
        [[run[len(run) - size * (each - i) :][:size] for i in range(each)] for run in runs]
    )


@given(
    runs=st.integers(1, 7),
    jobs=st.integers(40, 200),
    walk=st.floats(0, 1),
    least=st.sampled_from([0.0, 100.0]),
    seed=st.integers(0, 99),
)
def test_intervals_are_their_text(
    runs: int, jobs: int, walk: float, least: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    steps = random.exponential(1, (runs, jobs))
    series = [least + (1 - walk) * row + walk * np.abs(np.cumsum(row - 1)) for row in steps]
    batches = batches_of(series)
    means = batches.mean(axis=2)
    above = means.mean() - min(row.min() for row in series)
    r = slow_half_width(means, 0.1) / above
    least = means.mean() - above
    ends = mean_interval(series)
    assert ends == pytest.approx(
        (least + above / (1 + r), least + above * (1 + r + 3 * r**2 + 6 * r**3))
    )

    share = 0.8
    pooled = np.sort(batches.ravel())

    def too_low(x: float) -> bool:
        over = (batches > x).mean(axis=2)
        tail = over.mean()
        r = slow_half_width(over, 0) / tail if tail and over.std() else 0.0
        return tail / (1 + r + r**2 / 2) > 1 - share

    def too_high(x: float) -> bool:
        over = (batches >= x).mean(axis=2)
        tail = over.mean()
        r = slow_half_width(over, 0) / tail if tail and over.std() else 0.0
        return tail * (1 + r + r**2) < 1 - share

    found = quantile_interval(series, share)
    if found is None:
        assert not too_high(pooled[-1])
        return
    low, high = found
    assert not too_low(low)
    assert not too_high(high)
    assert low <= np.percentile(pooled, 80, method="inverted_cdf") <= high


def test_a_constant_has_no_interval_and_a_shift_moves_it() -> None:
    runs = list(queues(0.5, 2_000, 2))
    assert mean_interval([np.full(777, 0.1)]) is None
    low, high = mean_interval(runs)
    assert mean_interval([run + 1000 for run in runs]) == pytest.approx((low + 1000, high + 1000))
    low, high = quantile_interval(runs, 0.9)
    assert quantile_interval([run + 1000 for run in runs], 0.9) == pytest.approx(
        (low + 1000, high + 1000)
    )
    constant, withheld = by_the_pilot([np.full(1000, 3.0)], None)
    assert withheld is not None
    assert constant[0].size == 750
    # exp(-20) of so few observations lie beyond: the largest is no upper end
    assert quantile_interval(runs, 1 - exp(-20)) is None


def test_what_is_independent_has_its_interval() -> None:
    """Neighbours that are not correlated have no slow part that a run could be too short for."""
    series = np.random.default_rng(1).exponential(1, (300, 20_000))
    judged = [by_the_pilot([row], None) for row in series]
    said = [mean_interval(main) for main, withheld in judged if withheld is None]
    assert len(said) > 0.95 * len(judged)
    assert covers(covered(said, 1.0))


@pytest.mark.parametrize("share", [-0.1, 0.0, 1.0, 1.5])
def test_what_is_no_quantile(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile_interval([np.arange(100.0)], share)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Model(load=0.5, arrivals=1, services=1, fourth=24).withholds(share, 1, 100)


def test_runs_are_of_one_length() -> None:
    with pytest.raises(ValueError, match="expected one length"):
        mean_interval([np.arange(100.0), np.arange(50.0)])
    with pytest.raises(ValueError, match="expected one length"):
        mean_interval([])
