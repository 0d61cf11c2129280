"""What may be in a user's file: all that gives the same numbers plain and compiled."""

from __future__ import annotations

import ast

from sojourn.control.flattening import refuse_recursion
from sojourn.control.outline import Outline
from sojourn.control.reading import read_outline


def check(tree: ast.Module, file: str) -> Outline:
    """Check a file, and make its tree say what was meant.

    Raises:
        InputError: something is refused; the message has its line.
    """
    outline = read_outline(tree, file)
    refuse_recursion(outline)
    return outline
