"""`sojourn mail deliver`: one message to a list of subscribers."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn._internal.errors import InputError, Interrupted
from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn.mail.delivery import Delivered, Order, Trouble

_REASONS = 10


@click.command(short_help="Send a message to a list of subscribers.")
@click.argument("message", required=False, type=options.PATH_OR_DASH)
@click.option(
    "--list",
    "subscribers",
    type=options.PATH_OR_DASH,
    help="Subscribers: one address per line, or CSV.",
)
@click.option(
    "--suppressed",
    type=options.PATH,
    help="Addresses to skip: from `sojourn mail list CONFIG export`, or a list of addresses.",
)
@click.option("--column", help="The CSV's column of addresses.  [default: found by its heading]")
@click.option(
    "--sender", help="Address for failure reports.  [default: the message's Sender or From]"
)
@click.option("--config", type=options.PATH, help="File of settings (TOML).")
@options.settings("Override a value of the file.")
@options.spool
@click.option("--log", type=options.PATH, help="Write a log in Postfix's format.")
@click.option(
    "--patience", metavar="TIME", help="Stop after this time; the rest stays in the spool."
)
@output.as_json
def deliver(
    *,
    message: Path | None,
    subscribers: Path | None,
    suppressed: Path | None,
    column: str | None,
    sender: str | None,
    config: Path | None,
    settings: tuple[str, ...],
    spool: Path,
    log: Path | None,
    patience: str | None,
    as_json: bool,
) -> None:
    """Send MESSAGE, a file or `-`, to a list of subscribers, or continue with the spool.

    The command ends when each recipient has the message or never will. Ctrl-C leaves the rest in
    the spool; the same command with only --spool continues.

    If a row of --list has no address, only that row is refused.

    Exit code 0 means that all recipients have the message, and 1 that one has not, or that a row
    was refused.

    \b
    Examples:
      sojourn mail deliver message.eml --list subscribers.txt
      sojourn mail deliver --spool out/mail/spool
    """
    from sojourn._internal.units import PS_PER_S, picoseconds
    from sojourn.mail import delivery

    chosen = delivery.settings(config, [options.pair(setting) for setting in settings])
    patience_s = None if patience is None else picoseconds(patience, "--patience") / PS_PER_S
    order = None
    if message is not None:
        order = _order(message, subscribers, suppressed, column, sender)
    elif subscribers or suppressed or column or sender:
        said = "--list, --suppressed, --column and --sender belong to a MESSAGE"
        raise click.UsageError(said)
    elif not spool.exists():
        raise InputError(f"{spool}: no spool to continue with")
    done = delivery.deliver(
        chosen,
        spool,
        order,
        log=log,
        patience_s=patience_s,
        say=lambda notice: click.echo(f"sojourn: {notice}", err=True),
    )
    output.refused(done.refused)
    output.emit({**asdict(done), "spool": str(spool)}, lambda: _say(done), as_json=as_json)
    if done.interrupted:
        raise Interrupted(_left(done))
    if not done.complete:
        raise click.exceptions.Exit(output.FAILED)


def _order(
    message: Path,
    subscribers: Path | None,
    suppressed: Path | None,
    column: str | None,
    sender: str | None,
) -> "Order":
    from sojourn.mail import delivery
    from sojourn.mail import subscribers as lists

    if subscribers is None:
        raise click.UsageError("a MESSAGE needs --list: its subscribers")
    if message == subscribers == Path("-"):
        raise click.UsageError("MESSAGE and --list cannot both be standard input")
    text = delivery.message(message)
    from_ = delivery.sender(sender, text, message)
    people = lists.read(subscribers, column)
    if suppressed is not None:
        people = people.without(lists.suppressed(suppressed))
        if not people.addresses:
            raise InputError(f"{suppressed}: it has all of {subscribers}: nobody is left")
    return delivery.Order(from_, people, text)


def _left(done: "Delivered") -> str:
    if not done.left:
        return "interrupted, and nothing is left"
    from sojourn._internal.units import count

    return f"{count(done.left, 'message')} left in the spool; to continue: {done.resume()}"


def _say(done: "Delivered") -> None:
    from sojourn._internal.terminal import print_lines
    from sojourn._internal.units import count

    lines = [f"delivered  {done.delivered:,}"]
    if done.duplicates:
        lines[0] += f" ({count(done.duplicates, 'duplicate')} in the list dropped)"
    if done.suppressed:
        lines.append(f"suppressed {done.suppressed:,}")
    if done.seconds:
        shown = ", ".join(
            f"{name[1:]} % {done.seconds[name]:.3g} s" for name in ("p50", "p95", "p99")
        )
        lines.append(f"after      {shown}, all {done.seconds['max']:.3g} s")
    for name, list_ in (("deferred", done.deferred), ("failed", done.failed)):
        if list_:
            lines.append(f"{name:10} {len(list_):,}")
            lines.extend(_reasons(list_))
    if done.left and not done.interrupted:
        lines.append(_left(done))
    print_lines(lines)


def _reasons(list_: "list[Trouble]") -> list[str]:
    """The most frequent reasons, one a line with how many and one of them."""
    reasons = Counter((it.status, it.reason) for it in list_)
    example = {(it.status, it.reason): it.recipient for it in list_}
    lines = [
        f"  {many:6,}  {status} {reason} (such as {example[status, reason]})"
        for (status, reason), many in reasons.most_common(_REASONS)
    ]
    rest = len(reasons) - _REASONS
    return [*lines, f"          and {rest:,} other reasons"] if rest > 0 else lines
