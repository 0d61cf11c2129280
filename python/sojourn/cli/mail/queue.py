"""`sojourn mail queue`: what a spool holds."""

import time
from pathlib import Path

import click

from sojourn.cli import common


@click.command()
@common.spool
@common.as_json
def queue(*, spool: Path, as_json: bool) -> None:
    """Show the messages of a spool, whether or not a server is at work on it."""
    from sojourn import document
    from sojourn.mail import spools
    from sojourn.terminal import print_lines, print_table
    from sojourn.units import count

    messages = spools.queue(spool)
    if as_json:
        click.echo(document.dumps([message.to_dict() for message in messages]))
        return
    if not messages:
        print_lines([f"{spool}: nothing to deliver"])
        return
    now = time.time()
    lines = [message.cells(now) for message in messages]
    print_table([lines], spools.HEADS, numbers=spools.NUMBERS)
    left = sum(message.left for message in messages)
    print_lines([f"{count(len(messages), 'message')}, {count(left, 'recipient')} left"])
