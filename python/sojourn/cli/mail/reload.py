"""`sojourn mail reload`: a running server takes on another configuration."""

from pathlib import Path

import click

from sojourn.cli import options


@click.command(short_help="Have a server read its configuration again.")
@click.argument("config", type=options.PATH)
def reload(config: Path) -> None:
    """Have the running server of CONFIG read it again and go by it.

    Sessions keep what they began with. A configuration that cannot be used is refused, and the
    server goes on as it was. The exit code is 2 then. SIGHUP does the same.
    """
    from sojourn._internal.terminal import print_lines
    from sojourn.mail import serving

    print_lines([*serving.reload(config), "reloaded"])
