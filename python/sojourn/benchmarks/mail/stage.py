"""A list server and a small internet in two processes: started, watched, ended."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

from sojourn._internal.errors import InputError
from sojourn.benchmarks.mail.outcome import Accepted, Outcome, waiting
from sojourn.benchmarks.mail.process import message_id

# How often progress is reported.
_EVERY_S = 0.2


@dataclass(frozen=True)
class Script:
    """What is to be sent, and into what world.

    Attributes:
        world: the world's text (TOML).
        source: its name, for messages.
        overrides: what is laid over it, as `--set` would.
        messages: how many messages are sent at once, each to every subscriber.
        size_bytes: about how long each is.
        server: settings of the list server (TOML), laid over by where the internet is.
        log: where the server's log goes; nowhere where None.
        hands_over: to what the messages are handed over: the `engine`, a `list` whose copies differ
            by SMTP, or a `signed list`.
        patience_s: how long recipients who can be reached are waited for.
    """

    world: str
    source: str
    overrides: tuple[tuple[str, str], ...] = ()
    messages: int = 1
    size_bytes: int = 4000
    server: str = '[mail]\nhello = "lists.example"\n'
    log: Path | None = None
    hands_over: str = "engine"
    patience_s: float = 120.0


@dataclass(frozen=True)
class Moment:
    """How far a rehearsal is.

    Attributes:
        since_s: seconds since the first submission.
        taken: how many copies the internet's servers have taken over.
        reachable: how many they will have in the end.
        progress: asks the list server how far it is, which takes it some of its time.
    """

    since_s: float
    taken: int
    reachable: int
    progress: Callable[[], dict[str, Any]]


def play(script: Script, watch: Callable[[Moment], None] = lambda _: None) -> Outcome:
    """Send until all who can be reached were, patience is over, or Ctrl-C ends it.

    Raises:
        InputError: the world or the settings are refused, or one of the processes died.
        NotInstalledError: the list server is missing.
    """
    from sojourn import _mail  # noqa: F401 - the processes below need it

    with TemporaryDirectory(prefix="sojourn-") as folder, _child("internet") as internet:
        there = internet(world=script.world, source=script.source, overrides=list(script.overrides))
        subscribers: list[tuple[str, str]] = [(who, kind) for who, kind in there["subscribers"]]
        spool = Path(folder) / "spool"
        with _child("sender") as sender:
            begun = sender(
                settings=_settings(script.server, there),
                source="server",
                spool=str(spool),
                log=None if script.log is None else str(script.log),
                recipients=[who for who, _ in subscribers],
                messages=script.messages,
                size_bytes=script.size_bytes,
                hands_over=script.hands_over,
            )
            reachable = sum(kind != "unreachable" for _, kind in subscribers) * script.messages
            taken, since_s = 0, 0.0
            with _interrupts() as interrupted:
                while taken < reachable and since_s < script.patience_s and not interrupted():
                    taken = internet(wait=reachable, patience_s=_EVERY_S)["accepted"]
                    since_s = time.time() - begun["submitted"]
                    watch(Moment(since_s, taken, reachable, partial(sender, progress=True)))
            ended = sender(end=True)
            at_end = internet(end=True)
        return Outcome(
            subscribers=subscribers,
            messages=[message_id(number) for number in range(script.messages)],
            submitted=begun["submitted"],
            stored=begun["accepted"],
            accepted=[Accepted(*one) for one in at_end["accepted"]],
            failed={(message_id(number), who) for number, who in ended["failed"]},
            waiting=waiting(spool),
            cpu_s=ended["cpu_s"],
            peak_bytes=ended["peak_bytes"],
            internet_cpu_s=at_end["cpu_s"],
            signature_ns=ended.get("signature_ns"),
            interrupted=interrupted(),
        )


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: noted, so that no answer of a process is left unread."""
    pressed = Event()

    def note(*_: object) -> None:
        pressed.set()
        sys.stderr.write("ending; sessions under way may take ten seconds\n")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _settings(server: str, there: dict[str, Any]) -> str:
    network = (
        f"port = {there['smtp_port']}\nresolvers = [{json.dumps(there['resolver'])}]\n"
        "loopback = true\n"
    )
    if "[network]\n" in server:
        return server.replace("[network]\n", "[network]\n" + network)
    return server + "[network]\n" + network


@contextmanager
def _child(name: str) -> Iterator[Callable[..., dict[str, Any]]]:
    """A process that answers questions, one line of JSON each; it ends with its input."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", f"sojourn.benchmarks.mail.{name}_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl-C is the parent's to handle
        start_new_session=True,
    )
    asked, answers, errors = process.stdin, process.stdout, process.stderr
    if asked is None or answers is None or errors is None:
        raise AssertionError("they are pipes")

    def ask(**question: Any) -> dict[str, Any]:
        try:
            asked.write(json.dumps(question) + "\n")
            asked.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            if "refused" in answer:
                raise InputError(answer["refused"])
            return answer
        last = (errors.read().splitlines() or ["it said nothing"])[-1]
        raise InputError(f"the {name} ended: {last}")

    try:
        yield ask
        asked.close()
        process.wait()
    finally:
        process.kill()
        process.wait()
        for pipe in (asked, answers, errors):
            with suppress(BrokenPipeError):
                pipe.close()
