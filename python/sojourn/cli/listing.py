"""`sojourn list`: what a study can name."""

import click

from sojourn._internal import registry
from sojourn._internal.registry import STUDIES, Entry
from sojourn._internal.terminal import print_lines, print_table
from sojourn.cli import output
from sojourn.execution import studies


@click.command(name="list", short_help="List what a study can name.")
@click.argument("topic", required=False)
@click.argument("name", required=False)
@output.as_json
def list_(topic: str | None, name: str | None, as_json: bool) -> None:
    """List what a study can name: a TOPIC's entries, or the parameters of one NAME."""
    if topic == STUDIES:
        _studies(name, as_json=as_json)
    elif topic is None:
        known = registry.topics()
        output.emit(known, lambda: _print_topics(known), as_json=as_json)
    elif name is None:
        entries = registry.topic(topic)
        output.emit(entries, lambda: _print_topic(entries), as_json=as_json)
    else:
        entry = registry.entry(topic, name)
        output.emit(entry, lambda: _print_entry(entry), as_json=as_json)


def _studies(name: str | None, *, as_json: bool) -> None:
    if name is not None:
        click.echo(studies.read(studies.find(f"@{name.removeprefix('@')}")), nl=False)
        return
    bundled = studies.titles()
    output.emit(
        bundled,
        lambda: print_table([[[one["name"], one["title"]] for one in bundled]], ["study", ""]),
        as_json=as_json,
    )


def _print_topics(known: dict[str, list[Entry]]) -> None:
    """One line a topic with the names in it."""
    lines = [[name, ", ".join(entry["name"] for entry in known[name])] for name in known]
    example = next(iter(studies.bundled()))
    print_table([[[STUDIES, f"to run by name, such as {example}"], *lines]])


def _print_topic(entries: list[Entry]) -> None:
    """One line an entry."""
    lines = [[entry["name"], _about(entry)] for entry in entries]
    print_table([lines], ["name", ""])


def _print_entry(chosen: Entry) -> None:
    """An entry with its parameters, their types and defaults."""
    print_lines([f"{chosen['name']}: {_about(chosen)}"])
    if chosen["parameters"]:
        lines = [
            [p["name"], p["type"], p["default"] or "required", p["summary"]]
            for p in chosen["parameters"]
        ]
        print_table([lines], ["parameter", "type", "default", ""])


def _about(entry: Entry) -> str:
    return f"{entry['summary']} Source: {entry['source']}" if entry["source"] else entry["summary"]
