"""A process of a benchmark: how it is asked, what it sends, what that costs it.

A line of JSON is asked, a line of JSON answered.
"""

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sojourn._internal.errors import InputError

SENDER = "list-bounces@lists.example"


def message_id(number: int) -> str:
    """The Message-ID of a message."""
    return f"<{number}@lists.example>"


def message(number: int, size_bytes: int) -> bytes:
    """A message of about this size."""
    head = (
        "From: List <list@lists.example>\r\nTo: list@lists.example\r\n"
        f"Subject: Number {number}\r\nMessage-ID: {message_id(number)}\r\n\r\n"
    )
    line = "How long does work stay in a system of queues?\r\n"
    lines = max(1, (size_bytes - len(head)) // len(line))
    return (head + line * lines).encode()


def cpu_s() -> float:
    """The processor time that this program has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def questions() -> Iterator[dict[str, Any]]:
    """What is asked, one after the other, until standard input ends."""
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
    except (InputError, OSError) as error:
        answer(refused=str(error))
