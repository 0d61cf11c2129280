"""Fan-out: exact order statistics, a bound that holds for all leaves, the published table."""

from math import exp

import numpy as np
import pytest

from sojourn.reproduction import papers

SCRIPT = papers.script(papers.ROOT / "big-buffers")
Leaf, finish, latest_finish = (SCRIPT[name] for name in ("Leaf", "finish", "latest_finish"))
ONE_LEAF = {0.5: 1.0, 0.95: 5.0, 0.99: 10.0}
PLAIN = Leaf(2.0, 0.5)


def test_quantiles_of_a_log_normal():
    assert PLAIN.quantile(0.5) == pytest.approx(2.0)
    assert PLAIN.quantile(0.8413447460685429) == pytest.approx(2 * exp(0.5))
    assert PLAIN.later(0.1586552539314571) == pytest.approx(2 * exp(0.5))


def test_a_fit_goes_through_two_quantiles_and_near_three():
    fitted = Leaf.fitted({0.5: 2.0, 0.8413447460685429: 2 * exp(0.5)})
    assert (fitted.median, fitted.sigma) == pytest.approx((2.0, 0.5))
    published = Leaf.fitted(ONE_LEAF)
    assert [published.quantile(p) for p in ONE_LEAF] == pytest.approx(
        [*ONE_LEAF.values()], rel=0.015
    )


def test_the_last_of_n_is_n_times_below():
    """P(all below t) = P(one below t)^n."""
    for leaves in (1, 2, 100, 10_000):
        for quantile in (0.5, 0.99):
            alone = PLAIN.quantile(quantile ** (1 / leaves))
            assert finish(PLAIN, leaves, 1.0, quantile) == pytest.approx(alone, rel=1e-9)


def test_most_of_n_against_draws():
    """20,000 requests to 40 leaves; a median's own error there is about 0.4 % of a deviation."""
    drawn = np.random.default_rng(7).lognormal(np.log(2.0), 0.5, (20_000, 40))
    waited = np.sort(drawn, axis=1)[:, 37]
    for quantile in (0.05, 0.5, 0.95):
        seen = float(np.quantile(waited, quantile))
        assert finish(PLAIN, 40, 0.95, quantile) == pytest.approx(seen, rel=0.01)


def test_no_dependence_goes_beyond_the_bound():
    """Leaves that are all late together reach it; independent ones stay below."""
    for quantile in (0.5, 0.95, 0.99):
        most = latest_finish(PLAIN, 0.95, quantile)
        assert all(finish(PLAIN, n, 0.95, quantile) < most for n in (20, 100, 10_000))
    # In one request of two, one leaf of ten draws from the latest twentieth, the rest from below.
    chance = np.random.default_rng(11)
    requests, leaves = 4000, 100
    bad = np.arange(requests) % 2 == 0
    ranks = chance.uniform(0, 0.95, (requests, leaves))
    ranks[bad, :10] = chance.uniform(0.95, 1.0, (bad.sum(), 10))
    waited = np.sort(ranks, axis=1)[:, 90]  # ninety have answered, the 91st has not
    assert np.quantile(waited, 0.51) >= 0.95  # the bound: 1 - 0.1 * 0.5
    assert latest_finish(PLAIN, 0.9, 0.5) == pytest.approx(PLAIN.quantile(0.95))


def test_the_published_table_is_later_than_any_leaves_of_one_distribution():
    """The Tail at Scale, table 1, 95 % of leaves: 12, 32 and 70 ms; the bound is 6.9, 16, 26."""
    published = Leaf.fitted(ONE_LEAF)
    bounds = [latest_finish(published, 0.95, quantile) for quantile in ONE_LEAF]
    assert bounds == pytest.approx([6.91, 15.9, 25.7], rel=0.01)
    assert all(bound < said for bound, said in zip(bounds, (12, 32, 70), strict=True))
