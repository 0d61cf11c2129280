"""`sojourn mail fit`: an internet learnt from delivery logs."""

from pathlib import Path
from typing import Any

import click

from sojourn.cli import log_options, options, output

_SHOWN = 20


@click.command(short_help="Learn an internet from a mail server's log.")
@log_options.reads
@click.option(
    "-o",
    "--out",
    type=options.PATH,
    default=Path("internet.csv"),
    show_default=True,
    help="Where to write it.",
)
@output.quiet
@output.as_json
def fit(*, out: Path, as_json: bool, **asked: Any) -> None:
    """Learn from the LOG... of a mail server how the domains it sends to are.

    How far each is, how long it takes for an answer, how often and how long it is out, whether it
    greylists, and how many sessions and recipients a minute its provider allows. The file is an
    internet for studies: internet = { kind = "listed", file = ... }. A log is a file, packed or
    not, or - for standard input.
    """
    from sojourn._internal.terminal import print_table
    from sojourn.mail.fit import fit as learn

    found = learn(log_options.reading(**asked))
    found.write(out)
    if as_json:
        output.document({**found.to_dict(), "file": str(out)})
        return
    largest = sorted(found.peers, key=lambda peer: (-peer.subscribers, peer.domain))[:_SHOWN]
    lines = [
        [
            peer.domain,
            peer.provider or "",
            str(peer.subscribers),
            f"{peer.round_trip_us / 1e3:.1f}",
            f"{peer.reply_us / 1e3:.1f}",
            "" if peer.greylisting_us is None else f"{peer.greylisting_us / 1e6:.0f}",
            *("" if most is None else str(most) for most in (peer.sessions, peer.per_minute)),
            f"{peer.down:.1%}",
        ]
        for peer in largest
    ]
    heads = ["domain", "provider", "subscribers", "round trip ms", "answer ms", "greylists s"]
    heads += ["sessions", "recipients/min", "out"]
    print_table([lines], heads)
    for note in found.notes:
        click.echo(note)
    click.echo(f'{len(found.peers):,} domains: internet = {{ kind = "listed", file = "{out}" }}')
