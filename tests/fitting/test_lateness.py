"""What late requests do to a load."""

import numpy as np
import pytest

from sojourn.fitting.lateness import effect_percent

MS = 10**9
SERVICE = np.array([10.0 * MS])
DUE = np.arange(1000) * 20 * MS


def test_requests_on_time_change_nothing():
    assert effect_percent(((DUE, DUE),), SERVICE, 1, 0.0) == 0


def test_requests_that_are_all_as_late_change_nothing():
    assert effect_percent(((DUE, DUE + 7 * MS),), SERVICE, 1, 0.0) == pytest.approx(0)


def test_requests_that_wait_for_the_machine_come_together():
    # Every second request is late, and is issued with the next one.
    pairs = DUE.copy()
    pairs[::2] = pairs[1::2]
    # One of two waits 10 ms, beside services of 10 ms.
    assert effect_percent(((DUE, pairs),), SERVICE, 1, 0.0) == pytest.approx(50)
    assert effect_percent(((DUE, pairs), (DUE, DUE)), SERVICE, 1, 0.0) == pytest.approx(25)
    # Two servers serve both, and the second one is slowed by the first.
    assert effect_percent(((DUE, pairs),), SERVICE, 2, 0.0) == pytest.approx(0)
    assert effect_percent(((DUE, pairs),), SERVICE, 2, 0.4) == pytest.approx(20)
