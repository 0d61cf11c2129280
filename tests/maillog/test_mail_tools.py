"""The paper's tools on logs: batchstat, realstat, latedudes, the trace of a recipient, mailtest."""

import os
import socket
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mail_logs
from sojourn.mail.tools import batch, watch
from sojourn.maillog import Reading


@pytest.fixture
def postfix(tmp_path):
    path = tmp_path / "mail.log"
    path.write_text(mail_logs.POSTFIX)
    os.utime(path, (1795400000, 1795400000))  # November 2026
    return path


def test_realstat_is_figure_2(command, tmp_path):
    log = tmp_path / "maillog"
    log.write_text("".join(mail_logs.realstat_log()))
    result = command("mail", "watch", "--replay", log, "--year", 1997)
    assert [" ".join(line.split()).replace("/ ", "/") for line in result.out.splitlines()] == [
        *mail_logs.FIGURE_2
    ]
    first, second, *_ = command("mail", "watch", "--replay", log, "--year", 1997, "--json").document
    assert second == {
        "at": "1997-02-22T09:00:15.000",
        "interval_s": 15,
        "delivered": 4,
        "failed": 0,
        "attempted": 4,
        "delivered_per_hour": 960,
    }
    assert first["delivered_per_hour"] == 480


def test_long_bars_end():
    tick = watch.Tick(at_us=0, interval_s=15, delivered=10_000, failed=4)
    assert tick.line(10) == f" 0:00:00   2400000/  10000  {'*' * 60}>"
    assert tick.line(10_000).endswith("/  10000  *")


class Steps(watch.Clock):
    """A clock that goes on when somebody waits, and does what was planned before that."""

    def __init__(self, *plan):
        self.time, self.plan = 1_000_000.0, list(plan)
        super().__init__(now=lambda: self.time, wait=self.waited)

    def waited(self, seconds):
        if self.plan:
            self.plan.pop(0)()
        self.time += seconds


def test_a_log_that_grows_is_rotated_and_cut_off(postfix):
    sent, *_, late = mail_logs.POSTFIX.splitlines(keepends=True)[2:]

    def append(text):
        def act():
            with postfix.open("a") as file:
                file.write(text)

        return act

    def rotate():
        postfix.rename(postfix.with_suffix(".1"))

    def last_of_the_old():
        with postfix.with_suffix(".1").open("a") as file:
            file.write(late)

    def cut_off():
        postfix.write_text(sent)

    clock = Steps(
        append(sent[:50]),
        append(sent[50:] + late),
        rotate,
        last_of_the_old,
        lambda: postfix.write_text(sent * 5),
        lambda: None,
        lambda: None,
        cut_off,
        lambda: None,
        append(late),
    )
    ticks = watch.live(Reading([str(postfix)]), 2, clock)
    # what was there before is not counted; a look waits half a second, a line is of two seconds
    found = [(tick.delivered, tick.failed) for tick in islice(ticks, 5)]
    assert np.sum(found, axis=0).tolist() == [7, 3]
    assert found[0] == (1, 1)


def test_a_packed_log_does_not_grow(command, tmp_path):
    path = tmp_path / "mail.log.gz"
    path.write_bytes(b"\x1f\x8b\x08\0")
    result = command("mail", "watch", path)
    assert result.code == 2
    assert "--replay reads it" in result.err


def test_standard_input_is_watched_until_it_ends():
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "mail", "watch", "-", "--interval", "3600s"],
        input=mail_logs.POSTFIX,
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert line.split()[1:] == ["2/", "2"]


def test_latedudes(command, postfix):
    document = command("mail", "late", postfix, "--json").document
    assert document["waiting"] == 1
    assert document["recipients"] == [
        {
            "recipient": "c@y.example",
            "messages": 1,
            "attempts": 2,
            "host": "",
            "error": "connect to mx.y.example[192.0.2.2]:25: Connection timed out",
            "since": "2026-11-21T23:59:58.000",
            "last": "2026-11-22T01:10:28.000",
            "open": None,
            "next": None,
        }
    ]
    out = command("mail", "late", postfix).out
    assert "c@y.example" in out
    assert "70 min" in out
    assert "1 waiting, for 1 recipient" in out


def test_stragglers_with_the_most_messages_come_last(command, tmp_path):
    log = tmp_path / "mail.log"
    line = "Nov 22 10:00:00 mx postfix/smtp[1]: {:07}: to=<{}@x>, dsn=4.0.0, status=deferred (x)\n"
    names = ["a"] * 3 + ["b"] + ["c"] * 2
    log.write_text("".join(line.format(number, name) for number, name in enumerate(names)))
    document = command("mail", "late", log, "--json").document
    found = [(one["messages"], one["recipient"]) for one in document["recipients"]]
    assert found == [(1, "b@x"), (2, "c@x"), (3, "a@x")]


def test_a_trace(command, postfix):
    document = command("mail", "trace", "C@Y.example", postfix, "--json").document
    (copy,) = document["copies"]
    assert (document["delivered"], document["deferred"], copy["state"]) == (0, 1, "deferred")
    assert (copy["sender"], copy["message_id"]) == ("o@lists.example", "1@lists.example")
    assert [one["at"] for one in copy["attempts"]] == [
        "2026-11-22T00:00:28.000",
        "2026-11-22T01:10:28.000",
    ]
    out = command("mail", "trace", "b@old.example", postfix).out
    assert "b@old.example is b@x.example" in out
    assert "1 message to b@old.example: 1 delivered" in out
    everybody = command("mail", "trace", "@x.example", postfix, "--json").document
    assert len(everybody["copies"]) == 2
    nothing = command("mail", "trace", "z@x.example", postfix)
    assert (nothing.code, "nothing about z@x.example" in nothing.out) == (1, True)


def test_batchstat(command, tmp_path, postfix):
    picture = tmp_path / "out" / "batch.svg"
    result = command("mail", "batch", postfix, "--day", "2026-11-21", "-o", picture, "--json")
    document = result.document
    assert (document["arrived"], document["delivered"], document["failed"]) == (1, 2, 0)
    (minute,) = document["intervals"]
    assert minute == {
        "start": "2026-11-21T23:59:00.000",
        "arrived": 1,
        "delivered": 2,
        "failed": 0,
        "delivered_per_hour": 120.0,
        "delivered_so_far": 2,
    }
    first = picture.read_bytes()
    assert b"<svg" in first
    command("mail", "batch", postfix, "--day", "2026-11-21", "-o", picture)
    assert picture.read_bytes() == first
    last_day = command("mail", "batch", postfix, "-o", tmp_path / "last.png", "--json").document
    assert last_day["since"] == "2026-11-22T00:00:00.000"
    assert last_day["failed"] == 2
    assert (document["delivered_earlier"], last_day["delivered_earlier"]) == (0, 2)
    shown = command("mail", "batch", postfix, "-o", tmp_path / "last.png").out
    assert "2 delivered on earlier days: --day" in shown


def test_a_picture_shows_the_part_of_a_day_in_which_all_happened(postfix):
    of_a_day = batch.batch(Reading([str(postfix)]), 10**6)
    near = batch.near(of_a_day)
    assert of_a_day.until_us - of_a_day.since_us == batch.DAY_US
    first, last = int(near.start_us[0]), int(near.start_us[-1])
    assert 0 <= first - near.since_us < batch.MINUTE_US
    assert 0 < near.until_us - last <= batch.MINUTE_US
    assert batch.near(near) == near


@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 60)), max_size=40),
    st.integers(0, 30),
)
def test_bars_for_arrivals_stand_apart(arrivals, away):
    at = np.array(sorted({time for time, _ in arrivals}), dtype=np.int64)
    number = np.array([many for _, many in arrivals][: at.size], dtype=np.int64)
    columns, depth = batch.spread(at, number, step_us=1.0, away_us=away)
    assert (np.diff(columns) > 0).all()
    assert depth.sum() == number.sum()
    assert (depth >= 1).all()
    # as far as it may, each stands where it belongs
    ends = np.repeat(columns, depth)
    times = np.repeat(at, number)
    assert (ends - times <= away).all()


INTERNET = """\
[[domain]]
name = "near.example"
host = [{ round_trip = "20ms" }]
[[domain]]
name = "nobody.example"
host = [{ personality = { kind = "unknown-users", share = 1.0 }, pipelining = false }]
"""


@pytest.fixture
def internet():
    """Two mail servers: 127.64.0.1 takes all mail, 127.64.1.1 knows nobody."""
    server = pytest.importorskip("sojourn._mail")
    internet = server.TestNetConfig.parse(INTERNET, "internet.toml", []).start()
    yield internet
    internet.stop()


def test_mailtest(command, internet):
    host = f"127.64.0.1:{internet.smtp_port}"
    to = ["--to", "s0@near.example", "--messages", 3]
    document = command("mail", "test", host, *to, "--json").document
    # round trips of 20 ms that each way cannot do without: the greeting comes after two
    least = {
        ("new", False): 2 + len(["EHLO", "MAIL", "RCPT", "DATA", "."]),
        ("kept", False): len(["MAIL", "RCPT", "DATA", "."]),
        ("new", True): 2 + len(["EHLO", "DATA", "."]),
        ("kept", True): len(["DATA", "."]),
    }
    ways = {(way["connection"], way["pipelining"]): way for way in document["ways"]}
    assert ways.keys() == least.keys()
    for way, trips in least.items():
        found = ways[way]
        assert found["messages"] == 3
        assert found["messages_per_hour"] == pytest.approx(3_600_000 / found["mean_ms"])
        assert 20 * trips <= found["min_ms"] <= found["p50_ms"] <= found["max_ms"]
    accepted = internet.accepted(0)
    assert len(accepted) == 3 * 4
    assert {recipient for _, _, recipient, *_ in accepted} == {"s0@near.example"}
    # a connection for each message, and one for all, with and without pipelining
    assert len({session for *_, session, _, _ in accepted}) == 2 * (3 + 1)
    assert "messages an hour" in command("mail", "test", host, *to).out


def test_mailtest_is_refused(command, internet):
    host = f"127.64.1.1:{internet.smtp_port}"
    result = command("mail", "test", host, "--to", "s0@nobody.example")
    assert result.code == 2
    assert result.err == f"sojourn: {host}: refused: 550 5.1.1 No such user\n"
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    result = command("mail", "test", f"127.0.0.1:{port}", "--to", "a@b.example")
    assert result.code == 2
    assert result.err == f"sojourn: 127.0.0.1:{port}: Connection refused\n"
