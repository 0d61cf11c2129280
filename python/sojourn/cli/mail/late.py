"""`sojourn mail late`: the paper's latedudes."""

from pathlib import Path
from typing import Any

import click

from sojourn._internal.errors import InputError
from sojourn.cli import log_options, options, output


@click.command(short_help="Show the recipients that still wait.")
@log_options.may_read
@click.option(
    "--spool",
    type=options.PATH,
    help="Spool, to show who waits now and until when; a server may be running.",
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
    """Show the recipients that still wait at the end of the LOG..., or in a --spool, and why.

    --config names the server whose spool to read.

    LOG... are files, compressed or not, or - for standard input.

    \b
    Examples:
      sojourn mail late mail.log
      sojourn mail late --spool out/mail/spool
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
