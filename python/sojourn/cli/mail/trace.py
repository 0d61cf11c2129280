"""`sojourn mail trace`: what happened to one recipient's copies."""

from typing import Any

import click

from sojourn.cli import common
from sojourn.cli.mail import logs


@click.command(short_help="Show what happened to a message or an address.")
@click.argument("recipient")
@logs.reads
@common.as_json
def trace(*, recipient: str, as_json: bool, **asked: Any) -> None:
    """Show everything in the LOG... that happened to the messages for a RECIPIENT.

    That is an address, or a domain with @ in front. A log is a file, packed or not, or - for
    standard input. Exit code 1 where nothing happened.
    """
    from sojourn._internal.formats import json_text
    from sojourn.mail.tools import trace as of

    found = of.trace(logs.reading(**asked), recipient)
    if as_json:
        click.echo(json_text(found.to_dict()))
    else:
        of.show(found)
    if not found.copies:
        raise click.exceptions.Exit(common.FAILED)
