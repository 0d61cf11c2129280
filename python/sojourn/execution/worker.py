"""A process that simulates cases: `python -m sojourn.execution.worker STUDY`.

Reads a line a case from standard input, its index and replication, and answers each on standard
output: eight bytes with the length, then a pickled `Outcome`, or a text that says why code of the
study failed. Before that it says now and then how far it is, in the same way, by an `Advance`. What
code of the study prints goes to standard error. SIGINT and SIGTERM are blocked by the process that
started this one; when that process is gone, this one ends too.
"""

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import IO, TypeAlias

from sojourn._core import CaseFailed, Progress, StudyError
from sojourn._internal import trust
from sojourn._internal.errors import InputError
from sojourn.execution import inputs
from sojourn.execution.results import Advance, Outcome, simulated

_LENGTH = 8
_EVERY_S = 0.2


Message: TypeAlias = Advance | Outcome | str


def read(pipe: IO[bytes]) -> Message:
    """One message.

    Raises:
        EOFError: there is none, or not the whole of it.
    """
    length = int.from_bytes(_exactly(pipe, _LENGTH), "little")
    found: Message = pickle.loads(_exactly(pipe, length))  # noqa: S301 - our process wrote it
    return found


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _write(pipe: IO[bytes], message: Message) -> None:
    data = pickle.dumps(message)
    pipe.write(len(data).to_bytes(_LENGTH, "little") + data)
    pipe.flush()


@contextmanager
def _telling(pipe: IO[bytes]) -> Iterator[Progress]:
    """The progress of a case that is simulated within this block, told now and then."""
    progress, is_over = Progress(), Event()

    def tell() -> None:
        while not is_over.wait(_EVERY_S):
            try:
                _write(pipe, Advance(progress.done, progress.simulated_ps))
            except BrokenPipeError:  # no process waits for the case
                os._exit(1)

    thread = Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        is_over.set()
        thread.join()


def main() -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    path = Path(sys.argv[1])
    refusal = ""
    with trust.answering(trust.always):  # decided there too
        try:
            cases = inputs.study(path.read_text(encoding="utf-8"), str(path), []).cases()
        except StudyError as error:
            refusal, cases = str(error), []
    by_index = {case.index: case for case in cases}
    for line in sys.stdin:
        index, replication = map(int, line.split())
        answer: Message
        try:
            if refusal:
                raise CaseFailed(refusal)
            with _telling(answers) as progress:
                answer = simulated(by_index[index], replication, path.parent, progress)
        except (CaseFailed, InputError) as error:
            answer = str(error)
        _write(answers, answer)


if __name__ == "__main__":
    main()
