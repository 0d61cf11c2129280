"""When an interval may be printed, tried on queues whose truth is known."""

from math import ceil, inf

import numpy as np
import pytest
from test_intervals import covered, covers, truth, without_warmup

from conftest import queues
from sojourn.analysis.intervals import Batches, mean_interval, quantile_interval
from sojourn.analysis.observed import Basis, Observed, Series
from sojourn.analysis.run_length import (
    Queue,
    after_pilot,
    by_replications,
    by_the_pilot,
    instants,
    too_few,
    warmup,
)

EXPONENTIAL = 24.0  # the fourth moment over the fourth power of the mean
SHARES = [None, 0.5, 0.95, 0.99]


def mm1(load: float, **more: float) -> Queue:
    return Queue(load=load, arrivals=1, services=1, fourth=EXPONENTIAL, **more)


def interval(runs, share):
    batches = Batches.cut(runs)
    return mean_interval(batches) if share is None else quantile_interval(batches, share)


def in_groups(series: np.ndarray, runs: int) -> list[list[np.ndarray]]:
    """So many runs at a time, without their warm-up."""
    kept = without_warmup(series)
    return [list(kept[i : i + runs]) for i in range(0, len(kept), runs)]


@pytest.mark.share
@pytest.mark.parametrize(
    ("load", "jobs", "runs"), [(0.5, 20_000, 1), (0.8, 20_000, 1), (0.8, 5_000, 5)]
)
def test_what_a_model_allows_covers(load: float, jobs: int, runs: int) -> None:
    said = 0
    for share in SHARES:
        if mm1(load).withholds(share, runs, jobs) is None:
            groups = in_groups(queues(load, jobs, 300 * runs), runs)
            assert covers(covered([interval(one, share) for one in groups], truth(load, share)))
            said += 1
    assert said == 3  # the mean, the median, and the 95th percentile


def by_pilot(groups: list, share: float | None) -> list:
    """The intervals that are printed."""
    return [
        interval([after_pilot(run) for run in runs], share)
        for runs in groups
        if by_the_pilot(runs, share) is None
    ]


@pytest.mark.share
@pytest.mark.parametrize(("load", "least"), [(0.5, 0.95), (0.8, 0.5)])
def test_what_the_pilot_allows_covers(load: float, least: float) -> None:
    groups = in_groups(queues(load, 20_000, 300), 1)
    for share in (None, 0.5, 0.95):
        said = by_pilot(groups, share)
        assert len(said) >= least * len(groups)
        assert covers(covered(said, truth(load, share))), share


@pytest.mark.share
@pytest.mark.parametrize(("load", "jobs"), [(0.8, 5_000), (0.95, 20_000), (1.0, 20_000)])
def test_of_runs_too_short_hardly_one_is_wrong(load: float, jobs: int) -> None:
    groups = in_groups(queues(load, jobs, 300), 1)
    for share in (None, 0.95):
        assert mm1(load).withholds(share, 1, jobs) is not None
        said = by_pilot(groups, share)
        wrong = len(said) - sum(covered(said, truth(load, share) if load < 1 else inf))
        assert len(said) < 0.2 * len(groups)
        assert wrong <= 0.02 * len(groups)


def test_what_neighbours_share_alone_says_how_long_a_run_is() -> None:
    """A job's own service makes a run look long that is not, unless it is known to be long."""
    noisy = [
        row + np.random.default_rng(2).exponential(40, row.size)
        for row in without_warmup(queues(0.8, 5_000, 100))
    ]
    printed = [by_the_pilot([row], None) is None for row in noisy]
    known = [by_the_pilot([row], None, length_known=True) is None for row in noisy]
    assert sum(printed) < 20
    assert sum(known) >= 95


def test_how_long_a_model_wants_its_runs() -> None:
    """The lengths from which on it speaks, of the page that the rule comes from."""
    queue = mm1(0.8)
    assert queue.length(20_000) == pytest.approx(20_000 / (2 / 0.04 + 24 / 8))
    assert queue.withholds(None, 1, 7_951) is None
    assert queue.withholds(0.95, 1, 15_901) is None
    assert queue.withholds(0.99, 1, 106_001) is None
    withheld = queue.withholds(0.95, 1, 7_950)
    assert withheld is not None
    assert withheld.times == pytest.approx(2)
    # each of several runs has to be long, as what they begin with is common to all
    assert queue.withholds(None, 40, 1_000) is not None
    # and so has each of several queues, of which each sees a part of the jobs
    assert mm1(0.8, number=10).withholds(None, 1, 8_000).times == pytest.approx(
        20 * 10 / queue.length(8_000)
    )
    assert mm1(0.8, number=2).withholds(None, 1, 8_000) is None
    # beyond the 99th percentile as much longer as fewer observations are
    rare = queue.withholds(0.999, 1, 106_000)
    assert rare is not None
    assert rare.times == pytest.approx(10)
    assert mm1(1.0).withholds(0.5, 1, 10**9).times == inf
    heavy = Queue(load=0.5, arrivals=1, services=inf, fourth=inf)
    assert heavy.withholds(None, 1, 10**9).times == inf
    with pytest.raises(ValueError, match="between 0 and 1"):
        queue.withholds(1.5, 1, 100)


def test_batches_of_queues_side_by_side_are_long_for_each_of_them() -> None:
    """At least as long as those of a single queue that is barely long enough: 150 in 20."""
    one = mm1(0.8)
    eight = mm1(0.8, number=8, decides=False, side_by_side=True)
    assert (one.batches(100), mm1(0.8, number=8).batches(100)) == (20, 20)
    jobs = ceil(5 * 7.5 * 8 * 100_000 / one.length(100_000))
    assert eight.batches(jobs) == 5
    assert eight.withholds(None, 1, jobs) is None
    withheld = eight.withholds(None, 1, jobs // 2)
    assert withheld is not None
    assert withheld.times == pytest.approx(2, rel=1e-3)
    assert eight.batches(4 * jobs) == 20
    # two batches of each of several runs are enough, if each sees twenty of them
    assert eight.withholds(None, 4, ceil(jobs * 32 / 37.5)) is None
    row = queues(0.8, jobs, 1)[0]
    few = Observed([series([row], jobs, jobs, queue=eight)])
    assert few.most == 5
    assert few.own is not None
    assert few.own.counts.size == 5
    # what differs is still told by twenty pairs
    ratio = few.ratio(Observed([series([1.2 * row], jobs, jobs, queue=eight)]), None, paired=True)
    assert (ratio.method, ratio.degrees) == ("over 5 pairs of batches in order of arrival", 4)
    assert ratio.by_chance == pytest.approx(0, abs=1e-4)


def test_a_quantile_needs_observations_beyond_it() -> None:
    assert too_few(0.95, 1_600) is None
    assert too_few(0.95, 800).times == pytest.approx(2)
    assert too_few(0.05, 800) == too_few(0.95, 800)
    assert too_few(None, 40).times == pytest.approx(2)
    assert too_few(None, 80) is None


def test_a_queue_is_read_from_figures() -> None:
    figures = {
        "queue_utilisation_offered": 0.5,
        "queue_dispersion_of_arrivals": 1.0,
        "queue_squared_cv_of_services": 5.0,
        "queue_fourth_moment_of_services": 900.0,
    }
    other = figures | {"queue_utilisation_offered": 0.7}
    assert Queue.of([figures, other]) == Queue(0.6, 1.0, 5.0, 900.0, 1.0, decides=False)
    known = figures | {"queue_utilisation": 0.4, "queues": 8.0}
    assert Queue.of([known]) == Queue(0.4, 1.0, 5.0, 900.0, 8.0)
    of_hosts = Queue.of([figures | {"queues": 8.0}])
    assert of_hosts == Queue(0.5, 1.0, 5.0, 900.0, 8.0, decides=False, side_by_side=True)
    assert Queue.of([{}]) is None
    assert Queue.of([figures, {}]) is None


def test_what_is_independent_mostly_has_its_interval() -> None:
    """Neighbours that share nothing have no slow part that a run could be too short for."""
    groups = [[row] for row in np.random.default_rng(1).exponential(1, (300, 20_000))]
    said = by_pilot(groups, None)
    assert len(said) > 0.6 * len(groups)
    assert covers(covered(said, 1.0))


def test_a_run_in_which_nothing_varies_has_none() -> None:
    assert by_the_pilot([np.full(1000, 3.0)], None) is None
    flat = Observed([series([np.full(1000, 3.0)])])
    assert flat.interval(None) == (None, None)
    assert by_the_pilot([np.arange(10.0)], None).times == 16


def test_the_warmup_is_the_first_twentieth_to_arrive() -> None:
    arrived = np.arange(1000) * 10
    shuffle = np.random.default_rng(5).permutation(1000)
    assert warmup(arrived) == (50, 500)
    assert warmup(arrived[shuffle]) == (50, 500)
    assert warmup(arrived[:19]) == (0, 0)
    assert warmup(np.zeros(1000, dtype=np.int64)) == (0, 0)
    assert warmup(np.repeat(np.arange(10), 100)) == (0, 0)
    assert warmup(np.repeat(np.arange(100), 10)) == (50, 5)
    assert warmup(np.empty(0, dtype=np.int64)) == (0, 0)
    assert [instants(np.array(times)) for times in ([], [7], [3, 1, 3, 1])] == [0, 1, 2]


def series(runs, jobs=1000, instants=1000, **more) -> Series:
    return Series(tuple(runs), jobs, instants, **more)


def test_what_an_interval_is_made_from() -> None:
    rows = [*queues(0.5, 4_000, 6)]
    known = series(rows[:1], 4_000, queue=mm1(0.5))
    measured = series(rows[:1], 4_000, queue=mm1(0.5, decides=False))
    assert known.basis is Basis.WHOLE
    assert measured.basis is series(rows).basis is Basis.AFTER_PILOT
    # jobs that arrive in a few crowds are no series, and flows that share a link have no order
    assert series(rows, instants=20).basis is Basis.REPLICATIONS
    assert series(rows, unordered=True).basis is Basis.REPLICATIONS
    assert by_replications(None, 4).times == by_replications(0.95, 4).times == 5 / 4
    assert by_replications(0.95, 5) is None
    # a few of the runs may have all that lies beyond
    assert by_replications(0.99, 20).times == by_replications(0.01, 20).times == 5
    assert by_replications(0.99, 100) is None
    both = Observed([known, measured])
    assert both.basis is Basis.AFTER_PILOT
    assert both.own.counts.tolist() == [[300.0] * 20]
    replications = Observed([series(rows, instants=20)])
    assert replications.own.counts.tolist() == [[4000.0]] * 6
    assert replications.method() == "from 6 replications"


def test_what_is_asked_for_where_an_interval_is_withheld() -> None:
    row = queues(0.8, 4_000, 1)[0]
    ends, needs = Observed([series([row], 4_000, queue=mm1(0.8))]).interval(None)
    assert ends is None
    assert needs.times == pytest.approx(7_950 / 4_000)
    assert (needs.jobs, needs.replications) == (7_951, 2)
    # replications of so few jobs would not help, however many they are
    short = Observed([series([row[:1000]], 1_000, queue=mm1(0.8))]).withholds(None)
    assert (short.jobs, short.replications) == (7_951, None)
    _, needs = Observed([series([row], 4_000, queue=mm1(1.2))]).interval(None)
    assert (needs.times, needs.jobs, needs.replications) == (inf, None, None)
    assert "no steady state" in needs.why
    _, needs = Observed([series([row] * 2, instants=1)]).interval(None)
    assert (needs.jobs, needs.replications) == (None, 5)
    assert Observed([]).withholds(None).times == inf
    # all alike: nothing is withheld, and there is nothing to print
    flat = series([np.ones(50)] * 5, instants=1)
    assert Observed([flat]).interval(None) == (None, None)


def test_pairs_are_of_what_both_sides_allow() -> None:
    row, other = queues(0.5, 20_000, 1)[0], queues(0.5, 20_000, 1, 1.1)[0]
    known = Observed([series([row], 20_000, queue=mm1(0.5))])
    measured = Observed([series([other], 20_000)])
    pairs = measured.ratio(known, None, paired=True)
    assert pairs.ends[0] <= 1.1 * 0.5 / 0.45 <= pairs.ends[1]
    assert pairs.method == "over 20 pairs of batches in order of arrival"
    apart = measured.ratio(known, None, paired=False)
    assert apart.ends[0] < pairs.ends[0] < pairs.ends[1] < apart.ends[1]
    assert (apart.method, apart.degrees) == ("independent runs", 19)
    assert Observed([series([row[:10]])]).ratio(known, None, paired=True) is None
    # enough to tell that a mean differs, and not by how much
    short = Observed([series([row[:2000]], 2_000, queue=mm1(0.5, decides=False))])
    assert short.can_be_tested(None)
    assert short.can_be_tested(0.99)
    assert not short.can_be_tested(0.999)
    assert Observed([series([row[:300]], queue=mm1(0.9))]).interval(None)[0] is None
