"""Everything that a study can contain, from the engine's registry."""

import json
from typing import TypedDict

from sojourn._core import registry
from sojourn._internal.errors import InputError, NotInstalledError, did_you_mean


class Parameter(TypedDict):
    """A parameter of an entry; a default of None means that a study must give a value."""

    name: str
    type: str
    default: str | None
    summary: str


class Entry(TypedDict):
    """Something that a study can name."""

    name: str
    summary: str
    source: str
    parameters: list[Parameter]


def topics() -> dict[str, list[Entry]]:
    """Everything that a study can contain, by topic: workloads, topologies, schemes, ...

    The topics of the list server are included if it is installed.
    """
    found: dict[str, list[Entry]] = json.loads(registry())
    try:
        from sojourn import _mail
    except NotInstalledError:
        return found
    found |= json.loads(_mail.registry())
    return found


_OF_THE_SERVER = "mail-"
"""The start of the names of the list server's topics."""

STUDIES = "studies"
"""The topic of the studies that come with sojourn, which are files and not in the registry."""


def topic(name: str) -> list[Entry]:
    """The entries of a topic.

    Raises:
        InputError: there is no such topic.
    """
    known = topics()
    if name not in known and name.startswith(_OF_THE_SERVER):
        from sojourn import _mail  # noqa: F401 - says that it is missing, where it is
    if name not in known:
        names = [entry["name"] for entries in known.values() for entry in entries]
        otherwise = "; `sojourn list` prints all topics and names"
        near = did_you_mean(name, [STUDIES, *known, *names], otherwise=otherwise)
        raise InputError(f"no topic or name {name!r}{near}")
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


def named(name: str) -> dict[str, Entry]:
    """The entries of a name in all topics, by topic; capitals do not matter."""
    wanted = name.lower()
    return {
        topic_name: entry
        for topic_name, entries in topics().items()
        for entry in entries
        if entry["name"].lower() == wanted
    }
