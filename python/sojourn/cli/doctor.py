"""`sojourn doctor`: what is here, and what is missing for which verb."""

from pathlib import Path

import click

from sojourn.cli import options, output


@click.command(short_help="Show what is installed and what is missing.")
@click.argument("config", type=options.PATH, required=False)
@click.option(
    "--spool",
    type=options.PATH,
    help="List the files of a list server that other users may read.",
)
@output.as_json
def doctor(*, config: Path | None, spool: Path | None, as_json: bool) -> None:
    """Show the version of sojourn, and what is installed or missing for which command.

    With a CONFIG of a list server, or a --spool, also list which of its files are readable by
    other users of the machine. They contain addresses and mail. Nothing is changed.

    \b
    Example:
      sojourn doctor
    """
    from sojourn._internal import build
    from sojourn._internal.doctor import findings
    from sojourn._internal.errors import InputError
    from sojourn._internal.terminal import print_lines, print_table

    if config is not None and spool is not None:
        raise InputError("CONFIG and --spool: expected one of them")
    log: Path | None = None
    if config is not None:
        from sojourn.mail import serving

        chosen = serving.settings(config, [])
        spool = Path(chosen.spool)
        log = None if chosen.log is None else Path(chosen.log)
    open_to_others: list[str] = []
    if spool is not None:
        from sojourn.mail import spools

        open_to_others = spools.exposed(spool, log)
    found = list(findings())
    if as_json:
        said: dict[str, object] = {
            "version": build.version(),
            "commit": build.commit(),
            "build": build.identity(),
        }
        said["findings"] = found
        if spool is not None:
            said["exposed"] = open_to_others
        output.document(said)
        return
    lines = [[f.name, f.verb, f.found or "missing", "" if f.found else f.get] for f in found]
    heads = ["", "wanted for", "found", "how to get it"]
    print_table([lines], heads, title=f"sojourn {build.described()}")
    if spool is not None:
        print_lines(open_to_others or [f"{spool}: its files are their owner's alone"])
