"""`sojourn mail fit`: an internet learnt from delivery logs."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import log_options, options, output

if TYPE_CHECKING:
    from sojourn.mail.fit import Fitted

_SHOWN = 20


@click.command(short_help="Learn an internet from a mail server's log.")
@log_options.reads
@log_options.set_by
@options.out("Where to write it.", default=Path("internet.csv"))
@output.quiet
@output.as_json
def fit(
    *,
    out: Path,
    config: Path | None,
    mailers: tuple[str, ...],
    as_json: bool,
    **asked: Any,
) -> None:
    """Learn from the LOG... of a mail server how the domains behave to which it sends.

    This is how far each domain is, how long it takes to reply, how often and how long it is down,
    whether it greylists, and how many sessions and recipients per minute its provider allows. The
    file is an internet for studies: internet = { kind = "listed", file = ... }. LOG... are files,
    compressed or not, or - for standard input. They must say how long attempts took: Postfix,
    sendmail and sojourn log that, and Exim does with log_selector = +deliver_time.

    With the server's settings (--mailer or --config), the log's own messages are then simulated in
    this internet. If the model differs from the log by more than 15 % at the median or the 95th
    percentile, the command prints the reasons and exits with code 1.

    \b
    Example:
      sojourn mail fit mail.log --mailer /etc/postfix
    """
    from sojourn.mail.fit import learn
    from sojourn.mail.plan.logged import Logged
    from sojourn.mail.plan.request import as_logged
    from sojourn.mail.plan.show import show_logged

    log = Logged.read(log_options.reading(**asked))
    found = learn(log.tables, log.names)
    found.write(out)
    explained = None
    if mailers or config is not None:
        server = log_options.server(mailers, config, log.mailers())
        with TemporaryDirectory() as folder:
            explained = as_logged(log, found, server, Path(folder))
    if as_json:
        document = {**found.to_dict(), "file": str(out)}
        output.document(
            document if explained is None else {**document, "as_logged": explained.to_dict()}
        )
    else:
        _show(found, out)
        for line in log.log.notes():
            click.echo(line)
        if explained is not None:
            show_logged(explained)
    if explained is not None and not explained.holds:
        raise click.exceptions.Exit(output.FAILED)


def _show(found: "Fitted", out: Path) -> None:
    from sojourn._internal.terminal import print_table

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
