"""Tables and lines on standard output, and on a terminal what is being done."""

import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, Thread

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sojourn._internal.units import clock

LOGGED_EVERY_S = 10.0
"""How often a log is told how far long work is."""
_TEXT_WIDE = 120
_NUMBERS_WIDE = 250
# What stands between two columns, and the edges' share of it.
_AROUND = 2
_ROWS = 5_000


class _Console(Console):
    """As wide as the terminal, or of a fixed width where there is none; closed pipes raise."""

    def __init__(self, width: int) -> None:
        super().__init__(width=get_terminal_size((width, 0)).columns)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_table(
    groups: Iterable[Sequence[Sequence[str]]],
    heads: Sequence[str] = (),
    *,
    title: str | None = None,
    numbers: int = 0,
) -> None:
    """Print groups of lines with a rule after each; the last `numbers` columns stand right.

    Numbers are never cut off: columns that do not fit the terminal follow in further tables,
    each with the texts in front again.
    """
    console = _Console(_NUMBERS_WIDE if numbers else _TEXT_WIDE)
    lines = [list(group) for group in groups]
    columns = len(heads) or max((len(line) for group in lines for line in group), default=0)
    texts = list(range(columns - numbers))

    def table(chosen: Sequence[int], title: str | None) -> Table:
        made = Table(
            title=Text(title) if title else None,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            show_header=bool(heads),
            padding=(0, 1, 0, 0),
            pad_edge=False,
        )
        for column in chosen:
            right = column not in texts
            head = Text(heads[column]) if heads else ""
            made.add_column(head, justify="right" if right else "left", no_wrap=right)
        for group in lines:
            for line in group:
                made.add_row(*(Text(line[column]) for column in chosen))
            made.add_section()
        return made

    def fits(chosen: Sequence[int]) -> bool:
        return sum(wides[column] + _AROUND for column in chosen) <= console.width

    cells = [*([heads] if heads else []), *itertools.chain.from_iterable(lines)]
    wides = [max(_wide(line[column]) for line in cells) for column in range(columns)]
    parts: list[list[int]] = [[]]
    for column in range(columns - numbers, columns):
        if parts[-1] and not fits([*texts, *parts[-1], column]):
            parts.append([])
        parts[-1].append(column)
    for place, part in enumerate(parts):
        console.print(table([*texts, *part], None if place else title))


def print_columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their heads, as wide as they are: for tables of any length.

    Laying out tens of thousands of rows for the terminal's width takes a program seconds. Rows are
    taken some thousands at a time; the columns are as wide as those so far need.
    """
    widths = [0 for _ in heads]
    left = itertools.chain([heads], rows)
    while some := list(itertools.islice(left, _ROWS)):
        each = [list(map(_wide, row)) for row in some]
        widths = [max(most, *column) for most, *column in zip(widths, *each, strict=True)]
        for row, wides in zip(some, each, strict=True):
            cells = zip(row, widths, wides, strict=True)
            line = " ".join([text + " " * (most - own) for text, most, own in cells])
            sys.stdout.write(line.rstrip() + "\n")


def _wide(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def print_lines(lines: Iterable[str]) -> None:
    """Print plain lines."""
    console = _Console(_TEXT_WIDE)
    for line in lines:
        console.print(Text(line), soft_wrap=not sys.stdout.isatty())


@contextmanager
def doing() -> Iterator[Callable[[str], None]]:
    """A function to say what is being done: on standard error, in a log every ten seconds."""
    if sys.stderr.isatty():
        with Console(stderr=True).status("") as status:
            yield lambda text: status.update(Text(text))
        return
    said: list[tuple[str, float]] = []
    done = Event()

    def log() -> None:
        while not done.wait(LOGGED_EVERY_S):
            for text, began in said[-1:]:
                sys.stderr.write(f"{text}, {clock(time.monotonic() - began)} so far\n")
            sys.stderr.flush()

    logger = Thread(target=log, daemon=True)
    try:
        logger.start()
        yield lambda text: said.append((text, time.monotonic()))
    finally:
        done.set()
        # The thread may hang in a write to a full pipe; the command ends all the same.
        logger.join(timeout=1)
