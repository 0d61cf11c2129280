"""How much of a test that tries many cases `make test` tries: a quarter, the same every time."""

import os

_IS_FULL = os.environ.get("PROPTEST_CASES") == "256"
"""Whether all cases are tried, as `make test-full` wants it of Rust's tests too."""

FEWEST = 24


def share(full: int) -> int:
    """How many of `full` cases are tried."""
    return full if _IS_FULL else min(full, max(full // 4, FEWEST))
