"""How a rehearsal's processes talk: a line of JSON is asked, a line of JSON answered."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sojourn._core import MailError, SpecError


def questions() -> Iterator[dict[str, Any]]:
    """What is asked, one after the other, until nobody asks any more."""
    return map(json.loads, sys.stdin)


def answer(**values: object) -> None:
    """Answer the last question, in one write: what is measured here may be this very process."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


@contextmanager
def refusals() -> Iterator[None]:
    """What cannot be done is an answer too, the last."""
    try:
        yield
    except (MailError, SpecError, OSError) as error:
        answer(refused=str(error))
