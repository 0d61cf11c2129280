"""This process before all ordinary ones, so that others' work does not delay what it measures."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

REAL_TIME, ORDINARY = "real-time", "ordinary"


@contextmanager
def scheduled() -> Iterator[str]:
    """Schedule this thread first in, first out, see sched(7), for as long as the context lasts.

    Yields how it is scheduled: where a system does not allow this, as before.
    """
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    first = os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO))
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, first)
    except OSError:
        yield ORDINARY
        return
    try:
        yield REAL_TIME
    finally:
        os.sched_setscheduler(0, policy, parameter)
