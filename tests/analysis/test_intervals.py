"""Intervals against their own text, slowly, and against queues whose truth is known."""

import itertools
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from conftest import queues
from sojourn.analysis.intervals import Batches, mean_interval, quantile_interval, sectioned_interval
from sojourn.analysis.ratio_intervals import (
    independent_ratio_interval,
    mean_ratio_interval,
    quantile_ratio_interval,
    total_interval,
)

# Student's t at 97.5 % by degrees of freedom, from printed tables.
T1, T2 = 12.7062047364, 4.30265272991


def truth(load: float, share: float | None, slower: float = 1.0) -> float:
    """Sojourn times in M/M/1 are exponential."""
    return slower / (1 - load * slower) * (1 if share is None else -log(1 - share))


def without_warmup(series: np.ndarray) -> np.ndarray:
    return series[:, series.shape[1] // 20 :]


def covered(found: list, of: float) -> list[bool]:
    return [ends is not None and ends[0] <= of <= ends[1] for ends in found]


def covers(hits: list[bool]) -> bool:
    """Whether a coverage is that of a 95 % interval, within three standard errors."""
    return abs(np.mean(hits) - 0.95) < 3 * sqrt(0.95 * 0.05 / len(hits))


def ratio(over: Batches, under: Batches, share: float | None):
    if share is None:
        return mean_ratio_interval(over, under)
    return quantile_ratio_interval(over, under, share)


@pytest.mark.share
@pytest.mark.parametrize("together", [1.0, 0.2])
def test_a_ratio_covers_where_one_sample_is_ten_times_as_dense(together):
    """What moves both samples moves their shares above a quantile by as much as they are dense."""
    generator = np.random.default_rng(7)
    found = []
    for _ in range(300):
        common = generator.normal(0, 0.3, (20, 1))
        wide = 20 + 2 * common + generator.normal(0, 2, (20, 200))
        narrow = 10 + together * common + generator.normal(0, 0.2, (20, 200))
        batches = (Batches.cut([sample.ravel()]) for sample in (wide, narrow))
        found.append(quantile_ratio_interval(*batches, 0.5))
    assert covers(covered(found, 2.0))


@pytest.mark.share
@pytest.mark.parametrize(("of_wide", "of_narrow"), [(1.0, 0.0), (0.0, 0.5), (1.0, 1.0)])
def test_a_ratio_holds_the_truth_of_values_on_a_grid(of_wide, of_narrow):
    """A quantile that is one value of many observations is known only to the next value."""
    generator = np.random.default_rng(3)

    def on_grid(values, step):
        return np.round(values / step) * step if step else values

    for _ in range(60):
        over = on_grid(20 + generator.normal(0, 2, 4000), of_wide)
        under = on_grid(10 + generator.normal(0, 2, 4000), of_narrow)
        low, high = quantile_ratio_interval(Batches.cut([over]), Batches.cut([under]), 0.5)
        assert low <= 2 <= high


# Lengths at which each queue may have an interval: test_run_length.py has when that is.
@pytest.mark.share
@pytest.mark.parametrize("share", [None, 0.5, 0.95])
@pytest.mark.parametrize(("load", "slower", "jobs"), [(0.5, 1.1, 20_000), (0.8, 0.9, 20_000)])
def test_a_ratio_of_pairs_covers(load, slower, jobs, share):
    own = without_warmup(queues(load, jobs, 300))
    other = without_warmup(queues(load, jobs, 300, slower))
    found = [
        ratio(Batches.cut([b]), Batches.cut([a]), share) for a, b in zip(own, other, strict=True)
    ]
    assert covers(covered(found, truth(load, share, slower) / truth(load, share)))
    # common chance is worth something: pairs are narrower than independent runs would be
    apart = [
        independent_ratio_interval((of_b, ends_b), (of_a, ends_a))
        for (of_a, ends_a), (of_b, ends_b) in zip(
            *([estimate(row, share) for row in rows] for rows in (own, other)), strict=True
        )
    ]
    width = [np.median([high - low for low, high in ends]) for ends in (found, apart)]
    assert width[0] < 0.6 * width[1]


def estimate(row: np.ndarray, share: float | None):
    batches = Batches.cut([row])
    if share is None:
        return batches.mean, mean_interval(batches)
    return float(np.quantile(row, share)), quantile_interval(batches, share)


@pytest.mark.share
@pytest.mark.parametrize("share", [None, 0.5, 0.95])
def test_a_ratio_of_independent_runs_covers(share):
    rows = without_warmup(queues(0.8, 20_000, 300))
    found = [estimate(row, share) for row in rows]
    ends = [independent_ratio_interval(a, b) for a, b in zip(found[::2], found[1::2], strict=True)]
    assert covers(covered(ends, 1.0))


@pytest.mark.share
@pytest.mark.parametrize("share", [None, 0.5, 0.95])
def test_runs_that_differ_by_chance_alone_are_seldom_called_different(share):
    """The same arrivals and services, of which a few are served in another order."""
    random = np.random.default_rng(5)
    rows = without_warmup(queues(0.7, 20_000, 300))
    called = 0
    for row in rows:
        other = row + random.normal(0, 0.3, row.size) * (random.random(row.size) < 0.2)
        low, high = ratio(Batches.cut([other]), Batches.cut([row]), share)
        called += not low <= 1 <= high
    assert called <= 0.05 * len(rows) + 3 * sqrt(0.05 * 0.95 * len(rows))


def test_a_sample_over_itself_is_one():
    batches = Batches.cut([queues(0.5, 2_000, 1)[0]])
    assert mean_ratio_interval(batches, batches) == (1, 1)
    assert quantile_ratio_interval(batches, batches, 0.9) == pytest.approx((1, 1), abs=5e-3)
    twice = Batches.cut([2 * queues(0.5, 2_000, 1)[0]])
    assert mean_ratio_interval(twice, batches) == (2, 2)
    assert quantile_ratio_interval(twice, batches, 0.9) == pytest.approx((2, 2), abs=1e-2)


def test_a_ratio_that_is_hardly_known_does_not_reach_below_nothing():
    wild = Batches([np.array([mean]) for mean in (1.0, 300.0, 2.0, 900.0, 5.0)])
    calm = Batches([np.array([mean]) for mean in (3.0, 4.0, 3.5, 3.0, 4.0)])
    low, high = mean_ratio_interval(calm, wild)
    assert low == 0.0
    assert high > calm.mean / wild.mean


def test_what_has_no_ratio():
    batches = Batches.cut([queues(0.5, 2_000, 1)[0]])
    nothing = Batches.cut([np.zeros(2_000)])
    assert mean_ratio_interval(batches, nothing) is None
    assert quantile_ratio_interval(batches, nothing, 0.5) is None
    assert mean_ratio_interval(batches, Batches.cut([np.ones(50)] * 30)) is None
    assert independent_ratio_interval((1.0, (0.0, 2.0)), (1.0, (0.5, 2.0))) is None


def slow_half_width(batches: list[list[np.ndarray]], of, by_chance: float) -> tuple[float, float]:
    """The mean of something over all observations and its half-width, term by term."""
    sums = [[float(of(batch).sum()) for batch in run] for run in batches]
    counts = [[batch.size for batch in run] for run in batches]
    number = sum(len(run) for run in batches)
    total = sum(map(sum, counts))
    mean = sum(map(sum, sums)) / total
    off = [
        [(s - mean * n) * number / total for s, n in zip(*both, strict=True)]
        for both in zip(sums, counts, strict=False)
    ]
    squares = sum(value**2 for run in off for value in run)
    products = sum(a * b for run in off for a, b in itertools.pairwise(run))
    phi = min(max(products / squares - by_chance, 0), 0.95) if squares else 0
    t = stats.t.ppf(0.975, number - 1)
    return mean, t * sqrt(squares / (number - 1) / number) * sqrt((1 + phi) / (1 - phi))


def slow_batches(runs: list[np.ndarray]) -> list[list[np.ndarray]]:
    each = max(2, -(-20 // len(runs)))
    sizes = [len(run) // each for run in runs]
    return [
        [run[len(run) - size * (each - i) :][:size] for i in range(each)]
        for run, size in zip(runs, sizes, strict=True)
    ]


@given(
    lengths=st.lists(st.integers(40, 200), min_size=1, max_size=7),
    walk=st.floats(0, 1),
    least=st.sampled_from([0.0, 100.0]),
    seed=st.integers(0, 99),
)
def test_intervals_are_their_text(lengths, walk, least, seed):
    random = np.random.default_rng(seed)
    steps = [random.exponential(1, jobs) for jobs in lengths]
    series = [least + (1 - walk) * row + walk * np.abs(np.cumsum(row - 1)) for row in steps]
    batches = slow_batches(series)
    mean, half = slow_half_width(batches, lambda batch: batch, 0.1)
    smallest = min(batch.min() for run in batches for batch in run)
    above = mean - smallest
    r = half / above
    cut = Batches.cut(series)
    assert mean_interval(cut) == pytest.approx(
        (smallest + above / (1 + r), smallest + above * (1 + r + 3 * r**2 + 6 * r**3))
    )

    share = 0.8
    pooled = np.sort(np.concatenate([batch for run in batches for batch in run]))

    def too_low(x: float) -> bool:
        tail, half = slow_half_width(batches, lambda batch: batch > x, 0)
        r = half / tail if tail else 0.0
        return tail / (1 + r + r**2 / 2) > 1 - share

    def too_high(x: float) -> bool:
        tail, half = slow_half_width(batches, lambda batch: batch >= x, 0)
        r = half / tail if tail else 0.0
        return tail * (1 + r + r**2) < 1 - share

    found = quantile_interval(cut, share)
    if found is None:
        assert not too_high(pooled[-1])
        return
    low, high = found
    assert not too_low(low)
    assert not too_high(high)
    assert low <= np.percentile(pooled, 80, method="inverted_cdf") <= high


def test_a_constant_has_no_interval_and_a_shift_moves_it():
    runs = list(queues(0.5, 2_000, 2))
    assert mean_interval(Batches.cut([np.full(777, 0.1)])) is None
    own, moved = Batches.cut(runs), Batches.cut([run + 1000 for run in runs])
    low, high = mean_interval(own)
    assert mean_interval(moved) == pytest.approx((low + 1000, high + 1000))
    low, high = quantile_interval(own, 0.9)
    assert quantile_interval(moved, 0.9) == pytest.approx((low + 1000, high + 1000))
    # exp(-20) of so few observations lie beyond: the largest is no upper end
    assert quantile_interval(own, 1 - exp(-20)) is None
    assert mean_interval(Batches([[np.arange(5.0)]])) is None


def _atoms(number: int, above: float, rng: np.random.Generator) -> np.ndarray:
    """Values of which a share `above` is 5, the largest, and the others are between 1 and 2."""
    return np.where(rng.random(number) < above, 5.0, 1 + rng.random(number))


def test_the_largest_value_ends_an_interval_where_many_observations_share_it():
    rng = np.random.default_rng(7)
    own = Batches.cut([_atoms(20_000, 0.02, rng)])
    # 400 observations are 5 and none is larger: 200 of them would lie above a larger p99
    assert quantile_interval(own, 0.99) == (5, 5)
    assert quantile_interval(own, 0.9)[1] < 2
    # p98 lies at the border: 5, or next to 2
    low, high = quantile_interval(own, 0.98)
    assert (low < 2, high) == (True, 5)
    # of 600 observations 6 are expected above p99: too few to tell that none is
    assert quantile_interval(Batches.cut([_atoms(600, 0.02, rng)]), 0.99) is None
    assert quantile_interval(Batches.cut([np.full(20_000, 5.0)]), 0.99) is None


def test_intervals_of_atoms_contain_the_quantile():
    rng = np.random.default_rng(8)
    covered = np.zeros(3)
    for _ in range(300):
        own = Batches.cut([_atoms(10_000, 0.012, rng)])
        for place, (share, truth) in enumerate([(0.99, 5), (0.98, 1.9919), (0.5, 1.506)]):
            low, high = quantile_interval(own, share)
            covered[place] += low <= truth + 1e-4 and truth - 1e-4 <= high
    assert (covered / 300 >= 0.93).all()


def test_totals_by_hand():
    # sums 2 and 12 of 1 and 3: the ratio 14/4, deviations 2 - 3.5 and 12 - 10.5
    low, high = total_interval(np.array([2.0, 12]), np.array([1.0, 3]))
    assert (low + high) / 2 == pytest.approx(3.5)
    assert (high - low) / 2 == pytest.approx(T1 * sqrt(2 * 1.5**2) * sqrt(2) / 4)
    # values 2, 4, 9 around 4: deviations -2, 0, 5
    half = T2 * sqrt((4 + 25) / 2) / sqrt(3)
    assert sectioned_interval(4.0, np.array([2.0, 4, 9])) == pytest.approx((4 - half, 4 + half))
    assert total_interval(np.array([2.0]), np.array([1.0])) is None
    assert sectioned_interval(4.0, np.array([4.0])) is None


@pytest.mark.parametrize("share", [-0.1, 0.0, 1.0, 1.5])
def test_what_is_no_quantile(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile_interval(Batches.cut([np.arange(100.0)]), share)


def test_what_are_no_batches():
    with pytest.raises(ValueError, match="no 20 batches"):
        Batches.cut([np.arange(19.0)])
    with pytest.raises(ValueError, match="expected as many each"):
        Batches([[np.arange(2.0)], [np.arange(2.0)] * 2])
    with pytest.raises(ValueError, match="without an observation"):
        Batches([[np.arange(0.0)]])
    with pytest.raises(ValueError, match="expected as many each"):
        Batches.cut([])
