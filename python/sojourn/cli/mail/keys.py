"""`sojourn mail keys`: the keys that sign the return paths of a server's lists."""

from pathlib import Path

import click

from sojourn.cli import options, output


@click.command(short_help="Show the keys of a server's return paths.")
@click.argument("config", type=options.PATH)
@click.option("--rotate", is_flag=True, help="Add a key, which signs from now on.")
@output.as_json
def keys(config: Path, *, rotate: bool, as_json: bool) -> None:
    """Show when each key of a server's return paths was made; the last one signs.

    CONFIG is the server's own; it may be running, and takes a new key up at SIGHUP. All keys
    verify, at most eight: a rotation drops the oldest beyond, and with it what it signed.
    """
    from sojourn._internal.terminal import print_lines
    from sojourn.mail import serving

    made = serving.keys(config, rotate=rotate)
    if as_json:
        output.document(made)
        return
    print_lines([*made[:-1], f"{made[-1]} signs"])
