"""What the tools that read delivery logs share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sojourn.maillog import Reading

_OPTIONS = (
    click.option(
        "--format",
        "mailer",
        metavar="MAILER",
        help="Whose lines they are: sendmail, postfix, exim, sojourn.  [default: each line says]",
    ),
    click.option(
        "--year",
        type=click.IntRange(1970, 9998),
        help="That of a log's first line, where stamps have none.  [default: by the file's time]",
    ),
    click.option("--since", metavar="TIME", help="2026-11-22, '2026-11-22 10:00', or 6h ago."),
    click.option("--until", metavar="TIME", help="Likewise; what happened then is left out."),
)


def reads(command: Callable[..., Any]) -> Callable[..., Any]:
    """The argument LOG... and the options of a command that reads logs."""
    return _reads(command, required=True)


def may_read(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a command that may do without."""
    return _reads(command, required=False)


def _reads(command: Callable[..., Any], *, required: bool) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return click.argument("logs", nargs=-1, required=required)(command)


def reading(
    logs: tuple[str, ...],
    mailer: str | None,
    year: int | None,
    since: str | None,
    until: str | None,
) -> "Reading":
    """What was asked for.

    Raises:
        InputError: a time is none.
    """
    from sojourn.maillog import Reading
    from sojourn.maillog.times import moment_us

    return Reading(
        names=logs,
        format=mailer,
        year=year,
        since_us=moment_us("--since", since),
        until_us=moment_us("--until", until),
    )
