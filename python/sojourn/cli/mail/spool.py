"""`sojourn mail spool`: a spool verified and repaired."""

from pathlib import Path

import click

from sojourn.cli import options, output


@click.group(cls=output.Commands)
def spool() -> None:
    """Look after a spool."""


@spool.command(short_help="Look for damage, and repair it.")
@options.config
@options.config_spool
@click.option("--repair", is_flag=True, help="Remedy what is found; a copy is kept.")
@output.as_json
def check(*, config: Path | None, spool: Path | None, repair: bool, as_json: bool) -> None:
    """Look for damage: pages, states that do not fit, recipients without a message.

    The spool is the one that CONFIG names, a server's configuration, or --spool.

    The exit code is 0 when the spool is sound, or sound again, and 1 when it is not.
    """
    from sojourn._internal.terminal import print_lines
    from sojourn.mail import spools

    path = options.spool_of(config, spool)
    checked = spools.check(path, repair=repair)
    if as_json:
        output.document(checked)
    else:
        lines = [f"{finding.what}: {finding.remedy}" for finding in checked.findings]
        if not checked.findings:
            lines.append(f"{path}: sound")
        elif checked.copy:
            lines.append(f"repaired; as it was before: {checked.copy}")
        else:
            lines.append("nothing was changed: --repair does what stands behind each")
        print_lines(lines)
    if checked.findings and not checked.copy:
        raise click.exceptions.Exit(output.FAILED)
