"""Calls of compiled hooks, as the engine makes them."""

import ctypes

from sojourn.control.compiling import Compiled


def compiled_call(
    compiled: Compiled, hook: str, record: bytes, arguments: bytes
) -> tuple[int, bytes, bytes]:
    """The status of a compiled hook, and what it left of its record and arguments."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    state = ctypes.create_string_buffer(record, len(record))
    given = ctypes.create_string_buffer(arguments, len(arguments))
    status = function(compiled.addresses[hook])(state, given)
    return status, state.raw, given.raw
