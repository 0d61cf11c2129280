"""A list server in a process of its own, so that its processor time and memory are its own.

Reads lines of JSON from standard input and answers each with one: first
`{"settings", "source", "spool", "log", "recipients", "messages", "size_bytes"}`, answered when all
messages are on stable storage; then any number of `{"progress": true}`; the last, `{"end": true}`,
is answered when the server has stopped. Imports nothing of sojourn but the engine.
"""

import resource
import time
from pathlib import Path

from sojourn._core import MailServer, MailSettings
from sojourn.rehearsal.pipe import answer, questions, refusals

SENDER = "list-bounces@lists.example"


def main() -> None:
    """Send until the input ends."""
    asked = questions()
    task = next(asked)
    with refusals():
        settings = MailSettings.parse(task["settings"], task["source"], [])
        log = None if task["log"] is None else Path(task["log"])
        before = _cpu_s()
        server = MailServer.start(settings, Path(task["spool"]), log)
        submitted = time.time()
        numbers = {
            server.submit(SENDER, task["recipients"], _message(number, task["size_bytes"])): number
            for number in range(task["messages"])
        }
        answer(submitted=submitted, accepted=time.time())
        for question in asked:
            if "progress" in question:
                answer(**server.progress())
                continue
            cpu_s = _cpu_s() - before
            left, cut = server.stop()
            answer(
                cpu_s=cpu_s,
                peak_bytes=_peak_bytes(),
                left=left,
                cut=cut,
                failed=[
                    (numbers[message], who)
                    for message, who, for_good, *_ in server.troubled()
                    if for_good and message in numbers
                ],
            )


def message_id(number: int) -> str:
    """The Message-ID of a message."""
    return f"<{number}@lists.example>"


def _message(number: int, size_bytes: int) -> bytes:
    head = (
        "From: List <list@lists.example>\r\nTo: list@lists.example\r\n"
        f"Subject: Number {number}\r\nMessage-ID: {message_id(number)}\r\n\r\n"
    )
    line = "How long does work stay in a system of queues? Nobody who waits asks anything else.\r\n"
    lines = max(1, (size_bytes - len(head)) // len(line))
    return (head + line * lines).encode()


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak_bytes() -> int:
    """The most memory this program held: `ru_maxrss` would start from what the parent held."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
