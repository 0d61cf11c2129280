"""Refusals: what a user did that cannot be done, in one line."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """An expected failure; `str()` is one whole line for the user, and the exit code is 2."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `str()` says what is kept and how to go on. The exit code is 130."""


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """The tail of a message about an unknown name: the nearest valid one, or all of them."""
    valid = list(names)
    folded = {name.lower(): name for name in valid}
    near = get_close_matches(given.lower(), folded, n=1, cutoff=0.6)
    if near:
        return f", did you mean {folded[near[0]]!r}?"
    return f"; there is {', '.join(valid)}" if valid else ""


def reason(error: OSError) -> str:
    """What the operating system said, without its number: `out/r: Permission denied`."""
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what
