"""`sojourn mail late`: the paper's latedudes."""

from pathlib import Path
from typing import Any

import click

from sojourn._internal.errors import InputError
from sojourn.cli import log_options, options, output


@click.command(short_help="Show who has messages waiting.")
@log_options.may_read
@click.option(
    "--spool",
    type=options.PATH,
    help="Who waits there now, and until when, whether or not a server is at work on it.",
)
@options.config_option
@output.as_json
def late(
    *,
    logs: tuple[str, ...],
    spool: Path | None,
    config: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Show who has how many messages waiting when the LOG... ends, and why; or in a --spool.

    With --config it is the spool of the server that is set so.

    A log is a file, packed or not, or - for standard input.
    """
    from sojourn.cli.log_options import reading
    from sojourn.mail.tools import late as of

    if config is not None:
        spool = options.spool_of(config, spool)
    if spool is None and not logs:
        raise InputError("no LOG and no --spool: expected one of them")
    if spool is None:
        found = of.late(reading(logs, **asked))
    elif logs or any(asked.values()):
        raise InputError("--spool: expected no LOG beside it, and nothing that is about one")
    else:
        from sojourn.mail import spools

        found = of.in_spool(spools.waiting(spool))
    output.emit(found, lambda: of.show(found), as_json=as_json)
