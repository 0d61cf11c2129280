"""A process that simulates cases: `python -m sojourn.execution.worker STUDY`.

Reads a line a case from standard input, its index and replication, and answers each on standard
output: eight bytes with the length, then a pickled `Outcome`, or a text that says why code of the
study failed. What such code prints goes to standard error.
"""

import os
import pickle
import signal
import sys
from pathlib import Path
from typing import IO

from sojourn._core import CaseFailed, Study
from sojourn._internal import trust
from sojourn.execution.results import Outcome, simulated

_LENGTH = 8


def read(pipe: IO[bytes]) -> Outcome | str:
    """One answer.

    Raises:
        EOFError: there is none, or not the whole of it.
    """
    length = int.from_bytes(_exactly(pipe, _LENGTH), "little")
    found: Outcome | str = pickle.loads(_exactly(pipe, length))  # noqa: S301 - our process wrote it
    return found


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data


def main() -> None:
    """Answer until standard input ends. Ctrl-C is left to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    path = Path(sys.argv[1])
    with trust.answering(trust.always):  # decided by the process that started this one
        cases = Study.parse(path.read_text(encoding="utf-8"), str(path), []).cases()
    by_index = {case.index: case for case in cases}
    for line in sys.stdin:
        index, replication = map(int, line.split())
        answer: Outcome | str
        try:
            answer = simulated(by_index[index], replication)
        except CaseFailed as error:
            answer = str(error)
        data = pickle.dumps(answer)
        answers.write(len(data).to_bytes(_LENGTH, "little") + data)
        answers.flush()


if __name__ == "__main__":
    main()
