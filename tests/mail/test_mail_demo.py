"""`sojourn mail demo`, `mail internet` and `bench mail`, on small worlds."""

import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Result
from sojourn.benchmarks.mail import loads as benchmarks
from sojourn.benchmarks.mail.outcome import Accepted, Outcome
from sojourn.benchmarks.mail.stage import play

Command = Callable[..., Result]

SMALL = [
    *("--set", "drawn.subscribers=120", "--set", "drawn.domains=30"),
    *("--set", "drawn.round_trip=5ms", "--set", "drawn.slow_reply=20ms"),
]
# Those who come back after a minute are left out.
PROMPT = [*SMALL, "--set", "drawn.greylisted=0.0"]


def test_demo(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = command("mail", "demo", *PROMPT, "--messages", "3", "--log", log, "--json")
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert (document["subscribers"], document["messages"], document["sent"]) == (120, 3, 360)
    assert (document["lost"], document["twice"]) == (0, 0)
    gone = document["deferred"] + document["failed"]
    assert document["delivered"] + gone == 360
    # Two of a hundred are not reached, as nearly as whole domains allow.
    assert 0 < gone <= 9
    times = document["times"]["reachable"]
    assert 0 < times["p50_s"] <= times["p95_s"] <= times["p99_s"]
    assert log.read_text("utf-8").count("status=sent") == document["delivered"]


def test_demo_in_words(command: Command) -> None:
    done = command("mail", "demo", *PROMPT, "--set", "drawn.unreachable=0.0")
    assert done.code == 0
    assert "reachable" in done.out
    figures = done.out.splitlines()[-2].split()
    assert figures[:6] == ["120", "120", "0", "0", "0", "0"]


def test_demo_says_what_was_done_until_ctrl_c() -> None:
    script = replace(
        benchmarks.script(benchmarks.Load("list", 1)),
        overrides=(("drawn.subscribers", "120"), ("drawn.domains", "30")),
    )
    outcome = play(script, lambda _: signal.raise_signal(signal.SIGINT))
    assert outcome.interrupted
    assert outcome.delivered + outcome.deferred + len(outcome.failed) == outcome.sent == 120
    assert not outcome.lost


def test_demo_of_a_world_that_is_written(command: Command, tmp_path: Path) -> None:
    world = tmp_path / "world.toml"
    world.write_text('[[domain]]\nname = "x.example"\nsubscribers = 7\n', "utf-8")
    done = command("mail", "demo", world, "--json")
    assert (done.code, done.document["delivered"]) == (0, 7)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["{folder}/none"], "cannot read the world: {folder}/none: No such file"),
        (["{bad}"], "{bad}:1: unknown key domian"),
        (["{binary}"], "{binary}: not UTF-8 text"),
        (["--set", "drawn.subscribers=none"], "--set drawn.subscribers=none"),
        (["--set", "drawn.subscribers"], "expected PATH=VALUE"),
        (["--messages", "0"], "--messages"),
        (["--patience", "0s"], "--patience 0s: expected a time above zero"),
        (["--patience", "3"], "--patience '3': expected a time like 10ms, at most 2400h"),
        (["--log", "{folder}/no/log"], "{folder}/no/log: No such file"),
    ],
)
def test_what_cannot_be_shown(
    command: Command, tmp_path: Path, given: list[str], said: str
) -> None:
    (tmp_path / "bad").write_text("domian = 3\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    names = {"folder": tmp_path, "bad": tmp_path / "bad", "binary": tmp_path / "binary"}
    done = command("mail", "demo", *(it.format(**names) for it in given))
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert said.format(**names) in done.err


def test_an_internet_to_send_to(command: Command, tmp_path: Path) -> None:
    world = tmp_path / "world.toml"
    world.write_text('[[domain]]\nname = "x.example"\nsubscribers = 7\n', "utf-8")
    (tmp_path / "message").write_text("From: owner@lists.example\n\nhello\n", "utf-8")
    whom = tmp_path / "list"
    given = [sys.executable, "-m", "sojourn", "mail", "internet", str(world)]
    with subprocess.Popen(
        [*given, "--subscribers", str(whom), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = running.stdout.readline()
            assert line, running.communicate()
            text += line
        where = json.loads(text)
        done = command(
            *("mail", "deliver", tmp_path / "message", "--list", whom),
            *("--set", f"network.port={where['smtp_port']}"),
            *("--set", f'network.resolvers=["{where["resolver"]}"]'),
            *("--spool", tmp_path / "spool", "--json"),
        )
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=30)
    assert (done.code, done.document["delivered"]) == (0, 7)
    assert (running.returncode, said) == (0, "1 message taken over, for 7 recipients\n")


def _outcome(accepted: list[Accepted], waiting: set[tuple[str, str]]) -> Outcome:
    return Outcome(
        subscribers=[("a", "fast"), ("b", "slow"), ("c", "deferring"), ("d", "unreachable")],
        messages=["<0>"],
        submitted=100.0,
        stored=100.1,
        accepted=accepted,
        failed=set(),
        waiting=waiting,
        cpu_s=0.3,
        peak_bytes=2_000_000,
        internet_cpu_s=1.0,
    )


def _taken(at: float, who: str) -> Accepted:
    return Accepted(at, "<0>", who, "127.0.0.1", 0, 0, 0)


def test_what_is_counted() -> None:
    taken = [_taken(101, "a"), _taken(103, "b"), _taken(102, "b")]
    outcome = _outcome(taken, {("<0>", "d")})
    assert (outcome.sent, outcome.delivered, outcome.deferred, outcome.twice) == (4, 2, 1, 1)
    assert outcome.lost == [("<0>", "c")]
    assert [outcome.until_s("prompt", share) for share in (0.5, 1)] == [1, 2]
    assert outcome.until_s("reachable", 1) == math.inf


def test_bars() -> None:
    full = [_taken(101, "a"), _taken(102, "b"), _taken(160, "c")]
    found = benchmarks.cost("x", _outcome(full, {("<0>", "d")}))
    load = benchmarks.Load("list", 1, bars=(("reachable_all_s", 60.0), ("prompt_95_s", 1.9)))
    bars = {bar.figure: bar for bar in benchmarks.judged(found, load, {})}
    assert bars["reachable_all_s"] == benchmarks.Bar("reachable_all_s", 60, 60, holds=True)
    assert bars["prompt_95_s"] == benchmarks.Bar("prompt_95_s", 1.9, 2, holds=False)
    assert bars["ns_per_unit"].measured == pytest.approx(1e8)
    assert [bars[figure].holds for figure in ("ns_per_unit", "peak_mb", "lost", "twice")] == [
        *(False, True, True, True)
    ]
    like = benchmarks.Load("list", 1, like=("x", ("fast_95_s",), 1.1))
    other = replace(found, fast_95_s=0.95)
    assert benchmarks.judged(found, like, {"x": other})[-1].holds
    assert not benchmarks.judged(found, like, {"x": replace(found, fast_95_s=0.9)})[-1].holds
    assert {bar.figure for bar in benchmarks.judged(found, like, {})}.isdisjoint({"fast_95_s"})


def test_a_benchmark(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tuple(tuple(it.split("=")) for it in PROMPT if it != "--set")
    monkeypatch.setitem(benchmarks.LOADS, "clean", benchmarks.Load("clean", 2, small))
    [cost] = command("bench", "mail", "--case", "clean", "--json").document
    assert (cost["case"], cost["unit"], cost["units"], cost["lost"]) == (
        "clean",
        "delivery",
        240,
        0,
    )
    assert [bar["figure"] for bar in cost["bars"]] == ["ns_per_unit", "peak_mb", "lost", "twice"]
    assert cost["bars"][0]["measured"] == cost["ns_per_unit"] == cost["cpu_s"] / 240 * 1e9
    words = command("bench", "mail", "--case", "clean").out
    assert "reachable 95 % [s]" in words
    assert "ns_per_unit" in words


def test_no_such_benchmark(command: Command) -> None:
    done = command("bench", "mail", "--case", "one-mesage")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "did you mean 'one-message'?" in done.err
    done = command("bench", "mail", "--case", "what-if-ofice")
    assert "did you mean 'what-if-office'?" in done.err
    assert not benchmarks.chosen("array", None)
