"""`sojourn doctor`: what is here, and what is missing for which verb."""

import click

from sojourn.cli import common


@click.command()
@common.as_json
def doctor(*, as_json: bool) -> None:
    """Say which sojourn this is, and what is installed or missing for which verb."""
    from dataclasses import asdict

    from sojourn import build, document
    from sojourn.doctor import findings
    from sojourn.terminal import print_table

    found = list(findings())
    if as_json:
        said = {"version": build.version(), "commit": build.commit(), "build": build.identity()}
        click.echo(document.dumps(said | {"findings": [asdict(finding) for finding in found]}))
        return
    lines = [[f.name, f.verb, f.found or "missing", "" if f.found else f.get] for f in found]
    heads = ["", "wanted for", "found", "how to get it"]
    print_table([lines], heads, title=f"sojourn {build.described()}")
