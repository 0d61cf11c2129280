"""A plan says first whether the model explains the log; if not, why, and there is no plan."""

from pathlib import Path

import pytest

import sojourn
from smallnet import small_internet
from sojourn._internal.errors import InputError
from sojourn.mail.plan.logged import Logged
from sojourn.maillog import Reading
from sojourn.maillog.times import moment_us

pytestmark = pytest.mark.alone

DOMAINS = 40
WORLD = "".join(
    f"[[domain]]\nname = 'd{i}.example'\nsubscribers = {1 + i % 4}\n"
    f"host = [{{ round_trip = '{20 + 10 * (i % 5)}ms' }}]\n"
    for i in range(DOMAINS)
)
LINE = (
    "Nov 22 10:{minute:02}:{second:02} h postfix/smtp[7]: 4F2A13C0D{id}: to=<s@d{id}.example>, "
    "relay=mx[192.0.2.{id}]:25, delay={delay}, delays={before}/0/0.3/0.2, dsn={dsn}, "
    "status={status} (so)\n"
)


@pytest.fixture
def deliver(command, tmp_path):
    """Delivers with two sessions; the log of our own server and its settings."""
    with small_internet(tmp_path, WORLD, "order = 'list'\nlimits = { sessions = 2 }") as net:
        text = tmp_path / "m.eml"
        text.write_bytes(b"From: o <o@lists.example>\r\nMessage-ID: <1@lists.example>\r\n\r\nx\r\n")
        whom = net.write_list(tmp_path / "list")

        def delivered(nth=0):
            log = tmp_path / f"{nth}.log"
            given = ("--config", net.settings, "--spool", tmp_path / f"{nth}.spool", "--log", log)
            done = command("mail", "deliver", text, "--list", whom, *given)
            assert done.code == 0, done.err
            return log, net.settings

        yield delivered


@pytest.fixture
def log(deliver):
    """A log and its settings."""
    return deliver()


def explained(deliver, asked):
    """The first answer with exit code 0: a busy machine delays deliveries, one of three counts."""
    for nth in range(3):
        log, settings = deliver(nth)
        done = asked(log, settings)
        if done.code == 0:
            break
    assert done.code == 0, done.out + done.err
    return log, settings, done


def test_the_model_with_the_same_settings_explains_the_log(command, tmp_path, deliver):
    given = ("--replications", 2, "--out", tmp_path / "plan", "--config")

    def asked(log, settings):
        return command("mail", "plan", log, *given, settings, "--json")

    log, settings, done = explained(deliver, asked)
    found = done.document["as_logged"]
    assert found["explained"]
    assert found["reasons"] == []
    assert found["log"]["deliveries"] == 100
    # The log's own messages are the list, so the second row is what there is now.
    assert done.document["now"]["predicted"]["p95_s"] == found["model"]["p95_s"]
    shown = command("mail", "plan", log, *given, settings).out
    rows = [line.split()[0] for line in shown.splitlines() if line.startswith((" as ", " model "))]
    assert rows == ["as", "model"]
    assert f"settings now: {settings}" in shown
    study = tmp_path / "plan" / "study.toml"
    assert command("run", study, "--out", tmp_path / "run").code == 0


def test_what_gains_no_more_than_the_interval_is_not_advised(command, tmp_path):
    """A server that is set as planned is left as it is, although fewer sessions would do."""
    world = tmp_path / "world.csv"
    world.write_text(
        "domain,subscribers,reply,down\na.example,30,50ms,0\nb.example,9,100ms,0\nc.example,1,0s,1\n"
    )
    now = tmp_path / "now.toml"
    now.write_text(
        '[mail]\nhello = "x.example"\nsplit = "whole"\norder = "list"\ntimeouts = "rfc5321"\n'
    )
    given = ("--replications", 2, "--out", tmp_path / "plan", "--json", "--config")
    first = command("mail", "plan", world, *given, now).document
    assert "split" in {one["part"] for one in first["advice"]}
    assert "limits.sessions" not in {one["part"] for one in first["advice"]}
    again = command("mail", "plan", world, *given, tmp_path / "plan" / "settings.toml").document
    assert (again["advice"], again["steps"]) == ([], [])
    assert again["tried"] > 10


def test_a_model_with_other_settings_does_not(command, tmp_path, log):
    log, settings = log
    other = tmp_path / "other.toml"
    other.write_text(settings.read_text().replace("sessions = 2", "sessions = 20"))
    given = ("--config", other, "--replications", 2, "--out", tmp_path / "plan")
    former = [tmp_path / "plan" / name for name in ("study.toml", "settings.toml")]
    (tmp_path / "plan").mkdir()
    for path in former:
        path.write_text("of a former plan")
    done = command("mail", "plan", log, *given, "--json")
    assert done.code == 1
    found = done.document
    assert [*found] == ["as_logged"]
    assert not found["as_logged"]["explained"]
    assert not any(path.exists() for path in former)
    assert not any(it.startswith("0 %") for it in found["as_logged"]["reasons"])
    assert any("th percentile is" in it for it in found["as_logged"]["reasons"])
    said = command("mail", "plan", log, *given)
    assert said.code == 1
    assert "the model cannot explain this log:" in said.out
    assert f"the settings of the model: {other}" in said.out
    assert "plan" not in {line.split()[0] for line in said.out.splitlines() if line.strip()}


def test_fit_says_whether_it_explains_the_log(command, tmp_path, deliver):
    out = ("--out", tmp_path / "internet.csv", "--json")

    def asked(log, settings):
        return command("mail", "fit", log, "--config", settings, *out)

    log, _, done = explained(deliver, asked)
    assert done.document["as_logged"]["explained"]
    done = command("mail", "fit", log, "--mailer", "postfix", *out)
    assert (done.code, done.document["as_logged"]["explained"]) == (1, False)
    assert len(done.document["domains"]) == DOMAINS
    assert "as_logged" not in command("mail", "fit", log, *out).document


def logged(path: Path, *lines: str) -> Logged:
    path.write_text("".join(lines))
    return Logged.read(Reading([str(path)], year=2026))


def line(id_: int, minute: int, delay: float, before: float = 0, *, sent: bool = True) -> str:
    dsn, status = ("2.0.0", "sent") if sent else ("4.7.1", "deferred")
    return LINE.format(
        id=id_, minute=minute, second=0, delay=delay, before=before, dsn=dsn, status=status
    )


def test_the_log_is_of_messages_that_came_in_it(tmp_path):
    """One from an hour before is left out; one that was refused counts from its acceptance on."""
    found = logged(
        tmp_path / "log",
        line(1, 1, 0.5),
        line(2, 1, 3600.5, 3600),
        line(3, 1, 0.5, sent=False),
        line(3, 6, 300.5, 300),
    )
    assert found.left_out.startswith("1 recipients are left out")
    assert len(found.copies) == 2
    assert sorted(found.delays_s) == [0.5, 300.5]
    burst = found.burst(tmp_path)
    rows = (tmp_path / "messages.csv").read_text().splitlines()[1:]
    assert [row.split(",")[3:] for row in rows] == [["d1.example", "0"], ["d3.example", "0"]]
    assert burst["messages"] == 2
    assert found.mailers() == ["postfix"]


ACCEPTED = "Nov 22 10:{:02}:00 h postfix/cleanup[2]: 4F2A13C0D{}: message-id=<m@l.example>\n"


@pytest.mark.parametrize(
    ("head", "since", "kept"),
    [
        ("", "2026-11-22 10:00:30", ["4F2A13C0D2"]),
        (ACCEPTED.format(0, 1), "2026-11-22 10:00:30", ["4F2A13C0D2"]),
        (ACCEPTED.format(0, 1), None, ["4F2A13C0D1", "4F2A13C0D2"]),
        ("", None, ["4F2A13C0D2"]),
    ],
)
def test_a_mailing_whose_start_is_missing_is_left_out(tmp_path, head, since, kept):
    """Two messages, of 10:00 and 10:02: earlier deliveries of the first may be missing."""
    log = tmp_path / "log"
    later = [ACCEPTED.format(2, 2), line(2, 3, 60.5, 60)]
    log.write_text("".join([head, line(1, 1, 60, 59.5), *later]))
    since_us = moment_us("--since", since)
    found = Logged.read(Reading([str(log)], year=2026, since_us=since_us))
    assert [copy.message for copy in found.copies] == kept
    assert bool(found.left_out) == (len(kept) == 1)
    assert found.burst(tmp_path)["messages"] == len(kept)
    if head and since:
        until = Reading([str(log)], year=2026, since_us=since_us, until_us=found.last_us)
        with pytest.raises(InputError, match="delivered, 1 recipients are left out: accepted"):
            Logged.read(until).burst(tmp_path)


def test_a_log_without_settings_has_those_of_its_mailer(command, tmp_path):
    log = tmp_path / "log"
    log.write_text("".join(line(id_, 1, 0.5) for id_ in range(1, 10)))
    former = tmp_path / "plan" / "settings.toml"
    former.parent.mkdir()
    former.write_text("of sojourn's own server")
    done = command("mail", "plan", log, "--year", 2026, "--out", tmp_path / "plan")
    assert done.code == 0, done.out + done.err
    assert "settings now: the defaults of Postfix 3.7 (--mailer names yours)" in done.out
    assert [former.exists(), (tmp_path / "plan" / "study.toml").exists()] == [False, True]


def test_listed_messages_go_to_their_recipients(tmp_path):
    (tmp_path / "world.csv").write_text("domain,subscribers\na.example,2\nb.example,1\n")
    (tmp_path / "messages.csv").write_text(
        "message,at,size,domain,subscriber\n1,0s,5KB,b.example,0\n1,0s,5KB,a.example,1\n"
        "2,60s,7KB,a.example,0\n"
    )
    study = tmp_path / "study.toml"
    study.write_text(
        'model = "mail"\ninternet = { kind = "listed", file = "world.csv" }\n'
        '[list]\nmessages = 2\narrivals = { kind = "listed", file = "messages.csv" }\n'
    )
    rows = sojourn.run(study).rows.to_pandas()
    deliveries = rows.query("kind == 'delivery'")
    assert deliveries["domain"].tolist() == [1, 0, 0]
    assert deliveries["size_bytes"].tolist() == [5000, 5000, 7000]
    assert deliveries["message"].tolist() == [0, 0, 1]
    assert (deliveries["arrived_ps"] // 10**12).tolist() == [0, 0, 60]
    assert (deliveries["sojourn_ps"] > 0).all()
    assert len(rows.query("kind == 'message'")) == 2
