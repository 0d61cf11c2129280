"""`sojourn mail internet`: a small internet to send to."""

import signal
import sys
from pathlib import Path

import click

from sojourn.cli import options, output


@click.command(short_help="Run a small internet on loopback.")
@click.argument("world", type=options.PATH)
@options.settings("Set something in the world.")
@click.option(
    "--subscribers",
    type=options.PATH,
    help="Write all subscribers' addresses to this file, one per line.",
)
@output.as_json
def internet(
    *, world: Path, settings: tuple[str, ...], subscribers: Path | None, as_json: bool
) -> None:
    """Run the small internet that the file WORLD describes, on loopback, until Ctrl-C.

    The command prints the addresses of its name server and mail port, to which you configure the
    list server that you want to test. At the end it prints how much mail was accepted.

    \b
    Example:
      sojourn mail internet world.toml --subscribers list.txt
    """
    from sojourn._internal.files import read_text
    from sojourn._internal.units import count
    from sojourn._mail import TestNetConfig

    overrides = [options.pair(setting) for setting in settings]
    there = TestNetConfig.parse(read_text(world, "world"), str(world), overrides)
    if subscribers is not None:
        lines = (f"{address}\n" for address, _ in there.subscribers())
        subscribers.write_text("".join(lines), encoding="utf-8")
    running = there.start()
    where = {"resolver": running.resolver, "smtp_port": running.smtp_port}
    if as_json:
        output.document(where)
    else:
        resolvers = f"'network.resolvers=[\"{running.resolver}\"]'"
        click.echo(f"reached by --set network.port={running.smtp_port} --set {resolvers}")
    sys.stdout.flush()
    try:
        while True:
            signal.pause()
    except KeyboardInterrupt:
        accepted = running.accepted(0)
        messages = len({one[1] for one in accepted})
        said = f"{count(messages, 'message')} taken over, for {count(len(accepted), 'recipient')}"
        click.echo(said, err=True)
    finally:
        running.stop()
