"""Runs as one page of HTML that can be sent: tables, interactive pictures, how to do it again.

The page holds everything it needs, asks the network for nothing, and its tables need no script.
"""

from collections.abc import Sequence
from pathlib import Path

from sojourn._internal.errors import InputError, reason
from sojourn._internal.files import write_text
from sojourn.reporting.page import html
from sojourn.reporting.sections import sections, with_other_files

LARGEST = 2_000_000
"""Bytes that a page may have."""


def report(runs: Sequence[Path], out: Path, *, title: str | None = None) -> int:
    """Write a report.

    Args:
        runs: run directories, and directories that `sojourn reproduce` left.
        out: the file.
        title: above the page; by default those of the runs.

    Returns:
        How large the page is, in bytes.

    Raises:
        InputError: one is neither; a file cannot be read or written; so much is in the runs that
            the page would be larger than `LARGEST`.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{out}: a report is a file that ends in .html")
    found = with_other_files([section for run in runs for section in sections(run)])
    text = html(title or _title([*dict.fromkeys(s.title for s in found)]), found)
    size = len(text.encode())
    if size > LARGEST:
        raise InputError(
            f"{size / 1e6:.1f} MB for {len(found)} runs: a report has {LARGEST / 1e6:g} MB at most;"
            " report fewer runs at a time"
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, text)
    except OSError as error:
        raise InputError(f"cannot write the report: {reason(error)}") from None
    return size


def _title(titles: Sequence[str]) -> str:
    first, *others = titles
    if not others:
        return first
    return f"{first} and {others[0] if len(others) == 1 else f'{len(others)} more'}"
