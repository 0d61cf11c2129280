"""The parameters of a case, and which of them the kernel has been asked for."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from sojourn._core import quantity
from sojourn._internal.errors import MeasurementError
from sojourn.store.ledger import Value

_PARTS_OF_THE_CORE = ("workload.", "scheme.priority.")
_WITHOUT_EFFECT = (
    "scheme.name",
    "scheme.balance",
    "scheme.ack_priority",
    "drain",
)


@dataclass
class Asked:
    """The parameters of a case, and which of them have not been looked at."""

    parameters: Mapping[str, Value]
    source: str
    rest: dict[str, Value] = field(init=False)

    def __post_init__(self) -> None:
        self.rest = dict(self.parameters)

    def take(self, key: str, otherwise: Value | None = None) -> Value:
        """A parameter's value, or another where the case has no such parameter."""
        self.rest.pop(key, None)
        value = self.parameters.get(key, otherwise)
        if value is None:
            raise KeyError(key)
        return value

    def quantity(self, key: str) -> int:
        """A quantity in ps, bytes or bit/s."""
        return quantity(str(self.take(key)))

    def optional(self, key: str) -> int | None:
        """A quantity that there may be none of."""
        value = str(self.take(key))
        return None if value == "none" else quantity(value)

    def only(self, key: str, value: str) -> None:
        """Refuse all but one value."""
        self.check(key, lambda given: given == value, json.dumps(value))

    def check(self, key: str, holds: Callable[[Value], bool], expected: str) -> None:
        """Refuse a value, where there is one, that is not as it must be."""
        if key in self.parameters and not holds(self.take(key)):
            self.refuse(key, expected)

    def refuse(self, key: str, expected: str) -> NoReturn:
        """Say what is wrong with a parameter."""
        given = json.dumps(self.parameters[key])
        raise MeasurementError(f"{self.source}: {key} = {given}, expected {expected}")

    def refuse_the_rest(self) -> None:
        """Refuse a parameter that was not looked at."""
        for key in self.rest:
            if not key.startswith(_PARTS_OF_THE_CORE) and key not in _WITHOUT_EFFECT:
                self.refuse(key, "nothing: it cannot be measured on the kernel")
