"""`sojourn list`: everything that a study can contain."""

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn._internal.registry import Entry

_IN_FILES = {"transports": "Control", "queues": "Queue"}
"""The base class of classes in users' files, by their topic."""


def _complete_topic(
    _context: click.Context, _argument: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Topics, and names of any topic, that start with what is typed."""
    from sojourn._internal import registry

    topics = registry.topics()
    names = dict.fromkeys(entry["name"] for entries in topics.values() for entry in entries)
    return options.starting(incomplete, [registry.STUDIES, *topics, *names])


def _complete_name(
    context: click.Context, _argument: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of the chosen topic that start with what is typed."""
    from sojourn._internal import registry

    known = registry.topics().get(context.params.get("topic") or "", [])
    return options.starting(incomplete, [entry["name"] for entry in known])


@click.command(name="list", short_help="List everything that a study can contain.")
@click.argument("topic", required=False, shell_complete=_complete_topic)
@click.argument("name", required=False, shell_complete=_complete_name)
@options.trust_code
@output.as_json
def list_(topic: str | None, name: str | None, as_json: bool) -> None:
    """List everything that a study can contain: the entries of a TOPIC, or one NAME of it.

    A NAME alone, without its topic, is found in all topics.

    FILE.py lists the congestion controllers or the queues in a file of yours.

    \b
    Examples:
      sojourn list
      sojourn list schemes
      sojourn list schemes DCTCP
      sojourn list dctcp
      sojourn list transports my_cc.py
    """
    from sojourn._internal import registry

    if topic == registry.STUDIES:
        _studies(name, as_json=as_json)
    elif topic is None:
        known = registry.topics()
        output.emit(known, lambda: _print_topics(known), as_json=as_json)
    elif name is None:
        _topic_or_name(topic, as_json=as_json)
    elif topic in _IN_FILES and name.endswith(".py"):
        from sojourn.control.listing import entries as of_file

        found = of_file(name, _IN_FILES[topic])
        output.emit(found, lambda: _print_entries(found), as_json=as_json)
    else:
        entry = registry.entry(topic, name)
        output.emit(entry, lambda: _print_entry(entry), as_json=as_json)


def _topic_or_name(word: str, *, as_json: bool) -> None:
    """List a topic's entries, or all entries of that name in any topic."""
    from sojourn._internal import registry

    named = registry.named(word)
    if not named or word in registry.topics():
        entries = registry.topic(word)
        output.emit(entries, lambda: _print_topic(entries), as_json=as_json)
        return

    def show() -> None:
        for topic, entry in named.items():
            click.echo(f"in {topic}:")
            _print_entry(entry)

    output.emit(named, show, as_json=as_json)


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
    """Print a line per topic, with its names."""
    from sojourn._internal.registry import STUDIES
    from sojourn._internal.terminal import print_table
    from sojourn.execution import studies

    lines = [[name, ", ".join(entry["name"] for entry in known[name])] for name in known]
    example = next(iter(studies.bundled()))
    print_table([[[STUDIES, f"to run by name, such as {example}"], *lines]])


def _print_topic(entries: list["Entry"]) -> None:
    """Print a line per entry."""
    from sojourn._internal.terminal import print_table

    lines = [[entry["name"], _about(entry)] for entry in entries]
    print_table([lines], ["name", ""])


def _print_entries(entries: list["Entry"]) -> None:
    for entry in entries:
        _print_entry(entry)


def _print_entry(chosen: "Entry") -> None:
    """Print an entry with its parameters, their types and defaults."""
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
