"""`sojourn list`: what a study can name."""

from typing import TYPE_CHECKING

import click

from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn._internal.registry import Entry

_IN_FILES = {"transports": "Control", "queues": "Queue"}
"""What classes in users' files are derived from, by the topic that they belong to."""


@click.command(name="list", short_help="List what a study can name.")
@click.argument("topic", required=False)
@click.argument("name", required=False)
@options.trust_code
@output.as_json
def list_(topic: str | None, name: str | None, as_json: bool) -> None:
    """List what a study can name: a TOPIC's entries, or the parameters of one NAME.

    `sojourn list transports FILE.py` lists the congestion controllers in a file of yours, and
    `sojourn list queues FILE.py` its queues.
    """
    from sojourn._internal import registry

    if topic == registry.STUDIES:
        _studies(name, as_json=as_json)
    elif topic is None:
        known = registry.topics()
        output.emit(known, lambda: _print_topics(known), as_json=as_json)
    elif name is None:
        entries = registry.topic(topic)
        output.emit(entries, lambda: _print_topic(entries), as_json=as_json)
    elif topic in _IN_FILES and name.endswith(".py"):
        from sojourn.control.listing import entries as of_file

        found = of_file(name, _IN_FILES[topic])
        output.emit(found, lambda: _print_entries(found), as_json=as_json)
    else:
        entry = registry.entry(topic, name)
        output.emit(entry, lambda: _print_entry(entry), as_json=as_json)


def _studies(name: str | None, *, as_json: bool) -> None:
    from sojourn._internal.terminal import print_table
    from sojourn.execution import studies

    if name is not None:
        click.echo(studies.read(studies.find(f"@{name.removeprefix('@')}")), nl=False)
        return
    bundled = studies.titles()
    output.emit(
        bundled,
        lambda: print_table([[[one["name"], one["title"]] for one in bundled]], ["study", ""]),
        as_json=as_json,
    )


def _print_topics(known: dict[str, list["Entry"]]) -> None:
    """One line a topic with the names in it."""
    from sojourn._internal.registry import STUDIES
    from sojourn._internal.terminal import print_table
    from sojourn.execution import studies

    lines = [[name, ", ".join(entry["name"] for entry in known[name])] for name in known]
    example = next(iter(studies.bundled()))
    print_table([[[STUDIES, f"to run by name, such as {example}"], *lines]])


def _print_topic(entries: list["Entry"]) -> None:
    """One line an entry."""
    from sojourn._internal.terminal import print_table

    lines = [[entry["name"], _about(entry)] for entry in entries]
    print_table([lines], ["name", ""])


def _print_entries(entries: list["Entry"]) -> None:
    for entry in entries:
        _print_entry(entry)


def _print_entry(chosen: "Entry") -> None:
    """An entry with its parameters, their types and defaults."""
    from sojourn._internal.terminal import print_lines, print_table

    print_lines([f"{chosen['name']}: {_about(chosen)}"])
    if chosen["parameters"]:
        lines = [
            [p["name"], p["type"], p["default"] or "required", p["summary"]]
            for p in chosen["parameters"]
        ]
        print_table([lines], ["parameter", "type", "default", ""])


def _about(entry: "Entry") -> str:
    return f"{entry['summary']} Source: {entry['source']}" if entry["source"] else entry["summary"]
