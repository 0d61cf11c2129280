"""Statistics against numbers computed by hand, and against exact cases."""

import numpy as np
import pytest

from conftest import mm1
from sojourn.statistics import (
    BATCHES,
    batches,
    mean_interval,
    mser5,
    quantile_intervals,
    warmup,
)

# Student's t at 97.5 % by degrees of freedom, from printed tables.
T1, T2, T19 = 12.7062047364, 4.30265272991, 2.09302405441


def arrays(*sections):
    return [np.array(section, dtype=np.float64) for section in sections]


def test_equal_sections_give_the_textbook_interval():
    # section means 2, 3, 7: mean 4, standard deviation sqrt(7), three sections
    low, high = mean_interval(arrays([1, 3], [2, 4], [6, 8]))
    half = T2 * np.sqrt(7) / np.sqrt(3)
    assert low == pytest.approx(4 - half)
    assert high == pytest.approx(4 + half)


def test_unequal_sections_weigh_by_their_sizes():
    # sums 2 and 12 of 1 and 3 values: mean 14/4, deviations 2 - 3.5 and 12 - 10.5
    low, high = mean_interval(arrays([2], [3, 4, 5]))
    half = T1 * np.sqrt(2 * 1.5**2) * np.sqrt(2) / 4
    assert (low + high) / 2 == pytest.approx(3.5)
    assert (high - low) / 2 == pytest.approx(half)


def test_no_spread_no_width():
    assert mean_interval(arrays([2, 2], [2, 2, 2])) == (2, 2)


@pytest.mark.parametrize("sections", [[], [[1, 2, 3]], [[1], [2]], [[], []]])
def test_too_little_for_an_interval(sections):
    assert mean_interval(arrays(*sections)) is None


def test_batches_are_consecutive_and_complete():
    parts = batches(np.arange(103.0))
    assert len(parts) == BATCHES
    assert {part.size for part in parts} == {5, 6}
    assert np.concatenate(parts).tolist() == list(range(103))


def test_batch_means_of_a_ramp():
    # 0..39 in twenty pairs: batch means 0.5, 2.5, ..., 38.5; their deviation is that of 0, 2, ..
    low, high = mean_interval(batches(np.arange(40.0)))
    half = T19 * np.sqrt(4 * (20 * 21 / 12)) / np.sqrt(20)
    assert (low, high) == (pytest.approx(19.5 - half), pytest.approx(19.5 + half))


def test_batch_means_cover_the_mean_of_independent_values():
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(400):
        low, high = mean_interval(batches(generator.exponential(1.0, 400)))
        covered += low <= 1 <= high
    # 95 % of 400 is 380, give or take three standard deviations of 4.4
    assert 366 <= covered <= 394


def test_quantile_interval_by_hand():
    # section medians 2, 4, 9 around a centre of 4: deviations -2, 0, 5
    (interval,) = quantile_intervals(arrays([1, 2, 3], [3, 4, 5], [8, 9, 10]), [50], [4.0])
    half = T2 * np.sqrt((4 + 25) / 2) / np.sqrt(3)
    assert interval == (pytest.approx(4 - half), pytest.approx(4 + half))


def test_a_quantile_needs_a_value_on_each_side_of_it_in_every_section():
    enough = [np.arange(100.0)] * 2
    short = [np.arange(100.0), np.arange(99.0)]
    assert quantile_intervals(enough, [99], [98.0]) != [None]
    assert quantile_intervals(short, [99], [98.0]) == [None]
    assert quantile_intervals(short, [50, 100], [49.0, 99.0])[1] is None
    assert quantile_intervals(enough[:1], [50], [49.5]) == [None]
    assert quantile_intervals(arrays([1.0], []), [50], [1.0]) == [None]


def test_mser5_cuts_a_ramp_where_it_ends():
    level = np.tile([-1.0, 1.0, -1.0, 1.0, 0.0], 180)
    ramp = np.linspace(50, 1, 100)
    assert mser5(np.concatenate([ramp, level])) == 100


def test_mser5_agrees_with_its_definition():
    series = np.random.default_rng(3).exponential(1.0, 203) + np.linspace(4, 0, 203)
    means = series[:200].reshape(40, 5).mean(axis=1)
    error = [((means[d:] - means[d:].mean()) ** 2).sum() / (40 - d) ** 2 for d in range(21)]
    assert mser5(series) == 5 * int(np.argmin(error))


@pytest.mark.parametrize("series", [[], [1.0] * 9, [1.1] * 1000, [0.1, 0.2] * 500])
def test_mser5_keeps_what_has_no_warmup(series):
    assert mser5(np.array(series)) == 0


def test_mser5_cuts_half_at_most():
    assert mser5(np.linspace(100, 0, 1000)) == 500


def test_warmup_is_found_in_order_of_arrival():
    slowdown = np.concatenate([np.linspace(50, 1, 100), np.tile([1.0, 2.0], 450)])
    arrived = np.arange(1000) * 10
    shuffle = np.random.default_rng(5).permutation(1000)
    assert warmup(arrived, slowdown) == (100, 1000)
    assert warmup(arrived[shuffle], slowdown[shuffle]) == (100, 1000)


def test_unfinished_jobs_do_not_move_the_warmup():
    slowdown = np.concatenate([np.linspace(50, 1, 100), np.tile([1.0, 2.0], 450)])
    arrived = np.arange(1000) * 10
    lost = np.insert(slowdown, 50, np.nan)
    assert warmup(np.insert(arrived, 50, 495), lost) == (101, 1000)


def test_jobs_that_arrive_at_once_have_no_warmup():
    slowdown = np.concatenate([np.linspace(50, 1, 100), np.ones(900)])
    assert warmup(np.zeros(1000, dtype=np.int64), slowdown) == (0, 0)


@pytest.mark.parametrize("replications", [1, 5])
def test_intervals_on_a_queue_cover_as_often_as_they_say(replications):
    generator = np.random.default_rng(2026)
    covered = {"mean": 0, "p95": 0}
    # Exponential, with twice the mean of a service.
    truth = {"mean": 2.0, "p95": -2 * np.log(0.05)}
    for _ in range(100):
        runs = [mm1(generator, 0.5, 20_000) for _ in range(replications)]
        runs = [run[mser5(run) :] for run in runs]
        sections = batches(runs[0]) if replications == 1 else runs
        everything = np.concatenate(runs)
        found = {
            "mean": mean_interval(sections),
            "p95": quantile_intervals(sections, [95], [np.percentile(everything, 95)])[0],
        }
        for name, (low, high) in found.items():
            covered[name] += low <= truth[name] <= high
    # 95 of 100, give or take three standard deviations of 2.2
    assert all(88 <= often <= 100 for often in covered.values()), covered
