"""How much of a test that tries many cases is tried, as in Rust's tests (`crates/properties`)."""

import os
import tomllib
from pathlib import Path

USUAL = 256
"""The cases of a property in full, of which `PROPTEST_CASES` is the share that is tried."""
FEWEST = 24
"""A property that has seen fewer has hardly been tested."""


def share(full: int) -> int:
    """How many of `full` cases are tried: the same ones every time."""
    config = Path(__file__).parents[1] / ".cargo/config.toml"
    usual = tomllib.loads(config.read_text("utf-8"))["env"]["PROPTEST_CASES"]
    cases = int(os.environ.get("PROPTEST_CASES", usual))
    return max(full * cases // USUAL, min(full, FEWEST))
