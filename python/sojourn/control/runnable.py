"""A user's class as the engine calls it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.control import compiling, loading
from sojourn.control.congestion import Ack, Control
from sojourn.control.queues import Packet, Queue

if TYPE_CHECKING:
    from sojourn._core import Random

_MESSAGES: Mapping[str, type] = {"Control": Ack, "Queue": Packet}


@dataclass(frozen=True)
class Runnable:
    """A class that was loaded, plain or compiled.

    Attributes:
        definition: the class.
    """

    definition: loading.Definition

    @property
    def base(self) -> str:
        """That of ours that it is derived from: `Control` or `Queue`."""
        return self.definition.base

    @property
    def cls(self) -> type[Control | Queue]:
        """The class, for plain runs."""
        return self.definition.cls

    @property
    def message(self) -> type:
        """What its hooks get: an ACK, or a packet."""
        return _MESSAGES[self.base]

    def reads(self, names: Sequence[str]) -> bool:
        """Whether a hook reads one of these attributes of an ACK."""
        return self.definition.reads(names)

    def new(self, values: Mapping[str, float | int | bool]) -> Callable[..., Control | Queue]:
        """What makes a new object; see `loading.new`."""
        return loading.new(self.definition, values)

    def explain_error(self, error: BaseException) -> str:
        """An exception of a plain hook as a text."""
        return loading.explain_error(error, self.definition)

    def check_available(self) -> None:
        """Check that it can be compiled.

        Raises:
            InputError: Numba is not installed.
        """
        compiling.check_available()

    def compiled(self) -> compiling.Compiled:
        """Its machine code; see `compiling.compile`."""
        return compiling.compile(self.definition)

    def explain(
        self, hook: str, record: bytes, arguments: bytes, stream: "Random | None" = None
    ) -> str:
        """Why a compiled hook failed; see `compiling.explain`."""
        return compiling.explain(self.definition, hook, record, arguments, stream)
