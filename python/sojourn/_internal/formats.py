"""The formats that results and studies are written in: JSON and TOML."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from sojourn._internal.errors import InputError


def json_text(value: object) -> str:
    """The one JSON document that `--json` prints, in ASCII.

    Args:
        value: plain Python values; a number that is not finite becomes null, a path its text, an
            object what its `to_dict` or `to_list` gives, or else its fields.
    """
    return json.dumps(_plain(value), allow_nan=False, indent=1)


def _plain(value: Any) -> object:
    match value:
        case float():
            return value if isfinite(value) else None
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case None | bool() | int() | str():
            return value
        case Path():
            return str(value)
        case _:
            return _plain(_parts(value))


def _parts(value: Any) -> object:
    """What an object shows of itself: what its `to_dict` or `to_list` gives, or else its fields."""
    for name in ("to_dict", "to_list"):
        if hasattr(value, name):
            return getattr(value, name)()
    return {field.name: getattr(value, field.name) for field in fields(value)}


def toml_value(value: object, path: str = "value") -> str:
    """A value on one line of TOML; its strings, numbers and switches are written as in JSON.

    Args:
        value: plain Python or NumPy values.
        path: the value's dotted path, for messages.

    Raises:
        InputError: TOML has no such value.
    """
    match value:
        case Mapping():
            items = (
                f"{_key(str(key))} = {toml_value(item, f'{path}.{key}')}"
                for key, item in value.items()
            )
            return "{ " + ", ".join(items) + " }" if value else "{}"
        case list() | tuple() | range():
            return "[" + ", ".join(toml_value(item, path) for item in value) + "]"
        case np.generic() | np.ndarray():
            return toml_value(value.tolist(), path)
        case float() if not isfinite(value):
            return str(value)
        case bool() | int() | float() | str():
            # JSON leaves this control character as it is, TOML does not (TOML 1.0, Strings).
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Path():
            return toml_value(str(value), path)
        case _:
            raise InputError(
                f"{path} is {value!r}, expected a number, a text, a switch, or a list or"
                " dictionary of these"
            )


def toml_lines(table: Mapping[str, object], path: str = "") -> str:
    """A table as lines of TOML, one a key."""
    return "".join(
        f"{_key(str(key))} = {toml_value(value, f'{path}{key}')}\n" for key, value in table.items()
    )


def toml_sections(table: Mapping[str, object]) -> str:
    """A table as a study is written by hand: plain values, then a section for each table.

    Tables in sections are sections too if they have tables or several values.
    """
    plain = {key: value for key, value in table.items() if not _is_section(value)}
    sections = {key: value for key, value in table.items() if key not in plain}
    return toml_lines(plain) + "".join(
        _section(_key(key), value) for key, value in sections.items()
    )


def _section(path: str, value: object) -> str:
    if isinstance(value, list):
        return "".join(f"\n[[{path}]]\n{toml_lines(entry)}" for entry in value)
    assert isinstance(value, Mapping)  # noqa: S101 - `_is_section` says so
    below = {key: own for key, own in value.items() if _is_section(own) and len(own) > _SHORT}
    own = {key: item for key, item in value.items() if key not in below}
    text = f"\n[{path}]\n{toml_lines(own)}"
    return text + "".join(_section(f"{path}.{_key(key)}", item) for key, item in below.items())


def _is_section(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(entry, Mapping) for entry in value)
    return isinstance(value, Mapping)


_SHORT = 2
"""Tables of so many values stay on a line in their section."""


def _key(key: str) -> str:
    """A key as TOML has it: bare where it may be, else in quotes."""
    return key if _BARE.fullmatch(key) else toml_value(key)


_BARE = re.compile(r"[A-Za-z0-9_-]+")
