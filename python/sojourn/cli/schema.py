"""`sojourn schema`: what editors know of study files."""

import click


@click.command(short_help="Print the JSON Schema of study files, for editors.")
def schema() -> None:
    """Print the JSON Schema of study files, for editors.

    `sojourn schema > study.schema.json` beside a study whose first line is
    `#:schema ./study.schema.json` lets an editor complete and check it. It says what each key may
    be; what has to be there, and what goes together, `sojourn run` says.
    """
    from sojourn._core import schema as text

    click.echo(text())
