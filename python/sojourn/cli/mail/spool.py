"""`sojourn mail spool`: a spool verified and repaired."""

from pathlib import Path

import click

from sojourn.cli import options, output


@click.group(cls=output.Commands)
def spool() -> None:
    """Check and repair a spool."""


@spool.command(short_help="Check a spool for damage, and repair it.")
@options.config
@options.config_spool
@click.option("--repair", is_flag=True, help="Repair the damage; keep a copy of the damaged files.")
@click.option(
    "--new",
    is_flag=True,
    help="With --repair: start a new register or new keys if the backup is lost too.",
)
@output.as_json
def check(
    *, config: Path | None, spool: Path | None, repair: bool, new: bool, as_json: bool
) -> None:
    """Check a spool for damage, and the register and the keys of its server.

    CONFIG, a server's configuration, or --spool names the spool. The register says who has left and
    who is suspended. It and the keys have backups, from which a repair restores them.

    Exit code 0 means that the spool is intact or was repaired, and 1 that it is damaged.

    \b
    Example:
      sojourn mail spool check lists.toml --repair
    """
    from sojourn._internal.terminal import print_lines
    from sojourn.mail import spools

    path = options.spool_of(config, spool)
    if new and not repair:
        raise click.UsageError("--new says what a repair does: expected --repair with it")
    checked = spools.check(path, repair=repair, new=new)
    if as_json:
        output.document(checked)
    else:
        lines = [f"{finding.what}: {finding.remedy}" for finding in checked.findings]
        if not checked.findings:
            lines.append(f"{path}: sound")
        elif repair:
            lines.append("; as it was before: ".join(["repaired", *map(str, checked.kept)]))
        else:
            lines.append("nothing was changed; --repair does what each line says")
        print_lines(lines)
    if checked.findings and not repair:
        raise click.exceptions.Exit(output.FAILED)
