"""`sojourn mail queue`: what a spool holds, and what an operator does with it."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn._internal.errors import InputError
from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn.mail.operate import Counts, Selected

_OPERATIONS = ("hold", "release", "delete", "flush", "requeue")
_DONE = {
    "hold": "held",
    "release": "released",
    "delete": "deleted",
    "flush": "to be tried now",
    "requeue": "requeued",
}


@click.command(short_help="Show, hold, release or delete waiting messages.")
@click.argument("what", nargs=-1, metavar="[CONFIG] [show|hold|release|delete|flush|requeue]")
@options.config_spool
@click.option(
    "--mailing", "mailings", multiple=True, metavar="ID", help="Name of a message in the log."
)
@click.option("--list", "lists", multiple=True, metavar="ADDRESS", help="Return path of a list.")
@click.option("--domain", "domains", multiple=True, help="Domain of recipients.")
@click.option("--address", "addresses", multiple=True, help="Address of a recipient.")
@click.option("--all", "everything", is_flag=True, help="All waiting messages.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@output.as_json
def queue(
    *,
    what: tuple[str, ...],
    spool: Path | None,
    mailings: tuple[str, ...],
    lists: tuple[str, ...],
    domains: tuple[str, ...],
    addresses: tuple[str, ...],
    everything: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Show the messages of a spool, or change what happens to their recipients.

    CONFIG, a server's configuration, or --spool names the spool. The server may be running.

    hold: do not try the recipients until they are released. release: try them again. delete: give
    up; no sender gets a report. flush: try now those that wait for their next attempt. requeue: the
    same, and forget earlier attempts. A transaction that has started is not interrupted.

    --mailing, --list, --domain and --address may be repeated. A recipient must match one value of
    each option that you give.

    Exit code 1 means that nothing matches.

    \b
    Examples:
      sojourn mail queue lists.toml
      sojourn mail queue lists.toml flush --domain x.example
    """
    config, verb = _split(what)
    path = options.spool_of(config, spool)
    if verb == "show":
        if mailings or lists or domains or addresses or everything or yes:
            raise InputError("show has all: expected none of the options that choose")
        _show(path, as_json=as_json)
        return
    from sojourn.mail import operate

    if yes and verb != "delete":
        raise InputError(f"--yes: {verb} asks nothing")
    chosen = operate.select(path, mailings, lists, domains, addresses)
    if chosen.is_all != everything:
        expected = "--mailing, --list, --domain, --address or --all"
        raise InputError(f"{verb}: expected {expected}, and --all alone")
    if verb == "delete" and not yes:
        _confirm(path, chosen)
    done = operate.operate(path, verb, chosen)
    _say(verb, done, as_json=as_json)
    if done.nothing:
        raise click.exceptions.Exit(output.FAILED)


def _split(what: tuple[str, ...]) -> tuple[Path | None, str]:
    """CONFIG and the verb; a file that is called like a verb is given as ./verb."""
    verbs = ("show", *_OPERATIONS)
    *before, last = what or ("show",)
    if last not in verbs:
        before, last = [*before, last], "show"
    if len(before) > 1:
        from sojourn._internal.errors import did_you_mean

        given = before[-1]
        raise InputError(f"no verb {given!r}{did_you_mean(given, verbs)}")
    return (Path(before[0]) if before else None), last


def _confirm(path: Path, chosen: "Selected") -> None:
    from sojourn.mail import operate

    if not sys.stdin.isatty():
        raise InputError("delete: expected --yes, as there is no terminal to ask at")
    counts = operate.operate(path, "count", chosen)
    if not counts.nothing and not click.confirm(f"delete {counts.words()}?", err=True):
        raise click.exceptions.Exit(output.REFUSED)


def _say(verb: str, done: "Counts", *, as_json: bool) -> None:
    from sojourn._internal.terminal import print_lines

    if as_json:
        output.document(done)
    elif done.nothing:
        print_lines(["nothing fits"])
    else:
        print_lines([f"{done.words()} {_DONE[verb]}", *done.notes(verb)])


def _show(spool: Path, *, as_json: bool) -> None:
    from sojourn._internal.terminal import print_lines, print_table
    from sojourn._internal.units import count
    from sojourn.mail import spools

    messages = spools.queue(spool)
    if as_json:
        output.document(messages)
        return
    if not messages:
        print_lines([f"{spool}: nothing to deliver"])
        return
    now = time.time()
    lines = [message.cells(now) for message in messages]
    print_table([lines], spools.HEADS, numbers=spools.NUMBERS)
    left = sum(message.left for message in messages)
    held = sum(message.held for message in messages)
    said = f"{count(len(messages), 'message')}, {count(left, 'recipient')} left"
    print_lines([said + (f", {held:,} of them held" if held else "")])
