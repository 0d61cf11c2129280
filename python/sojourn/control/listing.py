"""The classes of a user's file as `sojourn list` shows them."""

from sojourn._core import as_written
from sojourn._internal.registry import Entry, Parameter
from sojourn.control.fields import Field
from sojourn.control.loading import Definition, classes, load

_TYPES = {
    "float": "a finite number",
    "int": "a whole number",
    "bool": "true or false",
    "time": 'a time with its unit, such as "12us"',
    "bytes": 'a size with its unit, such as "22.5KB"',
    "rate": 'a speed with its unit, such as "10Gbps"',
}


def entries(file: str, base: str) -> list[Entry]:
    """The classes of a file that are derived from `Control` or `Queue`, with their parameters.

    Raises:
        InputError: the file cannot be read, or has something that is refused.
    """
    return [_entry(load(file, name)) for name in classes(file, base)]


def _entry(definition: Definition) -> Entry:
    return {
        "name": definition.name,
        "summary": " ".join(definition.doc.split()),
        "source": "",
        "parameters": [_parameter(field) for field in definition.parameters()],
    }


def _parameter(field: Field) -> Parameter:
    return {
        "name": field.name,
        "type": _TYPES[field.type],
        "default": as_written(field.type, field.default),
        "summary": " ".join(field.doc.split()),
    }
