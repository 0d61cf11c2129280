"""`sojourn mail plan`: how a list server should be set for a list."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn._internal.errors import InputError
from sojourn.cli import log_options, options, output

if TYPE_CHECKING:
    from sojourn.mail.plan.world import World

_SOME = click.IntRange(1, 1_000_000)


@click.command(short_help="Find how a server should be set for a list.")
@log_options.reads
@click.option(
    "--list",
    "subscribers",
    type=options.PATH_OR_DASH,
    help="The subscribers: one address a line, or CSV.  [default: those in the LOG]",
)
@click.option("--column", help="The CSV's column of addresses.  [default: found by its head]")
@click.option("--config", type=options.PATH, help="The settings there are now (TOML).")
@click.option("--messages", type=click.IntRange(1, 10_000), default=1, show_default=True)
@click.option("--every", metavar="TIME", help="One so often.  [default: all at once]")
@click.option("--size", metavar="SIZE", default="4KB", show_default=True, help="Of a message.")
@click.option("--sessions", type=_SOME, default=1000, show_default=True)
@click.option("--memory", metavar="SIZE", help="Of the server: what bounds sessions beside.")
@click.option(
    "--destination",
    type=_SOME,
    default=20,
    show_default=True,
    help="Sessions of one recipient domain, at most.",
)
@click.option("--network", type=_SOME, help="Sessions of one network, at most.")
@click.option("--recipients", type=_SOME, help="Of a transaction, at most.")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="DOMAIN=N|N/min",
    help="Sessions of one domain, or transactions a minute, at most.",
)
@click.option("--write", metavar="TIME", help="What a write to the disk takes.  [default: 3ms]")
@click.option("--work", metavar="TIME", help="Of the processor, a session.  [default: none]")
@click.option("--line", metavar="RATE", help="Of the line to the internet.  [default: no limit]")
@click.option(
    "--percentile",
    type=click.Choice(["50", "95", "99"]),
    default="95",
    show_default=True,
    help="Whose time is to be short.",
)
@click.option("--replications", type=click.IntRange(2, 1000), default=10, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@click.option(
    "-o",
    "--out",
    type=options.PATH,
    default=Path("out/mail/plan"),
    show_default=True,
    help="Where the settings, the internet and the study that predicts go.",
)
@output.quiet
@output.as_json
def plan(
    *,
    logs: tuple[str, ...],
    subscribers: Path | None,
    column: str | None,
    config: Path | None,
    messages: int,
    every: str | None,
    size: str,
    sessions: int,
    memory: str | None,
    destination: int,
    network: int | None,
    recipients: int | None,
    rules: tuple[str, ...],
    write: str | None,
    work: str | None,
    line: str | None,
    percentile: str,
    replications: int,
    seed: int,
    out: Path,
    as_json: bool,
    **asked: Any,
) -> None:
    """Find how a list server should be set for a list, and predict what that brings.

    Says when all subscribers then have a message, and what holds delivery back, now and then.

    LOG... are delivery logs of any mail server; or the internet itself: a file that sojourn mail
    fit wrote, or a name of `sojourn list internets` with a --list.
    """
    from sojourn._internal.terminal import doing
    from sojourn.mail import plan as planning
    from sojourn.mail.plan.predict import Scenario
    from sojourn.mail.plan.rules import parse
    from sojourn.mail.plan.search import Limits
    from sojourn.mail.plan.show import show

    _check(every=every, write=write, work=work, size=size, line=line)
    burst = {
        "messages": messages,
        "arrivals": {"kind": "regular", "every": every or "0s"},
        "size": size,
    }
    asks = (("write", write), ("work", work), ("line", line))
    machine = {name: value for name, value in asks if value}
    own = tuple(parse("--rule", rule) for rule in rules)
    with doing() as say:
        say("the internet")
        world = _world(logs, subscribers, column, out, asked)
        if memory is not None:
            bytes_ = options.size("--memory", memory)
            most = planning.sessions_within(bytes_, world.subscribers, messages)
            sessions = min(sessions, most)
        scenario = Scenario(world, out, burst, machine, seed)
        planned = planning.plan(
            scenario,
            Limits(sessions, destination, network, recipients, own),
            config=config,
            percentile=int(percentile),
            replications=replications,
            say=say,
        )
    files = planned.write()
    output.emit(
        {**planned.to_dict(), "files": files}, lambda: show(planned, files), as_json=as_json
    )


def _check(
    *, every: str | None, write: str | None, work: str | None, size: str, line: str | None
) -> None:
    """Refuse what is no time, size or rate.

    Raises:
        InputError: one is none.
    """
    from sojourn._internal.units import picoseconds

    for option, time in (("--every", every), ("--write", write), ("--work", work)):
        if time is not None:
            picoseconds(time, option)
    options.size("--size", size)
    if line is not None:
        options.rate("--line", line)


def _world(
    names: tuple[str, ...],
    subscribers: Path | None,
    column: str | None,
    out: Path,
    asked: dict[str, Any],
) -> "World":
    from sojourn.mail import subscribers as lists
    from sojourn.mail.plan import world

    addresses = None if subscribers is None else lists.read(subscribers, column).addresses
    if len(names) == 1 and names[0] in world.presets():
        return world.preset(names[0], addresses)
    if world.listed(Path(names[0])):
        if len(names) > 1:
            raise InputError(f"{names[0]}: an internet, expected no LOG beside it")
        return world.from_file(Path(names[0]), addresses, out)
    return world.learnt(log_options.reading(names, **asked), addresses, out)
