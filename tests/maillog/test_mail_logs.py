"""Delivery logs read: the paper's tables, every way a log can come, and bad input."""

import bz2
import gzip
import lzma
import math
import os
import shutil
from io import BufferedReader, BytesIO, TextIOWrapper

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mail_logs
from sojourn import maillog as logs
from sojourn._core import MailLog
from sojourn.maillog import histograms


@pytest.fixture
def postfix(tmp_path):
    path = tmp_path / "mail.log"
    path.write_text(mail_logs.POSTFIX)
    os.utime(path, (1795400000, 1795400000))  # November 2026
    return path


@pytest.mark.parametrize(
    ("figure", "totals"),
    [
        (mail_logs.FIGURE_3, ((3062, 4364), (7148, 7148))),
        (mail_logs.FIGURE_4, ((145520, 145558), (6311, 6751))),
    ],
    ids=["figure 3", "figure 4"],
)
def test_the_tables_of_the_paper(command, tmp_path, figure, totals):
    log = tmp_path / "maillog"
    log.write_text("".join(mail_logs.mailstat_log(figure)))
    result = command("mail", "stats", log, "--year", 1997)
    lines = result.out.splitlines()
    rows = [(f"Feb 22 {hour:02}", *counts) for hour, *counts in figure]
    expected = [
        f"{name:<10}{f[0]:>10}/{f[1]:>9}   {d[0]:>10}/{d[1]:>9}"
        for name, f, d in [*rows, ("Totals", *totals)]
    ]
    assert lines[0].startswith("mailstat: Sat Feb 22 ")
    assert lines[4 : 4 + len(expected)] == expected
    document = command("mail", "stats", log, "--year", 1997, "--json").document
    keys = ("failed_hosts", "failed_recipients", "delivered_hosts", "delivered_recipients")
    assert [(row["hour"][:13], *(row[key] for key in keys)) for row in document["hours"]] == [
        (f"1997-02-22T{hour:02}", *failed, *delivered) for hour, failed, delivered in figure
    ]
    assert tuple(document["totals"][key] for key in keys) == (*totals[0], *totals[1])
    assert document["log"]["malformed"] == 0


def test_what_is_counted(command, postfix):
    document = command("mail", "stats", postfix, "--json").document
    log = document["log"]
    counts = [log[name] for name in ("lines", "used", "passed", "malformed", "open")]
    assert counts == [8, 6, 1, 1, 1]
    (problem,) = log["problems"]
    assert (problem["line"], problem["text"]) == (7, "rubbish")
    hours = [
        (row["hour"], row["arrived"], row["delivered_recipients"], row["deferred_hosts"])
        for row in document["hours"]
    ]
    assert hours == [
        ("2026-11-21T23:00:00.000", 1, 2, 0),
        ("2026-11-22T00:00:00.000", 0, 0, 1),
        ("2026-11-22T01:00:00.000", 0, 0, 1),
    ]
    ages = {row["name"]: row["failed_recipients"] for row in document["ages"]}
    assert ages == {"below 60 s": 1, "60 min to 4 h": 1}
    x, y = document["domains"]
    assert (x["name"], x["delivered_hosts"], x["delivered_recipients"]) == ("x.example", 1, 2)
    assert x["delay"]["n"] == 2
    # what a log has rounded comes out as it stands there
    assert x["delay"]["p50_s"] == 1.2
    assert x["attempt"]["p99_s"] == 1.0
    assert y["attempt_in_vain"]["p50_s"] == 30.0
    assert y["delay"] == {"n": 0, "p50_s": None, "p90_s": None, "p99_s": None}


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60), st.floats(0, 100))
def test_percentiles_are_near(times, wanted):
    """Against the times themselves, by a log of Exim's with a line for each."""
    line = "2026-11-22 10:00:00 1tEabc-0000AB-CD => a@x R=r T=t DT={}.{:06}s\n"
    log = MailLog.tally(1)
    log.begin("log", 0)
    log.feed("".join(line.format(*divmod(time, 10**6)) for time in times).encode())
    (found,) = histograms.by_row(log, "times_of_domains")[0, histograms.TOOK].percentiles([wanted])
    rank = max(math.ceil(wanted / 100 * len(times)), 1)
    exact = sorted(times)[rank - 1]
    assert abs(found - exact) <= exact / 128


def test_tables_for_people(command, postfix):
    out = command("mail", "stats", postfix, "--by", "domain", "--by", "age", "--top", 1).out
    assert "x.example" in out
    assert "1 domain more (--top)" in out
    assert "1 of 8 lines could not be read:" in out
    assert f"{postfix}:7: no stamp" in out
    assert "MMM DD HH" not in out


def test_a_time_of_the_log(command, postfix):
    def attempts(*options):
        totals = command("mail", "stats", postfix, "--json", *options).document["totals"]
        return totals["delivered_recipients"], totals["deferred_recipients"]

    assert attempts("--since", "2026-11-22") == (0, 2)
    assert attempts("--until", "2026-11-22T00:30") == (2, 1)
    assert attempts("--since", "2026-11-22 00:30", "--until", "2026-11-22 01:00") == (0, 0)


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_packed_and_from_standard_input(command, postfix, monkeypatch, pack):
    plain = command("mail", "trace", "a@x.example", postfix, "--json").document
    packed = postfix.with_suffix(".packed")
    packed.write_bytes(pack(postfix.read_bytes()))
    shutil.copystat(postfix, packed)
    assert (
        command("mail", "trace", "a@x.example", packed, "--json").document["copies"]
        == (plain["copies"])
    )
    stdin = TextIOWrapper(BufferedReader(BytesIO(packed.read_bytes())))
    monkeypatch.setattr("sys.stdin", stdin)
    document = command("mail", "trace", "a@x.example", "-", "--year", 2026, "--json").document
    assert document["copies"] == plain["copies"]


def test_rotated_logs_may_be_given_in_any_order(command, postfix, tmp_path):
    lines = mail_logs.POSTFIX.splitlines(keepends=True)
    parts = [tmp_path / f"mail.log.{place}" for place in range(3)]
    for place, part in enumerate(parts):
        part.write_text("".join(lines[3 * place : 3 * place + 3]))
        shutil.copystat(postfix, part)
    whole = command("mail", "stats", postfix, "--json").document
    split = command("mail", "stats", parts[1], parts[2], parts[0], "--json").document
    assert split.pop("log")["lines"] == whole.pop("log")["lines"]
    assert split == whole


def test_a_new_year(command, tmp_path):
    log = tmp_path / "maillog"
    line = "{} mx postfix/smtp[1]: AAAAAA1: to=<a@x>, relay=none, dsn=4.0.0, status=deferred (x)\n"
    log.write_text(line.format("Dec 31 23:59:59") + line.format("Jan  1 00:00:00"))
    document = command("mail", "stats", log, "--year", 1999, "--json").document
    hours = [row["hour"][:13] for row in document["hours"]]
    assert hours == ["1999-12-31T23", "2000-01-01T00"]


def test_attempts_as_a_table(postfix):
    (table,) = logs.attempts(logs.Reading([str(postfix)]))
    assert table.num_rows == 4
    first, second, third, _ = table.to_pylist()
    assert first["took_us"] == 1_000_000
    assert [first[f"{part}_us"] for part in ("before", "queued", "connecting", "sending")] == [
        100_000,
        100_000,
        400_000,
        600_000,
    ]
    assert (second["leads"], second["original"], third["relay"]) == (0, "b@old.example", "")
    assert third["at_us"] - third["accepted_us"] == 30_000_000
    assert third["text"] == "connect to mx.y.example[192.0.2.2]:25: Connection timed out"


@pytest.mark.parametrize(
    "case",
    [
        (["stats", "missing.log"], "missing.log: No such file or directory"),
        (["stats", "."], ".: Is a directory"),
        (["stats", "LOG", "--format", "postfx"], "did you mean 'postfix'?"),
        (["stats", "LOG", "--since", "yesterday"], "--since 'yesterday': expected a time"),
        (["stats", "LOG", "--until", "2026-11-22T00:00+01:00"], "of the log's own clock"),
        (["stats", "LOG", "--percentiles", "50,101"], "percentile 101: expected 0 to 100"),
        (["stats", "-", "-"], "standard input can be read once"),
        (["stats", "LOG", "--by", "hours"], "did you mean 'hour'?"),
        (["batch", "LOG", "--day", "22.11.2026"], "expected a day like 2026-11-22"),
        (["batch", "LOG", "--day", "2026-11-22", "--since", "1h"], "as --since and --until do"),
        (["batch", "LOG", "-o", "batch.gif"], "a picture is one of .png, .svg"),
        (["batch", "LOG", "--day", "2001-01-01", "-o", "x.png"], "there is nothing to draw"),
        (["watch", "LOG", "--json"], "give --count or --replay"),
        (["watch", "LOG", "LOG"], "one log is watched at a time"),
        (["trace", "a", "LOG"], "expected an address"),
        (["test", "localhost:x", "--to", "a@b"], "expected HOST or HOST:PORT"),
        (["test", "localhost", "--to", "a"], "expected an address"),
        (["test", "localhost", "--to", "a@b", "--size", "5"], "expected a size"),
    ],
)
def test_bad_input_has_one_message(command, postfix, tmp_path, monkeypatch, case):
    options, said = case
    monkeypatch.chdir(tmp_path)
    result = command("mail", *(str(postfix) if it == "LOG" else it for it in options))
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.count("\n") == 1
    assert not list(tmp_path.glob("*.png"))


def test_what_is_no_log(command, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("one\ntwo\n")
    result = command("mail", "stats", path)
    assert result.code == 2
    assert f"{path}:1: no stamp" in result.err
    for pack in (gzip.compress, zstd):
        path.write_bytes(pack(b"x" * 1000)[:-4])
        result = command("mail", "late", path)
        assert result.code == 2
        assert "packed, and damaged" in result.err


def test_a_log_without_mail(command, tmp_path):
    path = tmp_path / "auth.log"
    path.write_text("Nov 22 00:10:28 mx sshd[1]: hello\n")
    result = command("mail", "stats", path)
    assert result.code == 0
    assert "no line is about mail" in result.out


UNREAD = "Nov 22 10:00:00 mx mailer[1]: 4F2A13C0D1: to=<a@x>, stat=Sent"
HOP = (
    "Nov 22 10:00:00 mx postfix/smtp[1]: 4F2A13C0D1: to=<a@x>, relay=127.0.0.1[127.0.0.1]:10024, "
    "delay=1, dsn=2.0.0, status=sent (250 Ok: queued as 4F2A13C0D2)"
)


EARLY = (
    "2026-11-22 10:00:00 1tivSh-00000000ALP-0mWt == a@x R=r T=t defer (-53): retry time not reached"
)


def test_what_is_not_counted_is_told(command, tmp_path):
    log = tmp_path / "mail.log"
    log.write_text(f"{UNREAD}\n{HOP}\n{EARLY}\n")
    result = command("mail", "stats", log)
    assert "1 lines look like deliveries and were not read, the first:" in result.out
    assert f"{log}:1: {UNREAD}" in result.out
    assert "1 recipients were handed to a queue of the same machine" in result.out
    document = command("mail", "stats", log, "--json").document
    counts = [document["log"][name] for name in ("unread", "passed_on", "put_off")]
    assert counts == [1, 1, 1]
    assert "1 times a recipient was put off untried" in result.out
    assert document["totals"]["delivered_recipients"] == 0


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("@400000004f1b7c6b0d3e4a5c starting delivery 5: msg 12 to remote a@x", "qmail"),
        ("2026-11-22T10:00:00.000Z [INFO] [A.1] [outbound] delivered file=x host=y", "Haraka"),
        ("#Software: Microsoft Exchange Server\n#Version: 15.0.0.0", "Exchange"),
        ("Nov 22 10:00:00 2026 (9) <1@x> smtp to l for 3 recips, completed in 2 s", "Mailman"),
    ],
)
def test_a_log_that_is_not_read_is_refused_by_name(command, tmp_path, line, name):
    log = tmp_path / "mail.log"
    log.write_text(f"{line}\nNov 22 10:00:00 mx sshd[1]: hello\n")
    result = command("mail", "stats", log)
    assert result.code == 2
    assert f"{log}:1: " in result.err
    assert name in result.err
