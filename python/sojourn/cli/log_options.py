"""What the tools share that read delivery logs, and the settings of the mailers that wrote them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn._internal.errors import InputError
from sojourn.cli import options

if TYPE_CHECKING:
    from sojourn.mail.mailer import Server
    from sojourn.maillog import Reading

_OPTIONS = (
    click.option(
        "--format",
        "mailer",
        metavar="MAILER",
        help="The mailer: sendmail, postfix, exim, opensmtpd, kumomta, sojourn."
        "  [default: named in each line]",
    ),
    click.option(
        "--year",
        type=click.IntRange(1970, 9998),
        help="Year of the first line, if time stamps have none.  [default: from the file's time]",
    ),
    click.option(
        "--since",
        metavar="TIME",
        help="Start: 2026-11-22, '2026-11-22 10:00', or 6h for 6 hours ago.",
    ),
    click.option(
        "--until", metavar="TIME", help="End, in the same form; the end itself is excluded."
    ),
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


def set_by(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that name a mailer's settings."""
    command = click.option(
        "--mailer",
        "mailers",
        multiple=True,
        metavar="PATH|NAME",
        help="The mailer's present settings: /etc/postfix, main.cf, master.cf, the output of"
        " postconf -n, sendmail.cf, sendmail.mc or exim.conf; or postfix, sendmail or exim for its"
        " defaults.  [default: the mailer of the LOG, with its defaults]",
    )(command)
    return click.option(
        "--config", type=options.PATH, help="The present settings of sojourn's own server (TOML)."
    )(command)


def server(mailers: Sequence[str], config: Path | None, logged: Sequence[str]) -> "Server":
    """The mailer that is named, or that wrote a log.

    Args:
        mailers: what `--mailer` was given.
        config: what `--config` was given.
        logged: the mailers in the log, the one with most deliveries first.

    Raises:
        InputError: a file cannot be read, is none of a mailer, or both are named.
        StudyError: `config` has what no list server can be set to.
    """
    from sojourn.mail import mailer
    from sojourn.mail.plan import own

    if mailers and config is not None:
        raise InputError(f"--mailer {mailers[0]}: expected no --config beside it")
    if mailers:
        return mailer.of(mailers)
    if config is None and logged and logged[0] in mailer.names():
        return mailer.with_defaults(logged[0])
    return own.server(config)
