"""Ctrl-C and SIGTERM end a command within a second, whatever it does.

Python raises `KeyboardInterrupt` in the main thread, between two steps. The compiled half may take
long for one step there, as when it draws millions of flows. A thread therefore waits for
the signals too, and ends the process where the command has not ended by then.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from io import FileIO

from sojourn._internal.errors import INTERRUPTED

_PATIENCE_S = 0.8
_LAST_STEPS_S = 0.1  # of a thread that has nothing more to do
_MESSAGE = b"sojourn: interrupted\n"
_SHOW_CURSOR = b"\r\x1b[K\x1b[?25h"


def soon(function: Callable[..., None]) -> Callable[..., None]:
    """Has a command that simulates end soon after a signal; what it kept by then is whole."""

    @wraps(function)
    def command(*arguments: object, **options: object) -> None:
        with _watched():
            function(*arguments, **options)

    return command


def at_once(code: int) -> int:
    """The exit code, or the end of the process where a thread is left.

    Such a thread has a case that did not stop. The interpreter would wait for it.
    """
    main = threading.main_thread()
    for thread in threading.enumerate():
        if thread is not main and not thread.daemon:
            thread.join(_LAST_STEPS_S)
            if thread.is_alive():
                os._exit(code)
    return code


@contextmanager
def _watched() -> Iterator[None]:
    """A thread that ends the process some time after a signal, unless this block ends first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    is_over = threading.Event()
    threading.Thread(target=_watch, args=(reads, is_over), daemon=True).start()
    before = signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
    try:
        yield
    finally:
        is_over.set()
        signal.set_wakeup_fd(before)
        os.close(writes)


def _watch(reads: int, is_over: threading.Event) -> None:
    """Read the numbers of signals until the other end of the pipe is closed."""
    with FileIO(reads) as pipe:
        while number := pipe.read(1):
            if number[0] in {signal.SIGINT, signal.SIGTERM} and not is_over.wait(_PATIENCE_S):
                os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + _MESSAGE)
                os._exit(INTERRUPTED)
