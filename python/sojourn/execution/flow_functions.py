"""Functions of a user that draw flows: `workload = { kind = "python", file = "flows.py", ... }`.

Each call runs the file again, so that no state goes from one case to another.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from traceback import extract_tb
from typing import Any

import numpy as np
import pyarrow as pa

from sojourn._core import Call
from sojourn._internal.errors import InputError, did_you_mean, reason
from sojourn._internal.files import decoded
from sojourn._internal.trust import expect_trusted
from sojourn.store import flow_tables

_NO_NAME = "no file has such a name"
# Where standard output goes is the whole process's business.
_running = RLock()


@dataclass(frozen=True)
class Code:
    """A file with functions, as it was read."""

    path: Path
    source: str
    sha256: str


def read(path: Path) -> Code:
    """A file with functions.

    Raises:
        InputError: it cannot be read, or may not run.
    """
    what = "file of functions"
    try:
        if path.exists() and not path.is_file():
            raise InputError("it is no regular file")
        with path.open("rb") as opened:
            source = decoded(opened, str(path), what)
            data = source.encode()
            expect_trusted(path, opened, data)
    except OSError as error:
        error.filename = None
        raise InputError(reason(error)) from None
    except ValueError as error:  # a null byte in the name
        raise error if isinstance(error, InputError) else InputError(_NO_NAME) from None
    return Code(path, source, hashlib.sha256(data).hexdigest())


def draw(code: Code, call: Call) -> pa.Table:
    """The flows that a function of a file draws.

    Raises:
        InputError: there is no such function, or it fails or returns no table.
    """
    path, name, settings = code.path, call.function, call.settings
    rates = np.array(call.rates, dtype=np.float64)
    random = np.random.default_rng(list(call.seed))
    function = _function(code, name)
    _refuse_other_arguments(path, function, settings)
    found = _run(path, lambda: function(len(rates), rates, random, **settings))
    try:
        return flow_tables.table_of(found)
    except InputError as error:
        raise InputError(f"{path.name}: {name} returned {error}") from None


def _function(code: Code, name: str) -> Callable[..., object]:
    """A function of a file, which is run for it."""
    path = code.path
    try:
        compiled = compile(code.source, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise InputError(f"{path.name}:{line}: {getattr(error, 'msg', error)}") from None
    namespace: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    _run(path, lambda: exec(compiled, namespace))  # noqa: S102 - what the user asks for
    functions = [n for n, value in namespace.items() if inspect.isfunction(value)]
    if not callable(namespace.get(name)):
        raise InputError(f"{path.name} has no function {name!r}{did_you_mean(name, functions)}")
    function: Callable[..., object] = namespace[name]
    return function


def _refuse_other_arguments(
    path: Path, function: Callable[..., object], settings: Mapping[str, object]
) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(0, None, None, **settings)
    except TypeError as error:
        given = ", ".join(["hosts", "rates", "random", *(f"{name}=..." for name in settings)])
        code = getattr(inspect.unwrap(function), "__code__", None)  # none of one that is built in
        line = code.co_firstlineno if code else 1
        names = list(signature.parameters)[3:]
        near = [did_you_mean(n, names, otherwise="") for n in settings if n not in names]
        raise InputError(
            f"{path.name}:{line}: {function.__name__}{signature} is called with ({given}):"
            f" {error}{''.join(near[:1])}"
        ) from None


def _run(path: Path, call: Callable[[], object]) -> object:
    """What a call of a user's code gives; what it prints goes to standard error."""
    try:
        with _running, redirect_stdout(sys.stderr):
            return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(_explained(path, error)) from None


def _explained(path: Path, error: BaseException) -> str:
    """An exception in a line: where, what, and through which functions of the file."""
    frames = [f for f in extract_tb(error.__traceback__) if f.filename == str(path)]
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if not frames:
        return f"{path.name}: {what}"
    way = "; ".join(f"{frame.name}, line {frame.lineno}: {frame.line}" for frame in frames)
    return f"{path.name}:{frames[-1].lineno}: {what} (in {way})"
