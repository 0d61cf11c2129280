"""The output of commands: exit codes, one JSON document or a table, and groups of commands."""

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from functools import wraps
from pathlib import Path
from typing import Any

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
    """Print on standard error which rows of a file were refused, one line each."""
    for row in rows:
        click.echo(f"sojourn: {one_line(row)}", err=True)


def document(found: object) -> None:
    """Print one JSON document."""
    from sojourn._internal.formats import json_text

    click.echo(json_text(found))


def quiet(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option --quiet, which discards all output.

    The document of --json is still printed, and so are errors, after the command has ended.
    """

    @click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
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
    """A group that lists its commands in sections, and names the nearest one to a wrong word."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sections: dict[str, list[str]] = {}

    def add_section(self, title: str, commands: Sequence[click.Command]) -> None:
        """Add commands under a title of the help."""
        for command in commands:
            self.add_command(command)
        self._sections[title] = [str(command.name) for command in commands]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands section by section, with one width for all of their names."""
        if not self._sections:
            super().format_commands(ctx, formatter)
            return
        width = formatter.width - 6 - max(map(len, self.commands))
        for title, names in self._sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, self.commands[name].get_short_help_str(width)) for name in names],
                    col_spacing=2 + max(map(len, self.commands)) - max(map(len, names)),
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command as click does, or refuse with the nearest name."""
        name = args[0]
        if self.get_command(ctx, name) is None:
            raise click.UsageError(f"no command {name!r}{did_you_mean(name, self.commands)}", ctx)
        return super().resolve_command(ctx, args)


def command(context: click.Context) -> str:
    """The whole command as it would be typed."""
    return shlex.join(["sojourn", *context.find_root().obj])
