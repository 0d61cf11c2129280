"""`sojourn mail shaping`: the limits of a destination."""

from pathlib import Path

import click

from sojourn.cli import options, output


@click.command(short_help="Show the limits of a destination.")
@click.argument("domain")
@click.argument("config", type=options.PATH, required=False)
@options.config_spool
@output.as_json
def shaping(*, domain: str, config: Path | None, spool: Path | None, as_json: bool) -> None:
    """Show the limits that apply to mail for DOMAIN, and the sessions that are open.

    The running server of CONFIG, or on --spool, is asked: it knows the provider of a domain that
    it had mail for. Without a server, the limits that CONFIG sets are shown; those of mail hosts
    and providers apply if the domain's mail goes there.

    The exit code is 1 when no limit is known.
    """
    from sojourn._internal.terminal import print_lines, print_table
    from sojourn.mail import shaping as of

    found = of.limits(domain, config, options.spool_of(config, spool))
    if as_json:
        output.document(found)
    elif found:
        print_table([[limit.cells() for limit in found]], of.HEADS, numbers=of.NUMBERS)
    else:
        print_lines([f"no limits are known for {domain}"])
    if not found:
        raise click.exceptions.Exit(output.FAILED)
