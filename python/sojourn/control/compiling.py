"""A user's class as machine code: C functions over the record of a flow or a port, made by Numba.

Numba takes 130 MB and most of a second to import, so only `compile` imports it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec

from sojourn import _core
from sojourn._internal.errors import InputError, one_line
from sojourn.control.loading import Definition, explain_error
from sojourn.control.machine import arithmetic, records
from sojourn.control.machine.records import HOOKS, Layout
from sojourn.control.machine.rewriting import runnable
from sojourn.control.vocabulary import DRAWS, OURS

_MOST_CLASSES = 64
"""Classes whose machine code is kept."""


@dataclass(frozen=True)
class Compiled:
    """A class's machine code; it holds for all values of the class's parameters.

    Attributes:
        record: the layout of what is kept for a flow or a port.
        defaults: of the class's fields.
        addresses: for each hook in which the class has a part the address of a C function
            `int64 hook(void *record, void *arguments)`, whose arguments are laid out as
            `records.HOOKS` says. It may be called from any thread, with or without the
            interpreter's lock. It returns 0, or 1 where an exception was raised: see `explain`.
            What the hook wrote into the record before the exception stays there.
        keep: owns the machine code; the addresses hold for as long as it lives.
    """

    record: Layout
    defaults: Mapping[str, float | int | bool]
    addresses: Mapping[str, int]
    keep: object = field(repr=False)

    def template(self, values: Mapping[str, float | int | bool]) -> bytes:
        """The record of a new flow or port: its fields have `values` or their defaults.

        What it has from the engine, such as the window, is 0.

        Raises:
            InputError: a whole number has more than 64 bits.
        """
        try:
            return self.record.pack({**self.defaults, **values})
        except struct.error:
            wide = next(name for name, value in values.items() if abs(value) >= arithmetic.LIMIT)
            text = f"{wide} = {values[wide]}: expected a whole number of at most 64 bits"
            raise InputError(text) from None


_NO_NUMBA = "compiled = true needs Numba: pip install 'sojourn[compiled]'"


def check_available() -> None:
    """Check that there is a compiler, without importing it.

    Raises:
        InputError: Numba is not installed.
    """
    if find_spec("numba") is None:
        raise InputError(_NO_NUMBA)


def compile(definition: Definition) -> Compiled:  # noqa: A001 - the field's word
    """Compile a class: a second or two for the first one of a process, less for others.

    The machine code of a class's text is kept, so that the cases of a sweep compile once. It is a
    function of the text alone: whether it was kept is seen in the time that a call takes, and in no
    number.

    Args:
        definition: the class, checked.

    Raises:
        InputError: Numba is missing, or cannot compile something; the message has the user's line.
    """
    return _compiled(_Text(definition.sha256, definition.name, definition))


def explain(
    definition: Definition,
    hook: str,
    record: bytes,
    arguments: bytes,
    stream: _core.Random | None = None,
) -> str:
    """Why a call of a compiled hook returned 1, found by repeating it in plain Python.

    Args:
        definition: the class.
        hook: the hook that was called.
        record: the record as it was before the call.
        arguments: the hook's arguments.
        stream: the random numbers of a port as they were before the call.

    Returns:
        The text of the exception, as `loading.explain_error` writes it.
    """
    layout = _record(definition)
    ours = {name: getattr(_core, name) for name in (*OURS, *DRAWS.values())}
    functions = runnable(definition, layout, ours)
    own = layout.unpack(record)
    if stream is not None:
        own.__stream__ = stream
    called = HOOKS[definition.base][hook]
    given = called.arguments.unpack(arguments)
    values = [given] if called.as_object else [getattr(given, name) for name in called.names]
    try:
        functions[definition.entry[hook]](own, *values)
    except Exception as error:
        return explain_error(error, definition)
    return f"{definition.file}: {hook} failed where it is compiled, and not in plain Python"


@dataclass(frozen=True)
class _Text:
    """What decides on machine code: the text of a file, and which class of it."""

    sha256: str
    name: str
    definition: Definition = field(compare=False)


@lru_cache(maxsize=_MOST_CLASSES)
def _compiled(text: _Text) -> Compiled:
    definition = text.definition
    try:
        from sojourn.control.machine import backend
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("numba", "llvmlite"):
            raise
        raise InputError(_NO_NUMBA) from None
    except ImportError as error:  # a version of NumPy that Numba does not know
        raise InputError(one_line(f"compiled = true: {error}")) from None
    record = _record(definition)
    functions = runnable(definition, record, backend.foreign(dict(_core.c_addresses())))
    hooks = backend.hooks(definition, record, functions)
    addresses = {hook: function.address for hook, function in hooks.items()}
    defaults = {field.name: field.default for field in definition.fields}
    return Compiled(record, defaults, addresses, keep=hooks)


def _record(definition: Definition) -> Layout:
    fields = ((field.name, field.type) for field in definition.fields)
    return records.of_class(definition.base, fields)
