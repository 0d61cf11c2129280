"""`sojourn mail late`: the paper's latedudes."""

from typing import Any

import click

from sojourn.cli import common
from sojourn.cli.mail import logs


@click.command()
@logs.reads
@common.as_json
def late(*, as_json: bool, **asked: Any) -> None:
    """Show who has how many messages waiting when the LOG... ends, and why.

    A log is a file, packed or not, or - for standard input.
    """
    from sojourn import document
    from sojourn.mail.logs import late as of

    found = of.late(logs.reading(**asked))
    if as_json:
        click.echo(document.dumps(found.to_dict()))
    else:
        of.show(found)
