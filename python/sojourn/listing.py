"""`sojourn list`: what a study can name, out of the engine's registry."""

import json
from typing import TypedDict

from sojourn import _core
from sojourn._internal.errors import InputError, did_you_mean
from sojourn._internal.terminal import print_lines, print_table
from sojourn.execution import studies


class Parameter(TypedDict):
    """A parameter of an entry; a default of None means that a study must give a value."""

    name: str
    type: str
    default: str | None
    summary: str


class Entry(TypedDict):
    """A thing that a study can name."""

    name: str
    summary: str
    source: str
    parameters: list[Parameter]


def topics() -> dict[str, list[Entry]]:
    """Everything there is, by topic: workloads, topologies, schemes, ..."""
    found: dict[str, list[Entry]] = json.loads(_core.registry())
    return found


STUDIES = "studies"
"""The topic of the studies that come with sojourn, which are files and not in the registry."""


def bundled() -> list[dict[str, str]]:
    """The studies that come with sojourn: `name`, `title` and `path`."""
    return [
        {"name": name, "title": studies.title(path), "path": str(path)}
        for name, path in studies.bundled().items()
    ]


def print_bundled() -> None:
    """One line a study that comes with sojourn."""
    print_table([[[one["name"], one["title"]] for one in bundled()]], ["study", ""])


def topic(name: str) -> list[Entry]:
    """The entries of a topic.

    Raises:
        InputError: there is no such topic.
    """
    known = topics()
    if name not in known:
        near = did_you_mean(name, [STUDIES, *known], otherwise="; `sojourn list` names them all")
        raise InputError(f"nothing to list as {name!r}{near}")
    return known[name]


def entry(of_topic: str, name: str) -> Entry:
    """One entry of a topic; capitals do not matter.

    Raises:
        InputError: there is no such topic or entry.
    """
    entries = {entry["name"]: entry for entry in topic(of_topic)}
    for known, found in entries.items():
        if known.lower() == name.lower():
            return found
    raise InputError(f"no {name!r} in {of_topic}{did_you_mean(name, entries)}")


def print_topics(known: dict[str, list[Entry]]) -> None:
    """One line a topic with the names in it."""
    lines = [[name, ", ".join(entry["name"] for entry in known[name])] for name in known]
    example = next(iter(studies.bundled()))
    print_table([[[STUDIES, f"to run by name, such as {example}"], *lines]])


def print_topic(entries: list[Entry]) -> None:
    """One line an entry."""
    lines = [[entry["name"], _about(entry)] for entry in entries]
    print_table([lines], ["name", ""])


def print_entry(chosen: Entry) -> None:
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
