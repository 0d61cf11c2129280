"""Functions of a user that draw flows: `workload = { kind = "python", file = "flows.py", ... }`.

The compiled half calls `draw` to check a study, and `draw_into` to keep what a run reads. Each call
runs the file anew, so that no state goes from one case to another.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from threading import RLock
from traceback import extract_tb
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa

from sojourn._internal.errors import InputError, did_you_mean, reason
from sojourn._internal.files import decoded
from sojourn._internal.trust import expect_trusted
from sojourn.store import flow_tables

# Where standard output goes is the whole process's business.
_running = RLock()


class Call(TypedDict):
    """A call of a function, as the compiled half has it.

    `sha256` is that which the file must have, if any; `settings` are further arguments by name;
    `rates` the speeds of the hosts' links in bits a second; `seed` that of the random numbers.
    """

    file: str
    sha256: str | None
    function: str
    settings: Mapping[str, object]
    rates: Sequence[int]
    seed: Sequence[int]


def draw(call: Call) -> flow_tables.HandedOver:
    """The flows that a function draws, as columns.

    Raises:
        InputError: the file or the function cannot be used, or the function fails or returns no
            table.
    """
    return flow_tables.handed_over(_drawn(call))


def draw_into(call: Call, folder: str, key: str) -> None:
    """Keep the flows that a function draws in a folder, if they are not there yet.

    Raises:
        InputError: as `draw` does.
        OSError: they cannot be written.
    """
    if not flow_tables.has(Path(folder), key):
        flow_tables.keep(_drawn(call), Path(folder), key)


def _drawn(call: Call) -> pa.Table:
    path, name, settings = Path(call["file"]), call["function"], call["settings"]
    rates = np.array(call["rates"], dtype=np.float64)
    random = np.random.default_rng(list(call["seed"]))
    function = _function(path, call["sha256"], name)
    _refuse_other_arguments(path, function, settings)
    found = _run(path, lambda: function(len(rates), rates, random, **settings))
    try:
        return flow_tables.table_of(found)
    except InputError as error:
        raise InputError(f"{path.name}: {name} returned {error}") from None


def _function(path: Path, sha256: str | None, name: str) -> Callable[..., object]:
    """A function of a file, which is run for it."""
    found = flow_tables.sha256(str(path))
    if sha256 not in (None, found):
        raise InputError(f"{path.name} has changed since: its SHA-256 is {found}, not {sha256}")
    source = _source(path)
    try:
        code = compile(source, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise InputError(f"{path.name}:{line}: {getattr(error, 'msg', error)}") from None
    namespace: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    _run(path, lambda: exec(code, namespace))  # noqa: S102 - what the user asks for
    functions = [n for n, value in namespace.items() if inspect.isfunction(value)]
    if not callable(namespace.get(name)):
        raise InputError(f"{path.name} has no function {name!r}{did_you_mean(name, functions)}")
    function: Callable[..., object] = namespace[name]
    return function


def _source(path: Path) -> str:
    what = "file of functions"
    try:
        with path.open("rb") as opened:
            source = decoded(opened, str(path), what)
            expect_trusted(path, opened, source.encode())
    except OSError as error:
        raise InputError(f"cannot read the {what}: {reason(error)}") from None
    return source


def _refuse_other_arguments(
    path: Path, function: Callable[..., object], settings: Mapping[str, object]
) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(0, None, None, **settings)
    except TypeError as error:
        given = ", ".join(["hosts", "rates", "random", *(f"{name}=..." for name in settings)])
        line = inspect.unwrap(function).__code__.co_firstlineno
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
