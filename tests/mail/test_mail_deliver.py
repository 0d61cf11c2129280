"""`sojourn mail deliver` and `queue` in a small internet, on real sockets."""

import email
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import Result
from smallnet import Net, small_internet

Command = Callable[..., Result]

FAST = """
[[domain]]
name = "x.example"
subscribers = 3
host = [{ round_trip = "2ms" }]
[[domain]]
name = "y.example"
subscribers = 2
host = [{ round_trip = "2ms" }]
"""
# What takes a while: sessions of a few hosts that are not near.
SLOW = "".join(
    f'[[domain]]\nname = "d{n}.example"\nsubscribers = 100\nhost = [{{ round_trip = "100ms" }}]\n'
    for n in range(5)
)
NO_ROOTS = ["--set", "mail.tls=required", "--set", "network.roots={empty}"]
TEXT = b"From: Owner <owner@lists.example>\r\nMessage-ID: <1@lists.example>\r\n\r\nhello\r\n"


@pytest.fixture
def message(tmp_path: Path) -> Path:
    path = tmp_path / "message"
    path.write_bytes(TEXT)
    return path


def arguments(net: Net, folder: Path, *more: object) -> list[str]:
    spool = folder / "spool"
    return [
        "mail",
        "deliver",
        "--config",
        str(net.settings),
        "--spool",
        str(spool),
        *map(str, more),
    ]


def process(*given: str, err: int = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sojourn", *given], stdout=subprocess.PIPE, stderr=err, text=True
    )


def test_a_row_without_an_address_refuses_itself_alone(
    command: Command, tmp_path: Path, message: Path
) -> None:
    """The others have the message, and the exit code says that one row is left."""
    people = tmp_path / "list"
    with small_internet(tmp_path, FAST) as net:
        people.write_text("\n".join(["b.example", *net.subscribers, "c@"]), "utf-8")
        done = command(*arguments(net, tmp_path, message, "--list", people, "--json"))
        copies = net.copies
    assert copies == dict.fromkeys(net.subscribers, 1)
    said = [f"{people}:{line}" for line in (1, 2 + len(net.subscribers))]
    assert [line.split(": ")[1] for line in done.err.splitlines()] == said
    assert [row.split(": ")[0] for row in done.document["refused"]] == said
    assert (done.code, done.document["delivered"]) == (1, len(net.subscribers))


def test_everybody_has_it_once(command: Command, tmp_path: Path, message: Path) -> None:
    table = tmp_path / "list.csv"
    with small_internet(tmp_path, FAST) as net:
        lines = ["name,email", *(f"N,{who}" for who in net.subscribers)]
        lines += [f"N,{net.subscribers[0].upper().replace('S', 's')}", f"N,{net.subscribers[1]}"]
        table.write_text("\n".join(lines), "utf-8")
        log = tmp_path / "log"
        given = arguments(net, tmp_path, message, "--list", table, "--log", log, "--json")
        done = command(*given)
        copies = net.copies
    assert (done.code, done.err) == (0, "")
    assert copies == dict.fromkeys(net.subscribers, 1)
    document = done.document
    assert document == {
        "spool": str(tmp_path / "spool"),
        "recipients": 5,
        "duplicates": 2,
        "suppressed": 0,
        "refused": [],
        "message": 1,
        "delivered": 5,
        "seconds": document["seconds"],
        "failed": [],
        "deferred": [],
        "left": 0,
        "cut": 0,
        "interrupted": False,
    }
    assert 0 < document["seconds"]["p50"] <= document["seconds"]["max"] < 30
    lines = log.read_text("utf-8").splitlines()
    assert sum("status=sent" in line for line in lines) == 5
    assert command("mail", "queue", "--spool", tmp_path / "spool", "--json").document == []


def test_the_order_of_a_list_is_not_that_of_the_name_servers(
    command: Command, tmp_path: Path, message: Path
) -> None:
    """With one session: the first answer gets it, then the list's order holds."""
    late = 'names = { kind = "slow", takes = "150ms" }\n'
    world = "".join(
        f'[[domain]]\nname = "d{n}.example"\nsubscribers = 1\n{late if n < 4 else ""}'
        'host = [{ round_trip = "80ms" }]\n'
        for n in range(8)
    )
    log = tmp_path / "log"
    with small_internet(tmp_path, world) as net:
        whom = tmp_path / "list"
        whom.write_text("".join(f"{who}\n" for who in sorted(net.subscribers)), "utf-8")
        one = ["--set", "mail.limits.sessions=1", "--set", 'mail.order="list"']
        given = arguments(net, tmp_path, message, "--list", whom, "--log", log, *one)
        done = command(*given)
    assert done.code == 0
    sent = [line for line in log.read_text("utf-8").splitlines() if "status=sent" in line]
    order = [re.search(r"@d(\d)", line)[1] for line in sent]
    # one of those whose names are quick is served while the others' are looked up
    first, *others = map(int, order)
    assert first >= 4
    assert others == sorted(set(range(8)) - {first})


def test_in_words(command: Command, tmp_path: Path, message: Path) -> None:
    with small_internet(tmp_path, FAST) as net:
        whom = net.write_list(tmp_path / "list")
        whom.write_text(whom.read_text("utf-8") * 2, "utf-8")
        done = command(*arguments(net, tmp_path, message, "--list", whom))
    said = r"delivered  5 \(5 duplicates in the list dropped\)\nafter      50 % .+ s, all .+ s\n"
    assert done.code == 0
    assert re.fullmatch(said, done.out)


@pytest.mark.parametrize("piped", ["message", "list"])
def test_from_standard_input(
    command: Command,
    tmp_path: Path,
    message: Path,
    monkeypatch: pytest.MonkeyPatch,
    piped: str,
) -> None:
    with small_internet(tmp_path, FAST) as net:
        whom = net.write_list(tmp_path / "list")
        given = {"message": message, "list": whom, piped: Path("-")}
        data = (message if piped == "message" else whom).read_bytes()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        done = command(*arguments(net, tmp_path, given["message"], "--list", given["list"]))
        assert done.code == 0
        assert net.copies == dict.fromkeys(net.subscribers, 1)


def test_octets_are_kept(command: Command, tmp_path: Path, message: Path) -> None:
    """8-bit text, lines as long as may be, dots at their beginning, a last line without an end.

    A host that takes no octets above 127 gets them encoded.
    """
    given = TEXT + b"Gr\xfc\xdfe \xe2\x82\xac\r\n.\r\n..two\r\n" + b"x" * 998 + b"\r\nend"
    message.write_bytes(given)
    world = 'keep_texts = true\n[[domain]]\nname = "x.example"\n'
    no8bit = '[[domain]]\nname = "seven.example"\nhost = [{ eight_bit = false }]\n'
    with small_internet(tmp_path, world + no8bit) as net:
        whom = net.write_list(tmp_path / "list")
        done = command(*arguments(net, tmp_path, message, "--list", whom, "--json"))
        recipients = [recipient for _, _, recipient, *_ in net.internet.accepted(0)]
        taken = dict(zip(recipients, net.internet.texts(0), strict=True))
    assert (done.code, done.document["delivered"]) == (0, 2)
    date, _, rest = (taken["s0@x.example"] or b"").partition(b"\r\n")
    assert (date[:6], rest) == (b"Date: ", given + b"\r\n")
    encoded = taken["s0@seven.example"] or b""
    assert encoded.isascii()
    body = email.message_from_bytes(encoded).get_payload(decode=True)
    assert body == given.partition(b"\r\n\r\n")[2] + b"\r\n"


def test_who_will_never_have_it(command: Command, tmp_path: Path, message: Path) -> None:
    world = (
        FAST
        + """
[[domain]]
name = "none.example"
names = "nxdomain"
[[domain]]
name = "lists.example"
subscribers = 0
"""
    )
    with small_internet(tmp_path, world) as net:
        whom = net.write_list(tmp_path / "list")
        done = command(*arguments(net, tmp_path, message, "--list", whom))
        there = [who for who in net.subscribers if "none" not in who]
        assert net.copies == dict.fromkeys([*there, "owner@lists.example"], 1)
    assert done.code == 1
    assert "delivered  5\n" in done.out
    assert "failed     1\n       1  5.1.2 " in done.out
    assert "(such as s0@none.example)" in done.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["{message}"], "a MESSAGE needs --list: its subscribers"),
        (["-", "--list", "-"], "cannot both be standard input"),
        (["--list", "{list}"], "belong to a MESSAGE"),
        ([], "{spool}: no spool to continue with"),
        (["{folder}/none", "--list", "{list}"], "{folder}/none: No such file or directory"),
        (["{folder}", "--list", "{list}"], "{folder}: Is a directory"),
        (["{message}", "--list", "{folder}/none"], "{folder}/none: No such file or directory"),
        (["{empty}", "--list", "{list}"], "{empty}: an empty message"),
        (["{nul}", "--list", "{list}"], "{nul}:3: a NUL"),
        (["{nobody}", "--list", "{list}"], "{nobody}: no From: field; hosts refuse"),
        (["{nobody}", "--list", "{list}", "--sender", "a@b"], "{nobody}: no From: field"),
        (["{two}", "--list", "{list}"], "{two}: 2 From: fields; hosts refuse"),
        (["{unnamed}", "--list", "{list}"], "neither Sender nor From: name a sender"),
        (["{message}", "--list", "{empty}"], "{empty}: no addresses in it"),
        (["{message}", "--list", "{wrong}"], "{wrong}:2: 'b.example' is no address: no @"),
        (["{message}", "--list", "{list}", "--sender", "me"], "--sender: 'me' is no address"),
        (["{message}", "--list", "{list}", "--column", "x"], "so none is called 'x'"),
        (["{message}", "--list", "{list}", "--patience", "3"], "expected a time like 10ms"),
        (["{message}", "--list", "{list}", "--set", "mail.spilt=1"], "did you mean split?"),
        (["{message}", "--list", "{list}", "--set", "mail"], "expected PATH=VALUE"),
        (
            ["{message}", "--list", "{list}", "--config", "{folder}/none"],
            "cannot read the settings",
        ),
        (
            ["{message}", "--list", "{list}", "--config", "{bad}"],
            "{bad}:2: unknown key network.prot",
        ),
        (["{message}", "--list", "{list}", "--spool", "{message}"], "is no spool of this version"),
        (["{message}", "--list", "{list}", "--spool", "{message}/x"], "expected a folder"),
        (["{message}", "--list", "{list}", "--log", "{folder}/no/log"], "No such file"),
        (["{message}", "--list", "{list}", *NO_ROOTS], "{empty}"),
    ],
)
def test_what_cannot_be_delivered(
    command: Command, tmp_path: Path, message: Path, given: list[str], said: str
) -> None:
    """One message, exit code 2, and nothing is left behind."""
    files = {
        "list": b"a@x.example\n",
        "empty": b"",
        "nul": b"From: a@x.example\n\nx\0y\n",
        "nobody": b"Subject: x\n\nhello\n",
        "two": b"FROM : a@x.example\r\nfrom:b@x.example\r\n\r\nFrom: c@x.example\r\n",
        "unnamed": b"From: us:;\n\nhello\n",
        "wrong": b"# b\nb.example\n",
        "bad": b"[network]\nprot = 25\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    names = {name: tmp_path / name for name in [*files, "spool", "message"]} | {"folder": tmp_path}
    filled = [it.format(**names) for it in given]
    spool = [] if "--spool" in filled else ["--spool", tmp_path / "spool"]
    done = command("mail", "deliver", *spool, *filled)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert said.format(**names) in done.err
    assert message.read_bytes() == TEXT


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_in_the_midst_and_taken_up_again(
    command: Command, tmp_path: Path, message: Path, how: signal.Signals
) -> None:
    with small_internet(tmp_path, SLOW, 'split = "each"') as net:
        whom = net.write_list(tmp_path / "list")
        begun = process(*arguments(net, tmp_path, message, "--list", whom, "--json"))
        assert net.internet.wait_for(100, 60) >= 100
        begun.send_signal(how)
        out, err = begun.communicate(timeout=60)
        before = len(net.internet.accepted(0))
        assert before < 500
        queued = command("mail", "queue", "--spool", tmp_path / "spool", "--json").document
        [left] = queued
        if how == signal.SIGKILL:
            assert (begun.returncode, out) == (-signal.SIGKILL, "")
        else:
            assert begun.returncode == 130
            assert f"to continue: sojourn mail deliver --spool {tmp_path / 'spool'}" in err
            document = json.loads(out)
            assert (document["delivered"], document["left"]) == (before, 1)
            assert document["interrupted"]
            assert left["left"] == 500 - before
        done = command(*arguments(net, tmp_path, "--json"))
        assert (done.code, done.err) == (0, "")
        copies = net.copies
    assert copies.keys() == set(net.subscribers)
    if how == signal.SIGKILL:
        # The last transactions of the sessions that were open, and no others.
        assert copies.total() <= 500 + 5 * 20
    else:
        assert set(copies.values()) == {1}
        assert done.document["delivered"] == 500 - before


def test_patience(command: Command, tmp_path: Path, message: Path) -> None:
    world = FAST + '[[domain]]\nname = "dead.example"\nhost = [{ personality = "refused" }]\n'
    with small_internet(tmp_path, world) as net:
        whom = net.write_list(tmp_path / "list")
        given = arguments(net, tmp_path, message, "--list", whom)
        done = command(*given, "--patience", "1s")
        assert net.copies.total() == 5
    assert done.code == 1
    assert re.search(r"delivered  5\n(.*\n)?deferred   1\n +1  4\.\d\.\d .+\n", done.out)
    assert "1 message left in the spool; to continue: sojourn mail deliver" in done.out
    queue = command("mail", "queue", "--spool", tmp_path / "spool")
    assert re.search(r"0000000001 +owner@lists\.example +1 ", queue.out)
    assert "1 message, 1 recipient left" in queue.out


def test_a_spool_in_use(command: Command, tmp_path: Path, message: Path) -> None:
    with small_internet(tmp_path, SLOW, 'split = "each"') as net:
        whom = net.write_list(tmp_path / "list")
        with process(*arguments(net, tmp_path, message, "--list", whom)) as begun:
            net.internet.wait_for(10, 60)
            refused = command(*arguments(net, tmp_path, message, "--list", whom))
            looked = command("mail", "queue", "--spool", tmp_path / "spool")
            begun.send_signal(signal.SIGTERM)
    assert refused.code == 2
    assert refused.err == f"sojourn: the spool {tmp_path}/spool is in use by another process\n"
    assert "1 message, " in looked.out


def test_thousands(command: Command, tmp_path: Path, message: Path) -> None:
    world = "".join(
        f'[[domain]]\nname = "d{n}.example"\nsubscribers = 50\nhost = [{{ round_trip = "5ms" }}]\n'
        for n in range(100)
    )
    with small_internet(tmp_path, world) as net:
        whom = net.write_list(tmp_path / "list")
        done = command(*arguments(net, tmp_path, message, "--list", whom, "--json"))
        assert done.document["delivered"] == 5000
        assert net.copies == dict.fromkeys(net.subscribers, 1)


def test_progress_on_a_terminal(tmp_path: Path, message: Path) -> None:
    with small_internet(tmp_path, SLOW, 'split = "each"') as net:
        whom = net.write_list(tmp_path / "list")
        terminal, its_end = os.openpty()
        with process(*arguments(net, tmp_path, message, "--list", whom), err=its_end) as begun:
            os.close(its_end)
            shown, end = b"", time.monotonic() + 60
            while not re.search(rb"[1-9]\d* delivered, 0 deferred, 0 failed", shown):
                assert time.monotonic() < end, shown
                if select.select([terminal], [], [], 1)[0]:
                    shown += os.read(terminal, 4096)
            begun.send_signal(signal.SIGTERM)
            begun.communicate(timeout=60)
        os.close(terminal)
        assert begun.returncode == 130


def test_no_queue(command: Command, tmp_path: Path) -> None:
    done = command("mail", "queue", "--spool", tmp_path / "none")
    assert (done.code, done.err) == (2, f"sojourn: {tmp_path}/none: no spool there\n")
    (tmp_path / "text").write_text("no database, but quite some text")
    done = command("mail", "queue", "--spool", tmp_path / "text")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is no spool" in done.err
