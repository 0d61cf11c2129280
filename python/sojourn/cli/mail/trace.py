"""`sojourn mail trace`: what happened to one recipient's copies."""

from typing import Any

import click

from sojourn.cli import log_options, output


@click.command(short_help="Show what happened to a message or an address.")
@click.argument("recipient")
@log_options.reads
@output.as_json
def trace(*, recipient: str, as_json: bool, **asked: Any) -> None:
    """Show everything in the LOG... that happened to the messages for a RECIPIENT.

    RECIPIENT is an address, or a domain after an @. LOG... are files, compressed or not, or - for
    standard input. Exit code 1 means that nothing happened.

    \b
    Example:
      sojourn mail trace ann@example.com mail.log
    """
    from sojourn.mail.tools import trace as of

    found = of.trace(log_options.reading(**asked), recipient)
    output.emit(found, lambda: of.show(found), as_json=as_json)
    if not found.copies:
        raise click.exceptions.Exit(output.FAILED)
