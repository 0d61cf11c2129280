"""`sojourn mail list`: whose mail comes back, who is suspended and why, and changes by hand."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from sojourn._internal.errors import InputError, did_you_mean
from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn.mail.subscribers import Subscribers
    from sojourn.mail.suppression import Verb

_DAY = len("2026-11-22")
_COUNTED = ["list", "day", "kind", "number"]
_DONE = {
    "suspend": "suspended",
    "resume": "served again",
    "remove": "unsubscribed",
    "erase": "forgotten",
}
_VERBS = ("show", *_DONE, "import", "export")


@click.command("list", short_help="Show, suspend or resume a server's subscribers.")
@click.argument("config", type=options.PATH)
@click.argument("verb", default="show", metavar="[show|suspend|resume|remove|erase|import|export]")
@click.option("--list", "lists", multiple=True, metavar="BOUNCES", help="Return path of a list.")
@click.option("--address", "addresses", multiple=True, help="Address of a subscriber.")
@click.option(
    "--file",
    type=options.PATH_OR_DASH,
    help="Subscribers, one per line or CSV; import reads it, and export writes it.",
)
@click.option(
    "--provider",
    "providers",
    multiple=True,
    help="resume: all subscribers whose host this provider runs.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    help="resume: all subscribers whose last mail failed for this fault.",
)
@click.option("--yes", is_flag=True, help="Erase without asking.")
@click.option(
    "--resume",
    nargs=2,
    metavar="BOUNCES SUBSCRIBER",
    help="Short for: resume --list BOUNCES --address SUBSCRIBER.",
)
@click.option(
    "--unverified",
    is_flag=True,
    help="Count bounces that change no subscriber's score, day by day, instead.",
)
@click.option("--left", is_flag=True, help="Show who has unsubscribed, instead.")
@output.as_json
def list_(
    *,
    config: Path,
    verb: str,
    lists: tuple[str, ...],
    addresses: tuple[str, ...],
    file: Path | None,
    providers: tuple[str, ...],
    faults: tuple[str, ...],
    yes: bool,
    resume: tuple[str, str] | None,
    unverified: bool,
    left: bool,
    as_json: bool,
) -> None:
    """Show the subscribers whose mail bounced, with suspended ones first, or change them.

    CONFIG is the configuration of the server, which may be running.

    suspend: send no mail to these subscribers. resume: serve them again, and forget their failures
    or that they have left. remove: unsubscribe them. erase: forget that they were ever subscribers;
    the list's program must not name them again. Choose them by --address or --file, and by
    --list (without it, all lists); resume also takes --provider and --fault.

    export writes a suppression list to --file: who is suspended or has left, since when and why.
    import reads one. If a row cannot be read, only that row is refused, here and in other files.

    Exit code 1 means that nothing was changed, or that a row of the file was refused.

    \b
    Examples:
      sojourn mail list lists.toml
      sojourn mail list lists.toml suspend --address ann@example.com
    """
    if verb not in _VERBS:
        raise InputError(f"no verb {verb!r}{did_you_mean(verb, _VERBS)}")
    if resume is not None:
        if verb != "show" or lists or addresses:
            raise click.UsageError("--resume is a verb and its choice: expected neither beside it")
        verb, lists, addresses = "resume", resume[:1], resume[1:]
    if verb == "show":
        if lists or addresses or file or providers or faults or yes:
            raise InputError("show has all: expected none of the options that choose")
        _show(config, unverified=unverified, left=left, as_json=as_json)
        return
    if unverified or left:
        raise click.UsageError(f"--unverified and --left show something: {verb} does not")
    if yes and verb != "erase":
        raise InputError(f"--yes: {verb} asks nothing")
    if (providers or faults) and verb != "resume":
        raise InputError(f"--provider and --fault choose whom to resume, not whom to {verb}")
    if verb in ("import", "export"):
        if addresses or file is None:
            raise InputError(f"{verb}: expected --file, and no --address")
        _table(config, verb, lists, file, as_json=as_json)
        return
    people = _chosen(config, verb, lists, addresses, file, providers, faults)
    if verb == "erase" and not yes:
        _confirm(len(people.addresses))
    from sojourn.mail import suppression

    changed = suppression.change(config, cast("Verb", verb), lists, people.addresses)
    _say(changed, _DONE[verb], people.refused, as_json=as_json)


def _chosen(  # noqa: PLR0917
    config: Path,
    verb: str,
    lists: tuple[str, ...],
    addresses: tuple[str, ...],
    file: Path | None,
    providers: tuple[str, ...],
    faults: tuple[str, ...],
) -> "Subscribers":
    """The subscribers to change."""
    from sojourn.mail import subscribers, suppression

    if wrong := [fault for fault in faults if fault not in suppression.FAULTS]:
        raise InputError(f"no fault {wrong[0]!r}{did_you_mean(wrong[0], suppression.FAULTS)}")
    groups = bool(providers or faults)
    if bool(addresses) + bool(file) + groups != 1:
        others = ", --provider or --fault" if verb == "resume" else ""
        raise InputError(f"{verb}: expected one of --address, --file{others}")
    if groups:
        found = suppression.suspended(config, lists, providers, faults)
        return subscribers.Subscribers(found)
    if file is None:
        return subscribers.Subscribers(list(addresses))
    return subscribers.read(file)


def _confirm(number: int) -> None:
    from sojourn._internal.units import count

    if not sys.stdin.isatty():
        raise InputError("erase: expected --yes, as there is no terminal to ask at")
    if not click.confirm(f"forget {count(number, 'subscriber')} for good?", err=True):
        raise click.exceptions.Exit(output.REFUSED)


def _table(config: Path, verb: str, lists: tuple[str, ...], file: Path, *, as_json: bool) -> None:
    from sojourn.mail import suppression

    if verb == "import":
        changed, refused = suppression.load(config, lists, file)
        _say(changed, "suspended or unsubscribed", refused, as_json=as_json)
    elif file != Path("-"):
        _say(suppression.export(config, lists, file), "written", (), as_json=as_json)
    else:
        suppression.write(sys.stdout, suppression.rows(config, lists))


def _say(number: int, done: str, refused: Sequence[str], *, as_json: bool) -> None:
    from sojourn._internal.terminal import print_lines
    from sojourn._internal.units import count

    if as_json:
        output.document({"changed": number, "refused": list(refused)})
    else:
        print_lines([f"{count(number, 'subscriber')} {done}"])
    output.refused(refused)
    if refused or not number:
        raise click.exceptions.Exit(output.FAILED)


def _show(config: Path, *, unverified: bool, left: bool, as_json: bool) -> None:
    from sojourn._internal.terminal import print_columns, print_lines
    from sojourn.mail import serving

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
            [
                it.subscriber,
                f"{it.score:g}",
                (it.probed or "-")[:_DAY],
                (it.suspended or "-")[:_DAY],
                it.provider or "-",
                it.reason,
            ]
            for it in group
        ]
        print_lines([name])
        print_columns(["subscriber", "score", "asked", "suspended", "provider", "why"], rows)
