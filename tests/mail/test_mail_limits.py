"""Limits of providers and greylists, told apart in logs; and what a plan makes of them."""

import csv
from pathlib import Path

import numpy as np
import pytest

from smallnet import small_internet
from sojourn._core import Progress
from sojourn._internal.errors import InputError
from sojourn._mail import MailSettings
from sojourn.mail.fit import Fitted, fit
from sojourn.mail.plan import world as worlds
from sojourn.mail.plan.causes import explain
from sojourn.mail.plan.policy import resolved, settings
from sojourn.mail.plan.predict import Scenario
from sojourn.mail.plan.search import Limits, Search
from sojourn.maillog import Reading

S = 10**12  # picoseconds
HEAD = "2026-11-20T09:{:02}:{:09.6f}+00:00 mx postfix/smtp[{}]: {}: "
GMAIL = (
    "421-4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP"
    " address. To protect our users from spam, mail sent from your IP address has been temporarily"
    " rate limited. (in reply to end of DATA command)"
)
OUTLOOK = (
    "451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP"
    " reputation. (in reply to MAIL FROM command)"
)


def line(at_s, recipient, relay, reply=None, *, message="4F2A13C0D1", process=101):
    """A line of Postfix: `reply` is a refusal, with the status behind its code; None is sent."""
    minute, second = divmod(at_s, 60)
    host = f"{relay}[192.0.2.9]"
    dsn = reply.replace("-", " ", 1).split(" ")[1] if reply else "2.0.0"
    said = f"deferred (host {host} said: {reply})" if reply else "sent (250 2.0.0 OK)"
    return (
        HEAD.format(int(minute), second, process, message)
        + f"to=<{recipient}>, relay={host}:25, delay={at_s + 0.9:.1f}, "
        f"delays={at_s:.1f}/0.1/0.3/0.5, dsn={dsn}, status={said}\n"
    )


def learnt(folder: Path, lines) -> Fitted:
    log = folder / "mail.log"
    log.write_text("".join(lines))
    return fit(Reading([str(log)], year=2026))


def peers(found: Fitted):
    return {peer.domain: peer for peer in found.peers}


def throttled():
    google, outlook = "gmail-smtp-in.l.google.com", "outlook-com.olc.protection.outlook.com"
    return [
        line(1, "a@gmail.com", google, process=101),
        line(2, "b@gmail.com", google, GMAIL, process=102),
        line(3, "c@outlook.com", outlook, OUTLOOK, process=103),
        line(1802, "b@gmail.com", google, process=102),
        line(1803, "c@outlook.com", outlook, process=103),
    ]


def test_two_providers_limit_and_none_greylists(command, tmp_path):
    log = tmp_path / "throttled.log"
    log.write_text("".join(throttled()))
    found = command("mail", "fit", log, "--json", "--out", tmp_path / "i.csv").document
    assert [(one["provider"], one["per_minute"]) for one in found["domains"]] == [
        ("google.com", 1),
        ("outlook.com", 1),
    ]
    assert all(one["greylisting_us"] is one["sessions"] is None for one in found["domains"])
    (note,) = found["notes"]
    assert note.startswith("outlook.com refused 1 of 1 times though it had taken nothing")
    shown = command("mail", "fit", log, "--out", tmp_path / "i.csv")
    assert note in shown.out
    said = command("mail", "plan", log, "--out", tmp_path / "p", "--json")
    assert said.code == 1, "Postfix's own times of retries are not those of this log"
    reasons = said.document["as_logged"]["reasons"]
    assert {"google.com takes at most 1 recipients a minute", note} <= {*reasons}
    assert not any("greylist" in reason for reason in reasons)
    planned = command(
        "mail", "plan", tmp_path / "i.csv", "--out", tmp_path / "p", "--json"
    ).document
    share = {cause["cause"]: cause["p95"]["share"] for cause in planned["now"]["causes"]}
    assert share["provider-limits"] > 0.9
    assert share["greylists"] == share["host-limits"] == 0


def test_domains_of_a_provider_are_one(tmp_path):
    """Two firms at one provider, which takes three recipients of both in a minute."""
    relay = "firm{}.mail.protection.outlook.com"
    slow = "450 4.2.1 The user you are trying to contact is receiving mail too quickly"
    sent = [
        line(n, f"u{n}@firm{n % 2}.example", relay.format(n % 2), message=f"A{n:06}")
        for n in range(3)
    ]
    refused = [line(4, "u3@firm1.example", relay.format(1), slow, message="A000003")]
    found = peers(learnt(tmp_path, [*sent, *refused]))
    assert {(peer.provider, peer.per_minute) for peer in found.values()} == {("outlook.com", 3)}
    assert [found[f"firm{n}.example"].subscribers for n in (0, 1)] == [2, 2]
    assert {peer.delivered for peer in found.values()} == {3}


def test_who_is_taken_with_those_who_are_refused_counts(tmp_path):
    """Postfix notes a refusal at RCPT before the text, and who was taken behind it."""
    slow = "450 4.2.1 receiving mail too quickly (in reply to RCPT TO command)"
    refused = [line(9.6 + n / 100, f"r{n}@x.example", "mx.x.example", slow) for n in range(3)]
    taken = [line(10, f"t{n}@x.example", "mx.x.example") for n in range(5)]
    (peer,) = learnt(tmp_path, [*refused, *taken]).peers
    assert peer.per_minute == 5


@pytest.mark.parametrize(
    ("at", "is_grey"), [("RCPT TO", True), ("MAIL FROM", False), ("end of DATA", False)]
)
def test_words_that_say_nothing_are_judged_by_the_step(tmp_path, at, is_grey):
    """Every first try is refused, and the next one passes: a greylist if that is at RCPT."""
    words = f"450 4.7.1 please try again later (in reply to {at} command)"
    lines = [
        line(n, f"u{n}@x.example", "mx.x.example", words, message=f"A{n:06}") for n in range(9)
    ]
    lines += [
        line(300 + n, f"u{n}@x.example", "mx.x.example", message=f"A{n:06}") for n in range(9)
    ]
    peer = peers(learnt(tmp_path, [*lines, line(600, "a@plain.example", "mx.y")]))["x.example"]
    assert peer.greylisting_us == (300e6 if is_grey else None)
    assert peer.per_minute is None, "it took nine in a minute"


@pytest.mark.parametrize(
    ("words", "may_greylist"),
    [
        ("451 4.3.0 Temporary lookup failure; try again later", False),
        ("451 4.3.2 please try again later", True),
        ("452 4.5.3 Too many recipients, please try again later", False),
        ("454 4.7.0 TLS is not available now", False),
    ],
)
def test_words_of_another_reason_are_no_limit(tmp_path, words, may_greylist):
    """The first log ends before it shows that more is taken; in the second all are refused once."""
    lines = [line(n, f"u{n}@x.example", "mx.x.example", message=f"A{n:06}") for n in range(5)]
    said = f"{words} (in reply to RCPT TO command)"
    found = learnt(
        tmp_path, [*lines, line(6, "r@x.example", "mx.x.example", said, message="B000000")]
    )
    assert (found.peers[0].per_minute, found.peers[0].greylisting_us) == (None, None)
    assert found.notes == []
    ids = [(n, f"u{n}@x.example", f"A{n:06}") for n in range(5)]
    lines = [line(n, who, "mx.x.example", said, message=name) for n, who, name in ids]
    lines += [line(300 + n, who, "mx.x.example", message=name) for n, who, name in ids]
    lines.append(line(900, "a@other.example", "mx.other.example"))
    peer = peers(learnt(tmp_path, lines))["x.example"]
    assert (peer.per_minute, peer.greylisting_us) == (None, 300e6 if may_greylist else None)


@pytest.mark.parametrize(("then", "learnt_limit"), [(5, 5), (9, 9), (11, None)])
def test_no_limit_is_below_what_was_taken_without_a_refusal(tmp_path, then, learnt_limit):
    """A host that counts from minute to minute may take twice its limit in a minute, not more."""
    slow = "450 4.2.1 receiving mail too quickly (in reply to RCPT TO command)"
    times = [*range(5), *(600 + n for n in range(then))]
    lines = [
        line(at_s, f"u{at_s}@x.example", "mx.x.example", message=f"A{at_s:06}") for at_s in times
    ]
    lines.insert(5, line(6, "r@x.example", "mx.x.example", slow, message="B000000"))
    found = learnt(tmp_path, lines)
    assert found.peers[0].per_minute == learnt_limit
    said = "x.example refused mail after 5 recipients in a minute, but took 11 in another minute"
    assert [note.partition(":")[0] for note in found.notes] == ([] if learnt_limit else [said])


def test_words_that_say_nothing_are_a_limit_where_first_tries_pass_or_refusals_recur(tmp_path):
    words = "450 4.7.1 please try again later (in reply to RCPT TO command)"

    def run(*events):
        lines = [
            line(at_s, f"u{who}@x.example", "mx.x.example", reply, message=f"A{message:06}")
            for at_s, who, message, reply in events
        ]
        (peer,) = learnt(tmp_path, lines).peers
        return peer.greylisting_us, peer.per_minute

    passing = [(n, n, n, None) for n in range(5)]
    assert run(*passing, (6, 7, 7, words), (400, 7, 7, None)) == (None, 5)
    # One recipient, who is greylisted at first and refused again when it was taken before.
    again = [(0, 1, 1, words), (300, 1, 1, None), (301, 1, 2, None), (302, 1, 3, words)]
    assert run(*again) == (300e6, 2)


def test_other_refusals_are_neither(tmp_path):
    for words in (
        "452 4.2.2 over quota, try again later",
        "450 4.7.1 Client host rejected: cannot find your reverse hostname",
        "451 4.3.0 Temporary system problem",
    ):
        lines = [line(0, "a@x.example", "mx.x.example")]
        lines += [line(5, "b@x.example", "mx.x.example", words)]
        lines += [line(900, "b@x.example", "mx.x.example")]
        (peer,) = learnt(tmp_path, lines).peers
        assert (peer.greylisting_us, peer.per_minute, peer.sessions) == (None, None, None), words


EXIM = "2026-11-20 09:{:02}:{:02} 1tEabc-0000{:02}-CD {}\n"
EXIM_SENT = '=> {}@{} R=dnslookup T=remote_smtp H=mx.{} [192.0.2.1] C="250 2.0.0 Ok" QT=1s DT=0.2s'
EXIM_LATER = (
    "== {}@{} R=dnslookup T=remote_smtp defer (-44) H=mx.{} [192.0.2.1]: SMTP error from remote"
    " mail server after {}: {}"
)
SENDMAIL = (
    "Nov 20 09:{:02}:{:02} mx sm-mta[7]: 59QA0y{:04}: to=<{}@{}>, delay=00:00:05, "
    "xdelay=00:00:01, mailer=esmtp, pri=1, relay=mx.{}. [192.0.2.1], dsn={}, stat={}\n"
)


def exim(minute, second, who, domain, refusal=None):
    if refusal:
        at, words = refusal
        text = EXIM_LATER.format(f"u{who}", domain, domain, at, words)
    else:
        text = EXIM_SENT.format(f"u{who}", domain, domain)
    return EXIM.format(minute, second, who, text)


def sendmail(minute, second, who, domain, refusal=None):
    dsn, stat = "2.0.0", "Sent (Ok)"
    if refusal:
        dsn, stat = refusal[1].split(" ")[1], f"Deferred: {refusal[1]}"
    return SENDMAIL.format(minute, second, who, f"u{who}", domain, domain, dsn, stat)


def postfix(minute, second, who, domain, refusal=None):
    words = refusal and f"{refusal[1]} (in reply to {refusal[0].split(':')[0]} command)"
    return line(
        minute * 60 + second, f"u{who}@{domain}", f"mx.{domain}", words, message=f"A{who:06}"
    )


@pytest.mark.parametrize("written", [postfix, exim, sendmail])
def test_logs_with_both_of_each_mailer(tmp_path, written):
    """One host greylists for five minutes, one takes four recipients in a minute, one does both."""
    grey = ("RCPT TO:<u@x>", "450 4.2.0 <u@x>: Recipient address rejected: Greylisted")
    slow = ("end of DATA", "421 4.7.28 unusual rate of mail, rate limited")
    lines = [written(0, n, n, "grey.example", grey) for n in range(3)]
    lines += [written(0, 10 + n, 10 + n, "slow.example") for n in range(4)]
    lines += [written(0, 20 + n, 20 + n, "slow.example", slow) for n in range(3)]
    lines += [written(0, 40 + n, 40 + n, "both.example", grey) for n in range(4)]
    lines += [written(5, n, n, "grey.example") for n in range(3)]
    lines += [written(5, 20 + n, 20 + n, "slow.example") for n in range(3)]
    lines += [written(5, 40 + n, 40 + n, "both.example") for n in range(2)]
    lines += [written(5, 42 + n, 42 + n, "both.example", slow) for n in range(2)]
    lines += [written(7, 42 + n, 42 + n, "both.example") for n in range(2)]
    # Only Postfix tells the times of a transaction, of which a host takes its own.
    found = peers(learnt(tmp_path, [*lines, line(600, "a@plain.example", "mx.plain.example")]))
    told = {
        name: (found[f"{name}.example"].greylisting_us, found[f"{name}.example"].per_minute)
        for name in ("grey", "slow", "both")
    }
    assert told == {"grey": (300e6, None), "slow": (None, 4), "both": (300e6, 2)}


def test_refused_sessions_are_as_many_as_were_taken_at_a_time(tmp_path):
    busy = "host mx.x.example[192.0.2.9] refused to talk to me: 421 4.7.0 too many connections"
    taken = [
        line(10 + n / 10, f"u{n}@x.example", "mx.x.example", message=f"A{n:06}") for n in range(3)
    ]
    refused = line(10.3, "u9@x.example", "mx.x.example", "421 4.7.0 x", message="A000009").replace(
        "host mx.x.example[192.0.2.9] said: 421 4.7.0 x", busy
    )
    (peer,) = learnt(tmp_path, [*taken, refused]).peers
    assert (peer.sessions, peer.per_minute, peer.greylisting_us) == (3, None, None)


WORLD = """domain,subscribers,provider,round_trip,reply,names,per_minute
one.example,15,big.example,40ms,50ms,10ms,10
two.example,10,big.example,40ms,50ms,90ms,10
free.example,5,,40ms,50ms,10ms,
"""


def scenario(folder, text=WORLD):
    (folder / "world.csv").write_text(text)
    world = worlds.from_file(folder / "world.csv", None, folder)
    return Scenario(world, folder, {"messages": 1, "arrivals": "regular"}, {}, 1)


def test_domains_of_one_provider_share_its_rate(tmp_path):
    """Never more than ten in a minute, ten in the first one, and everybody has it in the end."""
    there = scenario(tmp_path)
    for split in ("each", "by-destination"):
        case = there.parsed({"split": split}).cases()[0]
        columns = case.run(0, Progress()).columns
        kinds, names = columns["kind"]
        is_delivery = kinds == names.index("delivery")
        sojourn = columns["sojourn_ps"][is_delivery] / S
        at_big = np.sort(sojourn[columns["domain"][is_delivery] < 2])
        assert at_big.size == 25
        assert (at_big >= 0).all()
        if split == "each":  # who is taken together is told together, after the text
            in_a_minute = [np.sum((at_big > at - 60) & (at_big <= at)) for at in at_big]
            assert max(in_a_minute) == 10
            assert np.sum(at_big < 5) == 10
        assert at_big.max() > 60
        assert sojourn[columns["domain"][is_delivery] == 2].max() < 5


def test_rows_of_one_provider_say_the_same(tmp_path):
    text = WORLD.replace("two.example,10,big.example,40ms", "two.example,10,big.example,41ms")
    with pytest.raises(
        InputError, match=r'csv:3: round_trip = "41ms", expected "40ms" as in line 2'
    ):
        scenario(tmp_path, text)


def test_a_plan_stays_below_a_providers_limit(tmp_path):
    text = (
        "domain,subscribers,provider,round_trip,per_minute\n"
        "a.example,150,big.example,40ms,60\nb.example,150,big.example,40ms,60\n"
    )
    there = scenario(tmp_path, text)
    now = Limits(64, 20).within(resolved(there.parsed({"split": "each"}).resolved()))
    share = {cause.name: cause.shares[95][0] for cause in explain(there, now, 3)}
    assert share["provider-limits"] > 0.9
    assert share["greylists"] == 0
    best, steps = Search(there, Limits(64, 20), 95, lambda _: None).best(now)
    assert "domain" in [step.setting for step in steps]
    (own,) = best["domain"]
    assert (own["name"], own["by"]) == ("big.example", "provider")
    assert own["per_minute"] <= 60
    text = settings(best, None).replace("[mail]", '[mail]\nhello = "x.example"')
    MailSettings.parse(text, "settings.toml", [])
    before, after = there.predict(now, 3).within_s(95), there.predict(best, 3).within_s(95)
    assert after < 0.97 * before, (after, before)


def test_strangers_share_a_provider_only_where_others_do(tmp_path):
    (tmp_path / "world.csv").write_text(
        "domain,subscribers,provider\na.example,1,big.example\nb.example,1,big.example\n"
        "c.example,1,c.example\n"
    )
    addresses = [f"u@new{n}.example" for n in range(40)]
    worlds.from_file(tmp_path / "world.csv", addresses, tmp_path)
    lines = (tmp_path / "internet.csv").read_text().splitlines()[1:]
    providers = {row["provider"] for row in csv.DictReader(lines)}
    assert providers == {"big.example", ""}


KINDS = {
    "slow": (40, "{ kind = 'throttle', messages = 20 }"),
    "first": (60, "{ kind = 'throttle', messages = 30, at = 'mail' }"),
    "rcpt": (40, "{ kind = 'throttle', messages = 12, at = 'rcpt' }"),
    "closes": (40, "{ kind = 'throttle', messages = 15, closes = true }"),
    "grey": (15, "{ kind = 'greylist', wait = '3s' }"),
    "named": (5, "{ kind = 'greylist', wait = '5s', named = true }"),
    "both": (30, "{ kind = 'throttle', messages = 10, greylisting = '3s' }"),
    "plain": (40, "'fast'"),
}


@pytest.mark.alone
def test_a_delivery_of_ours_tells_throttling_from_greylisting(command, tmp_path):
    """The rates are learnt exactly; a greylist to within the time between two tries.

    A recipient of a greylist is tried after 2 and 6 s, and those of a limit again and again.
    """
    world = "".join(
        f"[[domain]]\nname = '{name}.example'\nsubscribers = {subscribers}\n"
        f"host = [{{ round_trip = '5ms', personality = {personality} }}]\n"
        for name, (subscribers, personality) in KINDS.items()
    )
    message = tmp_path / "message"
    message.write_bytes(b"From: Owner <owner@lists.example>\r\nMessage-ID: <1@x>\r\n\r\nhello\r\n")
    log = tmp_path / "log"
    policy = "split = 'each'\nretry = { kind = 'backoff', first = '2s', most = '4s' }"
    with small_internet(tmp_path, world, policy) as net:
        whom = net.write_list(tmp_path / "list")
        given = ("--config", net.settings, "--spool", tmp_path / "spool", "--log", log)
        command("mail", "deliver", *given, message, "--list", whom, "--patience", "11s")
    found = peers(fit(Reading([str(log)])))
    rates = {name: found[f"{name}.example"].per_minute for name in KINDS}
    assert rates == {
        "slow": 20,
        "first": 30,
        "rcpt": 12,
        "closes": 15,
        "grey": None,
        "named": None,
        "both": 10,
        "plain": None,
    }
    waits = {name: found[f"{name}.example"].greylisting_us for name in KINDS}
    for name, least_s in (("grey", 3), ("named", 5), ("both", 3)):
        assert least_s * 1e6 <= waits.pop(name) <= (least_s + 5) * 1e6, name
    assert set(waits.values()) == {None}
