"""`sojourn mail fit`: what it learns of logs whose hosts are known."""

import json

import numpy as np
import pytest

from sojourn._core import Progress
from sojourn._internal.errors import InputError
from sojourn.execution import inputs
from sojourn.mail.fit import fit
from sojourn.mail.plan.logged import Logged
from sojourn.maillog import Reading

S = 10**12  # picoseconds


def line(at_s, recipient, reply, queue_id="4A5B6C7D8E"):
    """A delivery line of Postfix at a second of a day: status, delays, DSN and words."""
    status, delays, dsn, text = reply
    host = recipient.partition("@")[2]
    stamp = f"Feb 22 {at_s // 3600:02}:{at_s // 60 % 60:02}:{at_s % 60:02}"
    parts = "/".join(f"{part:.6g}" for part in delays)
    return (
        f"{stamp} lists sojourn/smtp[12]: {queue_id}: to=<{recipient}>, "
        f"relay=mx.{host}[192.0.2.1]:25, delay={sum(delays):.6g}, delays={parts}, dsn={dsn}, "
        f"status={status} ({text})\n"
    )


def learnt(tmp_path, lines):
    log = tmp_path / "mail.log"
    log.write_text("".join(sorted(lines, key=lambda line: line[:15])))
    return {peer.domain: peer for peer in fit(Reading([str(log)], year=1997)).peers}


def test_times_outages_greylists_and_unknown_users(tmp_path):
    """40 ms away, 100 ms an answer; out for an hour of ten; five minutes of greylist."""
    taken = ("sent", (0, 0.05, 0.3, 0.28), "2.0.0", "250 ok")
    out = ("deferred", (0, 0, 30, 0), "4.4.1", "connect to mx[192.0.2.1]:25: Connection refused")
    lines = [line(h * 3600, "a@near.example", taken, queue_id=f"A0000{h:X}") for h in range(11)]
    lines += [line(h * 3600, "a@out.example", taken, queue_id=f"B0000{h:X}") for h in range(11)]
    lines[11 + 4] = line(4 * 3600, "a@out.example", out, queue_id="B00004")
    grey = ("deferred", (0, 0.05, 0.3, 0.1), "4.7.1", "450 4.7.1 greylisted")
    lines += [line(100, "a@grey.example", grey, queue_id="C00001")]
    lines += [line(400, "a@grey.example", taken, queue_id="C00001")]
    gone = ("bounced", (0, 0.05, 0.3, 0.1), "5.1.1", "550 5.1.1 no such user")
    lines += [line(0, "b@near.example", gone, queue_id="A00000")]
    peers = learnt(tmp_path, lines)
    near, away, listed = (peers[f"{name}.example"] for name in ("near", "out", "grey"))
    assert near.round_trip_us == pytest.approx(40_000, rel=1e-6)
    assert near.reply_us == pytest.approx(100_000, rel=1e-6)
    assert (near.spread, near.names_us, near.down, near.unknown) == (0, 50_000, 0, 0.5)
    assert (near.subscribers, near.delivered, near.greylisting_us) == (2, 11, None)
    assert (away.down, away.outage_us, away.way) == (0.1, 3600e6, "refused")
    assert listed.greylisting_us == 300e6
    assert listed.reply_us == pytest.approx(100_000, rel=1e-6), "after a refusal too"


def test_how_answers_vary_takes_two_of_them(tmp_path):
    def took(seconds):
        return ("sent", (0, 0.05, 2 * seconds, 2 * seconds), "2.0.0", "250 ok")

    lines = [line(0, "a@once.example", took(1)), line(0, "a@twice.example", took(1), "A00001")]
    lines += [line(60, "a@twice.example", took(2), "A00002")]
    peers = learnt(tmp_path, lines)
    assert peers["once.example"].spread == 0
    # Sums of two answers, of 2 and 4 s: mean 3 s, variance 2 s^2, with n - 1 in the denominator.
    of_one = (2**0.5 / 2**0.5) / 1.5
    assert peers["twice.example"].spread == pytest.approx(np.log1p(of_one**2) ** 0.5, rel=0.01)


def test_a_log_of_greylists_has_times_too(tmp_path):
    grey = ("deferred", (0, 0.05, 0.3, 0.1), "4.7.1", "450 4.7.1 greylisted")
    taken = ("sent", (300, 0.05, 0.3, 0.28), "2.0.0", "250 ok")
    peer = learnt(
        tmp_path, [line(at_s, "a@x.example", it) for at_s, it in ((0, grey), (300, taken))]
    )
    assert peer["x.example"].round_trip_us == pytest.approx(40_000, rel=1e-6)
    assert peer["x.example"].reply_us == pytest.approx(100_000, rel=1e-6)


EXIM = (
    "2026-11-22 10:00:0{0} 1vMabc-00000001ABC-0001 => u{0}@x.example R=r T=remote_smtp"
    ' H=mx.x.example [192.0.2.1] C="250 OK"{1}\n'
)
SENDMAIL = (
    "Nov 22 10:00:0{0} mail sendmail[9]: 4AMA00aB00010{0}: to=<u{0}@x.example>, delay=00:00:09,"
    " xdelay=00:00:0{0}, mailer=esmtp, relay=mx.x.example. [192.0.2.1], dsn=2.0.0, stat=Sent\n"
)
OPENSMTPD = (
    "Nov 22 10:00:01 mail smtpd[9]: 5e6f mta delivery evpid=11aa22bb00000000 from=<o@l.example>"
    ' to=<u@x.example> rcpt=<-> source="192.0.2.9" relay="192.0.2.1 (mx.x.example)" delay=1s'
    ' result="Ok" stat="250 2.0.0 Ok"\n'
)


@pytest.mark.parametrize(
    ("mailer", "lines"),
    [
        ("exim", [EXIM.format(n, f" DT={n}s") for n in (3, 6)]),
        ("sendmail", [SENDMAIL.format(n) for n in (3, 6)]),
    ],
)
def test_a_distance_is_learnt_from_whole_attempts(tmp_path, mailer, lines):
    """Two and a half round trips to set a session up, and two to send."""
    (tmp_path / "log").write_text("".join(lines))
    found = fit(Reading([str(tmp_path / "log")], year=2026))
    (peer,) = found.peers
    assert (peer.round_trip_us, peer.reply_us, peer.names_us) == (1e6, 0, 0)
    assert peer.delivered == 2
    (note,) = found.notes
    assert note.startswith(f"lines of {mailer} tell how long an attempt took, not its parts")


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            line(0, "a@x.example", ("deferred", (0, 0, 30, 0), "4.4.1", "Connection timed out")),
            "nothing delivered",
        ),
        (EXIM.format(1, ""), r"lines of exim in it do not tell .* \+deliver_time"),
        (OPENSMTPD, "lines of opensmtpd in it do not tell how long an attempt took$"),
    ],
)
def test_a_log_without_times_of_deliveries_is_refused(tmp_path, log, said):
    with pytest.raises(InputError, match=said):
        learnt(tmp_path, [log])


def test_lines_that_cannot_be_read_are_named(command, tmp_path):
    (tmp_path / "log").write_text(SENDMAIL.format(3) + "no line of a log\n")
    said = command("mail", "fit", tmp_path / "log", "--year", 2026, "--out", tmp_path / "i.csv")
    assert f"1 of 2 lines could not be read:\n  {tmp_path / 'log'}:2:" in said.out


def test_a_log_of_several_mailers_has_the_settings_of_the_one_that_delivered_most(tmp_path):
    late = ("deferred", (0, 0, 30, 0), "4.4.1", "Connection timed out")
    lines = [line(n, "a@x.example", late).replace("sojourn/", "postfix/") for n in range(9)]
    (tmp_path / "log").write_text("".join([*lines, SENDMAIL.format(3)]))
    assert Logged.read(Reading([str(tmp_path / "log")], year=2026)).mailers() == ["sendmail"]


WORLD = """domain,subscribers,round_trip,reply,spread,names,down,outage
"""


def run(text, folder):
    case = inputs.study(text, str(folder / "study.toml"), []).cases()[0]
    return case.run(0, Progress())


def study(folder, internet, policy):
    return f"""
model = "mail"
internet = {{ kind = "listed", file = "{folder / internet}" }}
list = {{ messages = 40, arrivals = {{ kind = "regular", every = "10min" }} }}
policy = {{ {policy} }}
"""


def delays_s(outcome):
    """The delays of all that was delivered, in seconds."""
    codes, names = outcome.columns["kind"]
    sojourn = outcome.columns["sojourn_ps"][codes == names.index("delivery")]
    return sojourn[sojourn >= 0] / S


def test_another_policy_is_predicted_from_the_log_of_one(tmp_path, command):
    """40 domains, delivered by destination; learnt from that log, the 95th percentile of chunks of
    ten, one after the other, is within 15 % of what chunks take in the true world."""
    stream = np.random.default_rng(1)
    medians_ms = np.exp(stream.normal(np.log(200), 1, 40))
    lines = [
        f"d{n}.example,{3 + n % 4},40ms,{ms:.0f}ms,0.4,50ms,0,1h" for n, ms in enumerate(medians_ms)
    ]
    (tmp_path / "true.csv").write_text(WORLD + "\n".join(lines) + "\n")
    outcome = run(study(tmp_path, "true.csv", "split = 'each'"), tmp_path)
    subscribers = sum(3 + n % 4 for n in range(40))
    names = ["domain", "message", "arrived_ps", "sojourn_ps"]
    names += ["before_ps", "queued_ps", "setup_ps", "sending_ps"]
    log = []
    for place, row in enumerate(zip(*(outcome.columns[name] for name in names), strict=True)):
        domain, message, arrived, sojourn, *parts = row
        if domain >= 0 and sojourn >= 0:
            reply = ("sent", [part / S for part in parts], "2.0.0", "250 ok")
            recipient = f"u{place % subscribers}@d{domain}.example"
            log.append(line(int((arrived + sojourn) // S), recipient, reply, f"A0000{message:X}"))
    (tmp_path / "mail.log").write_text("".join(sorted(log, key=lambda line: line[:15])))
    log_file, out = tmp_path / "mail.log", tmp_path / "fitted.csv"
    result = command("mail", "fit", log_file, "--year", 1997, "--json", "--out", out)
    assert len(json.loads(result.out)["domains"]) == 40
    chunks = "split = { kind = 'chunks', size = 10 }"
    predicted, true = (
        np.percentile(delays_s(run(study(tmp_path, name, chunks), tmp_path)), 95)
        for name in ("fitted.csv", "true.csv")
    )
    assert predicted == pytest.approx(true, rel=0.15), (predicted, true)


def test_a_greylist_ends_at_a_round_time_that_the_log_allows(tmp_path):
    """Refused after 0 and 55 s, taken after 64: one minute; not before 61 s: not that."""
    grey = ("deferred", (0, 0.05, 0.3, 0.1), "4.7.1", "450 4.7.1 greylisted")
    taken = ("sent", (0, 0.05, 0.3, 0.28), "2.0.0", "250 ok")

    def tried(who, *times_s):
        *refused, last = times_s
        replies = [*((at, grey) for at in refused), (last, taken)]
        return [
            line(at, f"a@{who}.example", reply, queue_id=f"C0000{len(who)}")
            for at, reply in replies
        ]

    lines = [*tried("minute", 0, 55, 64), *tried("other", 0, 61, 64), *tried("short", 0, 7)]
    lines += [
        *tried("near", 0),
        line(0, "a@still.example", grey),
        line(70, "a@still.example", grey),
    ]
    peers = learnt(tmp_path, lines)
    assert peers["minute.example"].greylisting_us == 60e6
    assert peers["other.example"].greylisting_us == 64e6
    assert peers["short.example"].greylisting_us == 7e6
    assert peers["still.example"].greylisting_us == 120e6, "not seen to end"


def test_name_servers_that_fail_keep_no_session_waiting(tmp_path):
    taken = ("sent", (0, 0.05, 0.3, 0.28), "2.0.0", "250 ok")
    lost = ("deferred", (0.3, 0, 0, 0), "4.4.3", "the name servers answer: Server Failure")
    peers = learnt(tmp_path, [line(0, "a@x.example", taken), line(0, "a@lost.example", lost)])
    assert (peers["lost.example"].down, peers["lost.example"].way) == (1, "refused")


def test_a_wait_for_a_slot_is_no_time_of_names(tmp_path):
    """Two slots, six domains whose sessions take 2 s each: whoever comes later waited longer."""
    lines = [
        line(2 * turn + 2, f"a@d{slot}{turn}.example", ("sent", (0, wait, 1, 1), "2.0.0", "ok"))
        for turn, wait in enumerate((0.05, 2.05, 4.05))
        for slot in "ab"
    ]
    peers = learnt(tmp_path, lines)
    assert all(peer.names_us == pytest.approx(50_000) for peer in peers.values())


def test_a_slot_is_busy_until_its_session_has_quit(tmp_path):
    """Three slots: a set-up takes 2.5 s, a message 1.5 s, and 1 s for QUIT stands in no log."""
    lines = [
        line(5 * turn + 4, f"a@d{slot}{turn}.example", ("sent", (0, wait, 2.5, 1.5), "2.0.0", "ok"))
        for turn, wait in enumerate(5 * turn + 0.05 for turn in range(8))
        for slot in "abc"
    ]
    peers = learnt(tmp_path, lines)
    assert {peer.names_us for peer in peers.values()} == {50_000}


def test_waits_of_sessions_without_a_limit_are_those_of_names(tmp_path):
    """A burst to forty domains whose name servers take up to 3 s: none waits for a slot."""
    lines = [
        line(at + 4, f"a@d{n}.example", ("sent", (0, at + 0.05, 2.5, 1.5), "2.0.0", "ok"))
        for n, at in enumerate([0] * 20 + [1] * 10 + [3] * 10)
    ]
    peers = learnt(tmp_path, lines)
    names = [peers[f"d{n}.example"].names_us for n in (0, 20, 30)]
    assert names == pytest.approx([50_000, 1_050_000, 3_050_000])
