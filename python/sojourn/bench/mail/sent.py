"""What is sent, and what it costs the process that sends it."""

import resource
from pathlib import Path

SENDER = "list-bounces@lists.example"


def message_id(number: int) -> str:
    """The Message-ID of a message."""
    return f"<{number}@lists.example>"


def message(number: int, size_bytes: int) -> bytes:
    """A message of about this size."""
    head = (
        "From: List <list@lists.example>\r\nTo: list@lists.example\r\n"
        f"Subject: Number {number}\r\nMessage-ID: {message_id(number)}\r\n\r\n"
    )
    line = "How long does work stay in a system of queues? Nobody who waits asks anything else.\r\n"
    lines = max(1, (size_bytes - len(head)) // len(line))
    return (head + line * lines).encode()


def cpu_s() -> float:
    """The processor time that this program has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_bytes() -> int:
    """The most memory this program held: `ru_maxrss` would start from what the parent held."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
