"""Ctrl-C and SIGTERM end a run soon, whatever it does; what was finished is kept."""

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn
from controllers import STUDY
from sojourn.store.run_directory import RunDirectory

# A second, and what a busy machine adds.
SOON_S = 5
SIGNALS = [signal.SIGINT, signal.SIGTERM]

LONG = """
title = "long"
topology = { kind = "single-switch", hosts = 8 }
workload = { kind = "poisson", sizes = "websearch", load = 0.6, flows = 20 }
scheme = "DCTCP"
[sweep]
workload.flows = [20, 2000000]
"""
# A link holds 0.1 s of packets, so a window has a hundred thousand of each.
LONG_LINKS = """
title = "long links"
drain = "1000s"
topology = { kind = "single-switch", hosts = 32, delay = "100ms" }
workload = { kind = "csv", file = "flows.csv" }
scheme = "LineRate+pFabric"
"""
LOOPING = """
from sojourn.control import Ack, Control


class Looping(Control):
    calm: bool = True

    def acked(self, ack: Ack) -> None:
        while not self.calm:
            self.cwnd = 2.0
        super().acked(ack)
"""
NATIVE = """
import ctypes
import signal
from contextlib import suppress

from sojourn._internal import ending


@ending.soon
def command():
    libc, lock = ctypes.CDLL(None), ctypes.create_string_buffer(128)
    libc.pthread_mutex_lock(lock)
    while True:
        with suppress(KeyboardInterrupt):  # the signal may come before the lock is waited for
            print("locked", flush=True)
            libc.pthread_mutex_lock(lock)


signal.signal(signal.SIGTERM, signal.default_int_handler)
command()
"""


# Progress is told at every look, not only every ten seconds.
PROGRAM = """
import sys

from sojourn.execution import progress

progress.LOGGED_EVERY_S = 0
from sojourn.__main__ import run

sys.exit(run())
"""


@pytest.fixture(autouse=True)
def heeds_ctrl_c() -> Iterator[None]:
    """Children heed SIGINT, also where a shell has started the tests in its background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(folder: Path, number: signal.Signals, ready: str, *arguments: str) -> str:
    """What the command says at its end, which comes soon after a signal.

    The signal is sent as soon as a line on standard error has the pattern `ready`.
    """
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        limit = threading.Timer(120, child.kill)
        limit.start()
        for line in child.stderr:
            if re.search(ready, line):
                break
        begins = time.monotonic()
        child.send_signal(number)
        said = child.stderr.read()
        assert (child.wait(), "Traceback" in said) == (130, False), said
        limit.cancel()
    assert time.monotonic() - begins < SOON_S
    return said


def finished(run: Path) -> list[tuple[int, int]]:
    """The cases and replications in a run directory."""
    return [record.key for record in sojourn.load(run).ledger]


ONE_KEPT = "sojourn: interrupted: 1 of 2 cases finished and kept in r; the same command resumes\n"
RUN = ["run", "study.toml", "--out", "r", "--jobs"]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_run(tmp_path, number):
    (tmp_path / "study.toml").write_text(LONG)
    assert interrupted(tmp_path, number, "^1/2 cases", *RUN, "2").endswith(ONE_KEPT)
    assert finished(tmp_path / "r") == [(0, 0)]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    ("compiled", "jobs"), [("false", "1"), ("false", "2"), ("true", "1"), ("true", "2")]
)
def test_a_hook_that_does_not_end(tmp_path, number, compiled, jobs):
    (tmp_path / "mine.py").write_text(LOOPING)
    sweep = "[sweep]\nscheme.transport.set.calm = [true, false]\n"
    (tmp_path / "study.toml").write_text(f"{STUDY}compiled = {compiled}\n{sweep}")
    assert interrupted(tmp_path, number, "^1/2 cases", *RUN, jobs).endswith(ONE_KEPT)
    assert finished(tmp_path / "r") == [(0, 0)]


def test_a_dry_run_does_not_wait_for_a_hook_that_does_not_end(tmp_path):
    (tmp_path / "mine.py").write_text(LOOPING)
    (tmp_path / "study.toml").write_text(f"{STUDY}set = {{ calm = false }}\n")
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "run", "study.toml", "--dry-run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 case to run" in done.stdout
    assert "by pilots" not in done.stdout, "nothing is known of its time"


@pytest.mark.parametrize("number", SIGNALS)
def test_few_long_windows(tmp_path, number):
    (tmp_path / "study.toml").write_text(LONG_LINKS)
    lines = [f"{host},{host + 16},100000000000,0s" for host in range(16)]
    (tmp_path / "flows.csv").write_text("\n".join(["src,dst,size_bytes,arrival", *lines, ""]))
    said = interrupted(tmp_path, number, "^0/1 cases", *RUN, "1")
    assert said.endswith(ONE_KEPT.replace("1 of 2 cases", "0 of 1 case"))


@pytest.mark.parametrize("number", SIGNALS)
def test_an_estimate(tmp_path, number):
    """The links that are finished are kept too."""
    scheme = 'scheme = { name = "DCTCP", balance = "ecmp" }'
    study = LONG.replace('scheme = "DCTCP"', scheme).replace("[20, 2000000]", "[20000, 30000]")
    (tmp_path / "study.toml").write_text(study)
    arguments = ["estimate", "study.toml", "--out", "r", "--force", "--jobs", "2"]
    said = interrupted(tmp_path, number, "^0/2 cases", *arguments)
    assert said.endswith(ONE_KEPT.replace("1 of 2", "0 of 2"))
    assert RunDirectory(tmp_path / "r").links(1, 0).exists()


def test_a_reproduction(tmp_path):
    arguments = ["reproduce", "pfabric", "--full", "--out", "r"]
    said = interrupted(tmp_path, signal.SIGTERM, r"^\d+/\d+ cases", *arguments)
    assert re.search(r"sojourn: interrupted: \d+ of \d+ cases finished and kept in r/", said)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_compiled_half_in_the_main_thread(tmp_path, number):
    """Here a lock that is never free: no signal interrupts the wait for it."""
    with subprocess.Popen(
        [sys.executable, "-c", NATIVE],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "locked\n"
        child.send_signal(number)
        _, said = child.communicate(timeout=SOON_S)
    assert (child.returncode, said) == (130, "sojourn: interrupted\n")


def test_a_process_with_a_case_ends_with_the_one_that_started_it(tmp_path):
    """That one has no time to end it where it is killed."""
    (tmp_path / "mine.py").write_text(LOOPING)
    (tmp_path / "study.toml").write_text(f"{STUDY}set = {{ calm = false }}\n")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *RUN, "1"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        # The process with the case has standard error too: it is at its end when both have ended.
        assert any(line.startswith("0/1 cases") for line in child.stderr)
        child.kill()
        begins = time.monotonic()
        child.stderr.read()
    assert time.monotonic() - begins < SOON_S
