"""Classes of users' files among the parameters of a case."""

import tomllib
from collections.abc import Iterator, Mapping

Value = str | int | float | bool

_LIST = ".queue.inside"
"""The queues of traffic classes, each of which may be a class of Python."""


def of_case(parameters: Mapping[str, Value]) -> dict[str, dict[str, Value]]:
    """The tables of a case that name a class of a user's file.

    Args:
        parameters: of a case, as its records have them: `scheme.queue.set.target` is a value.

    Returns:
        By a table's name, such as `scheme.transport` or `scheme.queue.inside[0]`, what stands in
        it: `class`, `file`, `sha256`, `compiled`, `set.gain`, ...
    """
    flat = dict(_flat(parameters))
    tables = [key.removesuffix(".class") for key in flat if key.endswith(".class")]
    return {
        table: {
            key.removeprefix(f"{table}."): value
            for key, value in flat.items()
            if key.startswith(f"{table}.")
        }
        for table in tables
        if flat.get(f"{table}.kind") == "python"
    }


def _flat(parameters: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """The parameters, and what stands in a list of queues, which records have as a text."""
    for key, value in parameters.items():
        if isinstance(value, str) and key.endswith(_LIST):
            for place, table in enumerate(tomllib.loads(f"list = {value}")["list"]):
                yield from _of_table(f"{key}[{place}]", table)
        else:
            yield key, value


def _of_table(name: str, value: object) -> Iterator[tuple[str, Value]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _of_table(f"{name}.{key}", inner)
    elif isinstance(value, str | int | float | bool):
        yield name, value
