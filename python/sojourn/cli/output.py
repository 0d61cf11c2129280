"""How commands answer: exit codes, one JSON document or a table, and groups of commands."""

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from functools import wraps
from pathlib import Path

import click

from sojourn._internal.errors import did_you_mean, one_line

DONE, FAILED, REFUSED, PIPE_CLOSED = 0, 1, 2, 141

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def emit(found: object, table: Callable[[], object], *, as_json: bool) -> None:
    """Print what a command found: one JSON document, or what `table` prints.

    Args:
        found: as `formats.json_text` takes it.
        table: prints it for people.
        as_json: which of the two.
    """
    if as_json:
        document(found)
    else:
        table()


def refused(rows: Sequence[str]) -> None:
    """Say on standard error which rows of a file were not taken, a line for each."""
    for row in rows:
        click.echo(f"sojourn: {one_line(row)}", err=True)


def document(found: object) -> None:
    """Print one JSON document."""
    from sojourn._internal.formats import json_text

    click.echo(json_text(found))


def quiet(function: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the option --quiet: what it would say goes nowhere.

    A document that is asked for by --json stays, and so do errors, which are printed after its end.
    """

    @click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
    @wraps(function)
    def command(*arguments: object, quiet: bool, **options: object) -> None:
        if not quiet:
            function(*arguments, **options)
            return
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nowhere,
            redirect_stderr(nowhere),
            nullcontext() if options["as_json"] else redirect_stdout(nowhere),
        ):
            function(*arguments, **options)

    return command


class Commands(click.Group):
    """A group that names the nearest command where there is none of that name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, or a refusal that names the nearest command."""
        name = args[0]
        if self.get_command(ctx, name) is None:
            raise click.UsageError(f"no command {name!r}{did_you_mean(name, self.commands)}", ctx)
        return super().resolve_command(ctx, args)


def command(context: click.Context) -> str:
    """The whole command as it would be typed."""
    return shlex.join(["sojourn", *context.find_root().obj])
