"""Numba's part in compiling a class: imported only where a class is compiled."""

import ctypes
import re
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np
from numba import carray, cfunc, config, from_dtype, njit, types
from numba.core.errors import NumbaError

from sojourn._internal.errors import InputError, one_line
from sojourn.control.loading import Definition
from sojourn.control.machine import (
    instructions,  # noqa: F401 - Numba learns them
    records,
)
from sojourn.control.machine.records import HOOKS, Hook, Layout
from sojourn.control.vocabulary import TWO_ARGUMENTS

_FORMATS: Mapping[records.Kind, str] = {"float": "f8", "int": "i8", "bool": "?"}
_DRAWS: Mapping[str, list[Any]] = {
    "draw_uniform": [ctypes.c_double, ctypes.c_int64],
    "draw_below": [ctypes.c_int64, ctypes.c_int64, ctypes.c_int64],
}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def foreign(addresses: Mapping[str, int]) -> dict[str, Any]:
    """C functions as compiled code calls them: floats in, a float out, but for those that draw."""
    made = {}
    for name, address in addresses.items():
        arguments = 2 if name in TWO_ARGUMENTS else 1
        prototype = _DRAWS.get(name, [ctypes.c_double] * (1 + arguments))
        made[name] = ctypes.CFUNCTYPE(*prototype)(address)
    return made


def hooks(
    definition: Definition, record: Layout, functions: Mapping[str, FunctionType]
) -> dict[str, Any]:
    """A C function for each hook of a class, with its `address`.

    Args:
        definition: the class.
        record: the layout of the class's record.
        functions: its functions, in one namespace; there the compiled ones take their places.

    Raises:
        InputError: Numba cannot compile one; the message has the line.
    """
    if config.DISABLE_JIT:
        raise InputError("compiled = true: the environment variable NUMBA_DISABLE_JIT forbids it")
    for name, function in functions.items():
        function.__globals__[name] = njit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    made = {}
    for hook, name in definition.entry.items():
        method = functions[name].__globals__[name]
        called = HOOKS[definition.base][hook]
        pointers = (types.CPointer(_numba(layout)) for layout in (record, called.arguments))
        try:
            made[hook] = cfunc(types.int64(*pointers))(_wrapper(called, method))
        except NumbaError as error:
            raise _refusal(error, definition) from None
    return made


def _numba(layout: Layout) -> Any:
    names, kinds = zip(*layout.fields, strict=True)
    offsets = [8 * place for place in range(len(names))]
    described: Any = {
        "names": names,
        "formats": [_FORMATS[kind] for kind in kinds],
        "offsets": offsets,
        "itemsize": layout.size,
    }
    return from_dtype(np.dtype(described, align=True))


def _refusal(error: NumbaError, definition: Definition) -> InputError:
    """What Numba refuses, in the shortest of its sentences, with the user's line.

    Numba's text begins with the innermost call, and names each place as `my_cc.py (14)`.
    """
    text = _COLOURS.sub("", str(error))
    place = re.search(rf"{re.escape(definition.file)} \((\d+)\)", text)
    ours = re.search(r"TypingError: (.* cannot be compiled)$", text, re.MULTILINE)
    lines = [line for line in text.splitlines() if line and not line.startswith("Failed in")]
    where = f"{definition.file}:{place[1]}" if place else definition.file
    return InputError(one_line(f"{where}: {ours[1] if ours else lines[0]}"))


def _number(value: Any) -> Any:
    """What a hook returns, or 0 where it never does but always raises an exception."""
    if value is None:
        return 0
    return value


def _wrapper(hook: Hook, method: Callable[..., Any]) -> Callable[[Any, Any], int]:
    """A function around a method that gives 1 where the method raises an exception.

    Numba takes no variable number of arguments, so it is written for each hook.
    """
    given = ["given"] if hook.as_object else [f"given.{name}" for name in hook.names]
    call = f"method({', '.join(['carray(record, 1)[0]', *given])})"
    text = f"""
def wrapper(record, arguments):
    given = carray(arguments, 1)[0]
    try:
        {f"given.result = number({call})" if hook.gives else call}
    except Exception:
        return 1
    return 0
"""
    namespace: dict[str, Any] = {"method": method, "carray": carray, "number": njit(_number)}
    exec(text, namespace)  # noqa: S102 - our own text
    made: Callable[[Any, Any], int] = namespace["wrapper"]
    return made
