"""Tables and lines on standard output, and on a terminal what is being done."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_TEXT_WIDE = 120
_NUMBERS_WIDE = 250  # none may be cut off


class _Console(Console):
    """A closed pipe is the caller's to handle; where it is no terminal, a width of our own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        if not sys.stdout.isatty():
            self.width = width

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_table(
    groups: Iterable[Sequence[Sequence[str]]],
    heads: Sequence[str] = (),
    *,
    title: str | None = None,
    numbers: int = 0,
) -> None:
    """Print groups of lines with a rule after each; the last `numbers` columns stand right."""
    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_header=bool(heads),
        pad_edge=False,
    )
    for place, head in enumerate(heads):
        right = place >= len(heads) - numbers
        table.add_column(Text(head), justify="right" if right else "left", no_wrap=right)
    for group in groups:
        for line in group:
            table.add_row(*(Text(cell) for cell in line))
        table.add_section()
    _Console(_NUMBERS_WIDE if numbers else _TEXT_WIDE).print(table)


def print_lines(lines: Iterable[str]) -> None:
    """Print plain lines."""
    console = _Console(_TEXT_WIDE)
    for line in lines:
        console.print(Text(line), soft_wrap=not sys.stdout.isatty())


@contextmanager
def doing() -> Iterator[Callable[[str], None]]:
    """A function to say what is being done: a line on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(text))
