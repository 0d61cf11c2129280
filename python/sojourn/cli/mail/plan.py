"""`sojourn mail plan`: how a list server should be set for a list."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn._internal.errors import InputError
from sojourn.cli import log_options, options, output

if TYPE_CHECKING:
    from sojourn.mail.plan.request import Request

_SOME = click.IntRange(1, 1_000_000)


@click.command(short_help="Find better settings of a mail server for a list.")
@log_options.reads
@click.option(
    "--list",
    "subscribers",
    type=options.PATH_OR_DASH,
    help="Subscribers: one address per line, or CSV.  [default: those in the LOG]",
)
@click.option("--column", help="The CSV's column of addresses.  [default: found by its heading]")
@log_options.set_by
@click.option(
    "--messages",
    type=click.IntRange(1, 10_000),
    help="Number of messages in the plan.  [default: those of the log; 1 with --list]",
)
@click.option("--every", metavar="TIME", help="Time between messages.  [default: all at once]")
@click.option(
    "--size", metavar="SIZE", help="Size of a message.  [default: as in the log, otherwise 4KB]"
)
@click.option(
    "--sessions",
    type=_SOME,
    help="Maximum sessions in total.  [default: 1000, or the present number]",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory of sojourn's server, which limits sessions too.",
)
@click.option(
    "--destination",
    type=_SOME,
    help="Maximum sessions per recipient domain.  [default: 20, or the present number]",
)
@click.option("--network", type=_SOME, help="Maximum sessions per network (sojourn only).")
@click.option("--recipients", type=_SOME, help="Maximum recipients per transaction.")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="DOMAIN=N|N/min",
    help="Maximum sessions, or transactions per minute, for one domain.",
)
@click.option("--write", metavar="TIME", help="Time of a write to the disk.  [default: 3ms]")
@click.option("--work", metavar="TIME", help="CPU time per session.  [default: none]")
@click.option(
    "--line", metavar="RATE", help="Rate of the internet connection.  [default: no limit]"
)
@click.option(
    "--percentile",
    type=click.Choice(["50", "95", "99"]),
    default="95",
    show_default=True,
    help="Share of deliveries, in per cent, whose time the plan shortens.",
)
@click.option("--replications", type=click.IntRange(2, 1000), default=10, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@options.out(
    "Where the settings, the internet and the study that predicts go.",
    default=Path("out/mail/plan"),
)
@output.quiet
@output.as_json
def plan(
    *,
    logs: tuple[str, ...],
    config: Path | None,
    mailers: tuple[str, ...],
    percentile: str,
    replications: int,
    as_json: bool,
    **asked: Any,
) -> None:
    """Find better settings of a mail server for a list, and predict their effect.

    The command prints when all subscribers have a message, and what delays delivery, before and
    after.

    LOG... are delivery logs of Postfix, sendmail, sojourn, or Exim with log_selector =
    +deliver_time. Other mailers do not log how long an attempt took. Instead of a log it takes an
    internet: a file that `sojourn mail fit` wrote, or a name of `sojourn list internets` with a
    --list.

    The command first compares the log with a model of it that has the server's settings. If the
    two differ by more than 15 % at the median or the 95th percentile, there is no plan: the command
    prints the reasons and exits with code 1.

    \b
    Example:
      sojourn mail plan mail.log --mailer /etc/postfix
    """
    from sojourn._internal.terminal import doing
    from sojourn.mail import plan as planning
    from sojourn.mail.plan.logged import Logged
    from sojourn.mail.plan.request import prepared
    from sojourn.mail.plan.show import show, show_logged

    request = _request(asked, config)
    with doing() as say:
        say("the internet")
        log = None if _internet(logs) else Logged.read(log_options.reading(logs, **asked))
        server = log_options.server(mailers, config, [] if log is None else log.mailers())
        made_of = prepared(request, logs[0], log, server, replications)
        explained = made_of.explained
        if explained is not None and not explained.holds:
            found = {"as_logged": explained.to_dict()}
            output.emit(found, lambda: show_logged(explained), as_json=as_json)
            raise click.exceptions.Exit(output.FAILED)
        planned = planning.plan(
            made_of.scenario,
            made_of.limits,
            server,
            config=config,
            explained=explained,
            percentile=int(percentile),
            replications=replications,
            say=say,
        )
    files = planned.write()
    output.emit(
        {**planned.to_dict(), "files": files}, lambda: show(planned, files), as_json=as_json
    )


def _request(asked: dict[str, Any], config: Path | None) -> "Request":
    """Take what a plan is asked for out of the options.

    Raises:
        InputError: one is none.
    """
    from sojourn.mail import subscribers
    from sojourn.mail.plan.request import Request
    from sojourn.mail.plan.rules import parse

    def take(*names: str) -> dict[str, Any]:
        return {name: asked.pop(name) for name in names}

    whom, memory = take("subscribers", "column"), asked.pop("memory")
    burst, machine = take("messages", "every", "size"), take("write", "work", "line")
    _check(**{name: it for name, it in (burst | machine).items() if name != "messages"})
    path = whom["subscribers"]
    return Request(
        addresses=None if path is None else subscribers.read(path, whom["column"]).addresses,
        burst=burst,
        most=take("sessions", "destination", "network", "recipients"),
        rules=tuple(parse("--rule", rule) for rule in asked.pop("rules")),
        memory_bytes=None if memory is None else options.size("--memory", memory),
        machine={name: value for name, value in machine.items() if value},
        config=config,
        folder=asked.pop("out"),
        seed=asked.pop("seed"),
    )


def _check(
    *, every: str | None, write: str | None, work: str | None, size: str | None, line: str | None
) -> None:
    """Refuse what is no time, size or rate.

    Raises:
        InputError: one is none.
    """
    from sojourn._internal.units import picoseconds

    for option, time in (("--every", every), ("--write", write), ("--work", work)):
        if time is not None:
            picoseconds(time, option)
    if size is not None:
        options.size("--size", size)
    if line is not None:
        options.rate("--line", line)


def _internet(names: tuple[str, ...]) -> bool:
    """Whether what is named is an internet, and no log.

    Raises:
        InputError: an internet is named, and something else.
    """
    from sojourn.mail.plan import world

    if len(names) == 1 and names[0] in world.presets():
        return True
    if not world.listed(Path(names[0])):
        return False
    if len(names) > 1:
        raise InputError(f"{names[0]}: an internet, expected no LOG beside it")
    return True
