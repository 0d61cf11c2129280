"""`sojourn list`: what a study can name."""

import click

from sojourn.cli import common


@click.command(name="list", short_help="List what a study can name.")
@click.argument("topic", required=False)
@click.argument("name", required=False)
@common.as_json
def list_(topic: str | None, name: str | None, as_json: bool) -> None:
    """List what a study can name: a TOPIC's entries, or the parameters of one NAME."""
    from sojourn import listing
    from sojourn._internal import document

    if topic == listing.STUDIES:
        _studies(name, as_json=as_json)
    elif topic is None:
        known = listing.topics()
        click.echo(document.dumps(known)) if as_json else listing.print_topics(known)
    elif name is None:
        entries = listing.topic(topic)
        click.echo(document.dumps(entries)) if as_json else listing.print_topic(entries)
    else:
        entry = listing.entry(topic, name)
        click.echo(document.dumps(entry)) if as_json else listing.print_entry(entry)


def _studies(name: str | None, *, as_json: bool) -> None:
    from sojourn import listing
    from sojourn._internal import document
    from sojourn.execution import studies

    if name is not None:
        click.echo(studies.read(studies.find(f"@{name.removeprefix('@')}")), nl=False)
    elif as_json:
        click.echo(document.dumps(listing.bundled()))
    else:
        listing.print_bundled()
