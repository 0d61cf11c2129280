"""Refusals: what a user did that cannot be done, in one line."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from sojourn._core import InputError as InputError  # noqa: PLC0414 - others take it from here

_LONGEST_LINE = 600


class RunDirectoryError(InputError):
    """A run directory holds something else, or cannot be read or written."""


class MeasurementError(InputError):
    """Something real cannot be measured as asked, or what it did cannot be used."""


class NotInstalledError(InputError, ModuleNotFoundError):
    """A part of sojourn is missing; `str()` says which one, and how to install it."""


class CodeError(InputError):
    """Code that came with a study failed; `str()` is a line, its traceback a note (PEP 678)."""


class Hint(UserWarning):
    """What the author of a study that runs should know or change; `str()` is one line."""


INTERRUPTED = 130
"""The exit code after Ctrl-C or SIGTERM."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `str()` says what is kept and how to go on."""


def did_you_mean(given: str, names: Iterable[str], *, otherwise: str | None = None) -> str:
    """The tail of a message about an unknown name: the nearest valid one, or all of them.

    `otherwise` replaces the list if it is too long for a line.
    """
    valid = list(names)
    folded = {name.lower(): name for name in valid}
    near = get_close_matches(given.lower(), folded, n=1, cutoff=0.6)
    if near:
        return f", did you mean {folded[near[0]]!r}?"
    if otherwise is not None:
        return otherwise
    return f"; available: {', '.join(valid)}" if valid else ""


def reason(error: OSError) -> str:
    """What the operating system said, without its number: `out/r: Permission denied`."""
    what = os.strerror(error.errno) if error.errno else str(error)
    if isinstance(error, FileExistsError) and Path(str(error.filename)).is_file():
        what = "there is a file of that name, expected a folder"
    if isinstance(error, NotADirectoryError):
        what = "there is a file where a folder is expected"
    return f"{error.filename}: {what}" if error.filename else what


def one_line(message: str) -> str:
    """A message on one line of printable text, the middle left out where it is very long."""
    line = " ".join(message.split())
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE * 2 // 3]} ... {line[-_LONGEST_LINE // 3 :]}"
    return "".join(c if c.isprintable() else "?" for c in line)
