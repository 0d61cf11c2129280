"""The rule by which a prediction is near enough, and what it would take to tell."""

from math import inf

import numpy as np
import pytest

from sojourn.fitting.rule import Outcome, of_all, of_interval, times_needed, wider

ACCEPTED, REFUSED, CANNOT_TELL = Outcome.ACCEPTED, Outcome.REFUSED, Outcome.CANNOT_TELL


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ((-15, 15), ACCEPTED),
        ((2, 14), ACCEPTED),
        ((15.1, 40), REFUSED),
        ((-40, -15.1), REFUSED),
        ((2, 15.1), CANNOT_TELL),
        ((-20, 20), CANNOT_TELL),
        ((-20, -14), CANNOT_TELL),
        (None, CANNOT_TELL),
    ],
)
def test_an_interval_lies_within_or_outside_or_neither(ends, outcome):
    assert of_interval(ends, 15) is outcome


def test_one_refuses_and_all_have_to_accept():
    assert of_all([ACCEPTED, ACCEPTED]) is ACCEPTED
    assert of_all([ACCEPTED, CANNOT_TELL]) is CANNOT_TELL
    assert of_all([ACCEPTED, CANNOT_TELL, REFUSED]) is REFUSED
    assert of_all([]) is CANNOT_TELL


@pytest.mark.parametrize(
    ("value", "ends", "times"),
    [
        (0, (-30, 30), 4),  # half as wide is enough
        (5, (-35, 45), 16),  # 40 to 10 on the side that is nearer
        (-5, (-45, 35), 16),
        (25, (5, 45), 4),  # to refuse: 20 to 10
        (-25, (-45, -5), 4),
        (15, (5, 25), inf),
    ],
)
def test_how_many_times_as_many_requests_would_tell(value, ends, times):
    assert times_needed(value, ends, 15) == times
    if times < inf:
        shrunk = [value + (end - value) / np.sqrt(times) for end in ends]
        at_the_edge = [pytest.approx(abs(end), abs=1e-9) == 15 for end in shrunk]
        assert any(at_the_edge)


def test_a_second_error_makes_an_interval_wider():
    assert wider(2, (-1, 6), 4) == pytest.approx((2 - 5, 2 + 32**0.5))
    assert wider(2, (-1, 6), 0) == (-1, 6)
