"""What a study can name, out of the engine's registry."""

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
    """A thing that a study can name."""

    name: str
    summary: str
    source: str
    parameters: list[Parameter]


def topics() -> dict[str, list[Entry]]:
    """Everything there is, by topic: workloads, topologies, schemes, ...

    The topics of the list server are there where it is installed.
    """
    found: dict[str, list[Entry]] = json.loads(registry())
    try:
        from sojourn import _mail
    except NotInstalledError:
        return found
    found |= json.loads(_mail.registry())
    return found


_OF_THE_SERVER = "mail-"
"""How topics of the list server begin."""

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
