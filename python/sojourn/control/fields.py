"""The fields of a user's class: annotated attributes with defaults become slots."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, dataclass_transform

from sojourn._internal.units import PS_PER_MS, PS_PER_S, PS_PER_US

Time = Annotated[int, "time"]
"""A time or a duration in whole picoseconds; a study may write `"20us"` for a parameter."""

Bytes = Annotated[int, "bytes"]
"""A size in whole bytes; a study may write `"15KB"` for a parameter."""

Rate = Annotated[int, "rate"]
"""A rate in whole bits per second; a study may write `"10Gbps"` for a parameter."""

ps: int = 1
ns: int = 1000
us: int = PS_PER_US
ms: int = PS_PER_MS
s: int = PS_PER_S

PYTHON_TYPES: Mapping[str, type] = {
    "float": float,
    "int": int,
    "bool": bool,
    "time": int,
    "bytes": int,
    "rate": int,
}
"""For each type of a field, that of its values."""

ANNOTATIONS: Mapping[str, str] = {
    "float": "float",
    "int": "int",
    "bool": "bool",
    "Time": "time",
    "Bytes": "bytes",
    "Rate": "rate",
}
"""The type of a field by the annotation that a user writes."""

_OF_TYPE: Mapping[object, str] = {
    float: "float",
    int: "int",
    bool: "bool",
    Time: "time",
    Bytes: "bytes",
    Rate: "rate",
}


@dataclass(frozen=True)
class Field:
    """One field of a class.

    Attributes:
        name: as the user wrote it; with an underscore first it is kept for each flow, else it is
            a parameter.
        type: `float`, `int`, `bool`, `time` (ps), `bytes` or `rate` (bits/s).
        default: its value in a new flow, or for a parameter where the study gives none.
        doc: the text literal that follows the field; empty without one.
        line: where it stands in its file; 0 where that is not known.
    """

    name: str
    type: str
    default: float | int | bool
    doc: str = ""
    line: int = 0

    @property
    def is_parameter(self) -> bool:
        """Whether a study may set it."""
        return not self.name.startswith("_")


def fitting(value: object, type_name: str) -> float | int | bool | None:
    """A value as one of a field's type; None if it is of another.

    A whole number is a float too; a truth value is no number.
    """
    wanted = PYTHON_TYPES[type_name]
    if isinstance(value, bool) or wanted is bool:
        return value if isinstance(value, bool) and wanted is bool else None
    if wanted is float and isinstance(value, int | float):
        return None if math.isnan(value) else float(value)
    return value if isinstance(value, int) and abs(value) < 2**63 else None


# A type checker sees `Gentle(backoff=0.5)`, as with a dataclass.
@dataclass_transform(kw_only_default=True, eq_default=False)
class FieldsToSlots(type):
    """Makes the slots of a class from its annotated fields, and collects them.

    A class's fields are in `__fields__`, those of its bases first.
    """

    if TYPE_CHECKING:
        __fields__: Mapping[str, Field]

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, object]
    ) -> FieldsToSlots:
        """Make the class.

        Raises:
            TypeError: a field has no default, or one of another type.
        """
        inherited: dict[str, Field] = {}
        for base in bases:
            inherited.update(getattr(base, "__fields__", {}))
        fields = dict(inherited)
        for field_name, annotation in _annotations(namespace).items():
            if field_name not in namespace:
                raise TypeError(f"{name}.{field_name}: expected a default")
            value = namespace.pop(field_name)
            field = _field(name, field_name, annotation, value)
            before = inherited.get(field_name)
            if before is not None and before.type != field.type:
                raise TypeError(f"{name}.{field_name}: it is of type {before.type} in a base")
            fields[field_name] = field
        namespace["__slots__"] = tuple(field for field in fields if field not in inherited)
        namespace["__fields__"] = fields
        return super().__new__(cls, name, bases, namespace)


def _field(owner: str, name: str, annotation: object, value: object) -> Field:
    if isinstance(annotation, str):  # of a file with `from __future__ import annotations`
        type_name = ANNOTATIONS.get(annotation)
    else:
        type_name = _OF_TYPE.get(annotation)
    if type_name is None:
        raise TypeError(f"{owner}.{name}: expected a type of {', '.join(ANNOTATIONS)}")
    default = fitting(value, type_name)
    if default is None:
        raise TypeError(f"{owner}.{name}: {value!r} is no {type_name}")
    return Field(name, type_name, default)


def _annotations(namespace: dict[str, object]) -> Mapping[str, object]:
    """The annotations in a class's namespace, which Python evaluates late from 3.14 on."""
    if sys.version_info >= (3, 14):
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            return annotationlib.call_annotate_function(annotate, annotationlib.Format.VALUE)
    found = namespace.get("__annotations__", {})
    return found if isinstance(found, dict) else {}
