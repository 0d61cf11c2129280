"""The table of docs/how-to/marking-thresholds.md is what its formulas give."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/how-to/marking-thresholds.md").read_text(encoding="utf-8")
PUBLISHED_KB = {1: 30, 10: 97.5}  # Linux's documentation of DCTCP


def row(gbps):
    """A line of the table: KB in proportion, and speed * round trip / 7 for 10 and 100 us."""
    kb = PUBLISHED_KB.get(gbps, 97.5 * gbps / 10)
    shown = f"{kb:g}" if gbps in PUBLISHED_KB else f"{kb:,.0f}"
    own = " (Linux's own value)" if gbps in PUBLISHED_KB else ""
    bounds = " | ".join(f"{gbps / 8 * us / 7:,.1f} KB" for us in (10, 100))
    return f"| {gbps} Gb/s | {shown} KB{own} | {bounds} |"


def test_the_table_is_computed():
    lines = re.findall(r"^\| \d+ Gb/s .*$", PAGE, re.MULTILINE)
    assert lines == [row(gbps) for gbps in (1, 10, 25, 40, 100, 200, 400, 800)]
