"""`sojourn mail list`: whose mail comes back, who is suspended, and why."""

from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import click

from sojourn.cli import options, output

_DAY = len("2026-11-22")
_COUNTED = ["list", "day", "kind", "number"]


@click.command("list", short_help="Show whose mail came back to a server's lists.")
@click.argument("config", type=options.PATH)
@click.option(
    "--resume",
    nargs=2,
    metavar="BOUNCES SUBSCRIBER",
    help="Serve a subscriber again, of the list whose return path is BOUNCES.",
)
@click.option(
    "--unverified",
    is_flag=True,
    help="Instead, count the mail to return paths that scores no subscriber, day by day.",
)
@click.option("--left", is_flag=True, help="Instead, show who has unsubscribed.")
@output.as_json
def list_(
    config: Path,
    resume: tuple[str, str] | None,
    *,
    unverified: bool,
    left: bool,
    as_json: bool,
) -> None:
    """Show the subscribers whose mail came back to a server's lists, those suspended first.

    CONFIG is the server's own; it may be running. With --resume the bounces of one subscriber are
    forgotten, or that one has unsubscribed. The exit code is 1 when there is nothing to forget.
    """
    from sojourn._internal.terminal import print_columns, print_lines
    from sojourn.mail import serving

    if resume is not None:
        if as_json or unverified or left:
            raise click.UsageError("--resume prints nothing that other options could change")
        if not serving.resume(config, *resume):
            said = f"no mail for {resume[1]} came back to {resume[0]}, and none unsubscribed"
            click.echo(f"sojourn: {said}", err=True)
            raise click.exceptions.Exit(output.FAILED)
        return
    if unverified and left:
        raise click.UsageError("--unverified and --left are two lists: expected one of them")
    if left or unverified:
        found = serving.left(config) if left else serving.unverified(config)
        rows = [list(map(str, asdict(it).values())) for it in found]
        if as_json:
            output.document(found)
        else:
            heads = ["list", "subscriber", "unsubscribed"] if left else _COUNTED
            print_columns(heads, rows)
        return
    members = serving.members(config)
    if as_json:
        output.document(members)
        return
    if not members:
        print_lines(["no mail came back"])
        return
    for name, group in groupby(members, key=lambda it: it.list):
        rows = [
            [it.subscriber, f"{it.score:g}", (it.suspended or "-")[:_DAY], it.reason]
            for it in group
        ]
        print_lines([name])
        print_columns(["subscriber", "score", "suspended", "why"], rows)
