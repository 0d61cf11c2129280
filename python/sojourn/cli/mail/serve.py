"""`sojourn mail serve` and `reload`: a list server that takes mail from other programs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn._internal.errors import InputError
from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn._mail import ListServer

_LOOK_S = 1.0


@click.command(short_help="Run a list server.")
@click.argument("config", type=options.PATH)
@options.settings("Put a value over the file's.")
@click.option(
    "--log",
    type=options.PATH,
    help="File of the log.  [default: as CONFIG says, or standard output]",
)
def serve(config: Path, settings: tuple[str, ...], log: Path | None) -> None:
    """Accept list mail by SMTP and LMTP as CONFIG says, and deliver it.

    The server runs until SIGTERM or Ctrl-C. Undelivered mail then stays in the spool for the next
    start. The log has Postfix's format. On SIGHUP the server continues the log in a new file of the
    same name, and reads the keys (`sojourn mail keys`) and CONFIG again (`sojourn mail reload`).

    \b
    Example:
      sojourn mail serve /etc/sojourn/lists.toml
    """
    import signal
    import threading

    from sojourn._internal.units import count
    from sojourn.mail import serving

    server = serving.start(config, [options.pair(setting) for setting in settings], log)

    def hang_up(*_: object) -> None:
        try:
            server.reopen_log()
        except InputError as error:
            _say(f"the log continues in the old file: {error}")
        try:
            server.reload_keys()
        except InputError as error:
            _say(f"the keys are those from before: {error}")
        try:
            notices = server.reload()
        except InputError as error:
            _say(f"the configuration was not reloaded: {error}")
        else:
            for notice in (*notices, "the configuration was reloaded"):
                _say(notice)

    try:
        signal.signal(signal.SIGHUP, hang_up)
        _say_where(server)
        wait = threading.Event().wait
        while server.is_running():
            wait(_LOOK_S)
    except KeyboardInterrupt:
        pass
    left, cut = server.stop()
    said = f"stopped, {count(left, 'message')} left in the spool"
    _say(said + (f", {count(cut, 'session')} cut" if cut else ""))


def _say_where(server: "ListServer") -> None:
    for address in server.addresses:
        _say(f"listening at {address}")
    if server.live is not None:
        address, token = server.live
        # a token is for the operator at the terminal, not for a log
        secret = f"?token={Path(token).read_text('utf-8').strip()}" if sys.stderr.isatty() else ""
        _say(f"live page at http://{address}/{secret}" + ("" if secret else f", token in {token}"))
    if server.unsubscribe is not None:
        _say(f"unsubscribing at {server.unsubscribe}")
    for notice in server.notices:
        _say(notice)


def _say(what: str) -> None:
    click.echo(f"sojourn: {what}", err=True)


@click.command(short_help="Make a server read its configuration again.")
@click.argument("config", type=options.PATH)
def reload(config: Path) -> None:
    """Make the running server of CONFIG read it again.

    Open sessions keep their settings until their next transaction. If the configuration cannot be
    used, the server continues unchanged, and the exit code is 2. SIGHUP does the same.

    \b
    Example:
      sojourn mail reload /etc/sojourn/lists.toml
    """
    from sojourn._internal.terminal import print_lines
    from sojourn.mail import serving

    print_lines([*serving.reload(config), "reloaded"])


@click.command(short_help="Show the limits of a destination.")
@click.argument("domain")
@click.argument("config", type=options.PATH, required=False)
@options.config_spool
@output.as_json
def shaping(*, domain: str, config: Path | None, spool: Path | None, as_json: bool) -> None:
    """Show the limits that apply to mail for DOMAIN, and the open sessions.

    The command asks the running server of CONFIG, or of --spool, which knows the provider of each
    domain to which it has sent mail. Without a server it shows the limits in CONFIG; limits of mail
    hosts and providers apply if the domain's mail goes there.

    Exit code 1 means that no limit is known.

    \b
    Example:
      sojourn mail shaping gmail.com lists.toml
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
