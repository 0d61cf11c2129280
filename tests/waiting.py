"""Waiting for what other processes do: as long as it takes, and no longer."""

import select
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 90

T = TypeVar("T")


def until(holds: Callable[[], T], told: Callable[[], object] = lambda: None) -> T:
    """The first value of `holds` that is true; fails after `PATIENCE_S` with what `told` says."""
    end = time.monotonic() + PATIENCE_S
    while not (value := holds()):
        assert time.monotonic() < end, told()
        select.select([], [], [], 0.01)
    return value
