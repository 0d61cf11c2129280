"""`sojourn schema`: what editors know of study files."""

import click


@click.command(short_help="Print the JSON Schema of study files, for editors.")
def schema() -> None:
    """Print the JSON Schema of study files, for editors.

    Write it to study.schema.json next to a study whose first line is `#:schema
    ./study.schema.json`. An editor then completes and checks the study. The schema knows what each
    key may be; `sojourn run` also checks which keys are required and which go together.

    \b
    Example:
      sojourn schema > study.schema.json
    """
    from sojourn._core import schema as text

    click.echo(text())
