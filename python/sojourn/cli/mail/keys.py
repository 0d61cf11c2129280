"""`sojourn mail keys`: the keys that sign the return paths of a server's lists."""

from pathlib import Path

import click

from sojourn.cli import options, output


@click.command(short_help="Show the keys of a server's return paths.")
@click.argument("config", type=options.PATH)
@click.option(
    "--rotate", is_flag=True, help="Add a key, which signs from the next reload or start."
)
@output.as_json
def keys(config: Path, *, rotate: bool, as_json: bool) -> None:
    """Show when each key of a server's return paths was created; the last one signs.

    CONFIG is the configuration of the server. The server may be running, and uses a new key after
    SIGHUP. All keys verify, at most eight. A rotation beyond that drops the oldest key, and what it
    signed can no longer be verified.

    \b
    Example:
      sojourn mail keys lists.toml --rotate
    """
    from sojourn._internal.terminal import print_lines
    from sojourn.mail import serving

    made = serving.keys(config, rotate=rotate)
    if as_json:
        output.document(made)
        return
    print_lines([*made[:-1], f"{made[-1]} signs"])
