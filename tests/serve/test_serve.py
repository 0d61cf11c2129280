"""`sojourn mail serve` with clients of others: smtplib, swaks, Postfix's smtp-source."""

import base64
import json
import os
import pwd
import signal
import smtplib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from certificates import self_signed
from listserver import Server, config, message, sojourn, tool
from nameserver import everybody_at
from postfix import let_through
from sink import sink
from waiting import PATIENCE_S, until

NOBODY = "x@[127.0.0.77]"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(config(tmp_path)) as running:
        yield running


def test_smtplib(server):
    people = [f"s{i}@[127.0.0.77]" for i in range(3000)]
    with server.trusted() as client:
        assert client.ehlo()[0] == 250
        assert set(client.esmtp_features) == {
            "pipelining", "size", "8bitmime", "smtputf8", "enhancedstatuscodes", "chunking",
        }  # fmt: skip
        assert client.send_message(message(), "news-bounces@lists.example", people) == {}
        with pytest.raises(smtplib.SMTPSenderRefused, match=r"5\.1\.7"):
            client.sendmail("no address", people[:1], b"x")
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            client.sendmail("a@b", ["no address"], b"x")
    assert "1 message left in the spool" in server.stop()
    log = server.log.read_text("utf-8")
    assert "client=[127.0.0.1], from=<news-bounces@lists.example>" in log
    assert "nrcpt=3000\n" in log


def test_lmtp_as_a_list_manager_speaks_it(server):
    with smtplib.LMTP(*server.ports[1]) as client:
        client.ehlo()
        # Several messages in one session; an answer for each recipient.
        for i in range(5):
            client.mail("a@b")
            assert client.rcpt("a@[127.0.0.77]")[0] == client.rcpt("b@[127.0.0.77]")[0] == 250
            assert client.rcpt("unknown@lists.example")[0] == 550
            code, said = client.data(message(str(i)).as_bytes())
            assert (code, said) == client.getreply()
            assert said == f"2.0.0 taken as {i + 1:010X}".encode()
            client.rset()
    assert "5 messages left" in server.stop()


def test_a_password_opens(server):
    with server.stranger() as client:
        with pytest.raises(smtplib.SMTPAuthenticationError):
            client.login("ann", "wrong")
        client.login("ann", "right")
        assert client.sendmail("a@b", [NOBODY], b"x\r\n") == {}
    with server.stranger() as client:
        client.ehlo()
        assert client.docmd("AUTH", "LOGIN " + base64.b64encode(b"ann").decode())[0] == 334
        assert client.docmd(base64.b64encode(b"right").decode())[0] == 235
    log = server.await_log("user=ann, from=<a@b>")
    assert "wrong password: client=[127.0.0.9], user=ann" in log
    assert "right" not in log


def test_starttls(tmp_path):
    certificate, key = self_signed(tmp_path, "DNS:lists.example")
    more = f'[certificate]\nchain = "{certificate}"\nkey = "{key}"\n'
    path = config(tmp_path, more=more)
    path.write_text(path.read_text("utf-8").replace('auth = "loopback"', ""), "utf-8")
    context = ssl.create_default_context(cafile=certificate)
    with Server(path) as server:
        with server.stranger() as client:
            with pytest.raises(smtplib.SMTPNotSupportedError):  # in plain text
                client.login("ann", "right")
            client._host = "lists.example"  # the name that the certificate is held to
            client.starttls(context=context)
            client.login("ann", "right")
            assert client.sendmail("a@b", [NOBODY], b"x\r\n") == {}
        server.await_log("user=ann, from=<a@b>")
        assert "1 message left" in server.stop()


def test_swaks(server):
    swaks = tool("swaks")
    host, port = server.ports[0]
    envelope = ("--helo", "swaks.example", "--from", "a@b.example")
    said = swaks(
        "--server", host, "--port", str(port), *envelope,
        "--to", "x@[127.0.0.77],y@[127.0.0.77]", "--body", ".\n..\n",
    )  # fmt: skip
    assert "250 2.0.0 taken as" in said
    said = swaks(
        "--protocol", "LMTP", "--server", host, "--port", str(server.ports[1][1]), *envelope,
        "--to", NOBODY,
    )  # fmt: skip
    assert "250 2.0.0 taken as" in said


def test_smtp_source(server):
    source = tool("smtp-source")
    host, port = server.ports[0]
    to = ("-f", "a@b.example", "-t", NOBODY)
    source("-s", "10", "-m", "200", "-r", "5", *to, f"inet:{host}:{port}")
    source("-L", "-s", "2", "-m", "20", *to, f"inet:{host}:{server.ports[1][1]}")
    # One envelope, as many people as a large list has.
    source("-s", "1", "-m", "1", "-r", "20000", *to, f"inet:{host}:{port}")
    server.await_log("nrcpt=20000\n")
    assert "221 messages left in the spool" in server.stop()


def _is_open(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address).close()
    except ConnectionRefusedError:
        return False
    return True


def test_sigterm_in_mid_message(server):
    client = server.trusted()
    client.ehlo()
    client.mail("a@b")
    client.rcpt(NOBODY)
    assert client.docmd("DATA")[0] == 354
    server.process.send_signal(signal.SIGTERM)
    # Its ports are closed, the message may still come.
    until(lambda: not _is_open(server.ports[0]))
    client.send(b"x\r\n.\r\n")
    assert client.getreply()[0] == 250
    assert client.getreply()[0] == 421
    client.close()
    _, said = server.process.communicate(timeout=PATIENCE_S)
    assert "1 message left" in said
    # The next start finds it.
    with Server(server.config) as again:
        again.await_log("from=<a@b>, size=", times=2)
        again.stop()


def test_sighup_has_the_log_go_on_in_a_new_file(server):
    with server.trusted() as client:
        client.sendmail("one@b", [NOBODY], b"x")
        server.await_log("from=<one@b>")
        old = server.log.rename(server.log.with_name("log.1"))
        server.process.send_signal(signal.SIGHUP)
        until(server.log.exists)
        client.sendmail("two@b", [NOBODY], b"x")
        server.await_log("from=<two@b>")
    assert "two@b" not in old.read_text("utf-8")
    server.stop()


def _low_port() -> int:
    """One below 1024 that nobody has."""
    for port in range(1023, 600, -1):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    return pytest.skip("no port below 1024 is free")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to let go of")
def test_rights_are_let_go_of_when_ports_are_open(tmp_path):
    user = pwd.getpwnam("nobody")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, user.pw_uid, user.pw_gid)
    let_through(tmp_path)
    port = _low_port()
    path = config(home, more="[live]\naddress = '127.0.0.1:0'\n")
    text = path.read_text("utf-8").replace("127.0.0.1:0", f"127.0.0.1:{port}", 1)
    path.write_text(text.replace("[reception]\n", "[reception]\nrun_as = 'nobody'\n"), "utf-8")
    with Server(path) as server:
        assert server.ports[0][1] == port
        with server.trusted() as client:
            client.sendmail("a@b", [NOBODY], b"x")
        for task in Path(f"/proc/{server.process.pid}/task").iterdir():
            status = dict(
                line.split(":\t", 1) for line in (task / "status").read_text("utf-8").splitlines()
            )
            assert set(status["Uid"].split()) == {str(user.pw_uid)}
            assert set(status["Gid"].split()) == {str(user.pw_gid)}
            assert status["Groups"].split() == [str(user.pw_gid)]
            assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert "1 message left" in server.stop()
    made = {file.name: file.stat() for file in home.iterdir()}
    assert {"spool", "spool.bounces", "spool.keys", "spool.token"} <= set(made)
    assert {made[name].st_uid for name in ("spool", "spool.bounces", "spool.token")} == {
        user.pw_uid
    }
    assert made["spool.token"].st_mode & 0o777 == 0o600


REPORT = """\
From: MAILER-DAEMON@mx.example
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary=b

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; user@x.example
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 unknown
--b--
"""


LIST = "news-bounces@lists.example"
SUBSCRIBER = "gone@there.example"


def test_who_is_suspended_and_why(tmp_path):
    """A dead address is asked once, and suspended when the question comes back too."""
    with (
        sink("gone@") as host,
        everybody_at("127.0.0.1") as resolver,
        Server(config(tmp_path, port=host.port, resolver=resolver)) as server,
    ):
        with server.trusted() as client:
            assert client.sendmail(LIST, [SUBSCRIBER], b"From: a@lists.example\n\nx") == {}
        log = server.await_log("suspended: ")
        assert f"asked whether mail arrives: list=<{LIST}>, to=<{SUBSCRIBER}>" in log
        _check_suspended(server)


def _check_suspended(server: Server) -> None:
    [member] = json.loads(sojourn("mail", "list", server.config, "--json").stdout)
    for time in ("suspended", "last_bounce", "probed"):
        assert member.pop(time).endswith("+00:00")
    assert member == {
        "list": LIST,
        "subscriber": SUBSCRIBER,
        "score": 1.0,
        "status": "5.1.1",
        "reason": "550 5.1.1 no such user (in reply to RCPT TO command)",
        "provider": "there.example",
        "fault": "address",
    }
    shown = sojourn("mail", "list", server.config)
    assert shown.stdout.startswith("news-bounces@lists.example")
    assert SUBSCRIBER in shown.stdout
    with server.trusted() as client:
        people = [SUBSCRIBER, "b@x.example"]
        refused = client.sendmail(LIST, people, b"x")
        assert list(refused) == [SUBSCRIBER]
        assert refused[SUBSCRIBER][0] == 550
        resume = ("mail", "list", server.config, "--resume", LIST)
        assert sojourn(*resume, SUBSCRIBER.upper()).returncode == 0
        assert sojourn(*resume, SUBSCRIBER).returncode == 1
        assert client.sendmail(LIST, people[:1], b"x") == {}


def test_what_strangers_say_of_subscribers_is_counted(server):
    forged = [LIST, "news-bounces+user=x.example@lists.example"]
    forged.append(f"news-bounces+{'k7' * 16}@lists.example")
    with server.stranger() as client:
        assert client.sendmail("", forged, REPORT) == {}
    assert json.loads(sojourn("mail", "list", server.config, "--json").stdout) == []
    command = ("mail", "list", server.config, "--unverified")
    counted = json.loads(sojourn(*command, "--json").stdout)
    assert {(it["list"], it["kind"], it["number"]) for it in counted} == {
        (LIST, "no token", 2),
        (LIST, "wrong", 1),
    }
    lines = sojourn(*command).stdout.splitlines()
    assert any(line.startswith(LIST) and line.endswith("wrong    1") for line in lines), lines
    assert (
        "unverified: client=[127.0.0.9], list=<news-bounces@lists.example>, wrong, nrcpt=1"
        in _log_at_the_end(server)
    )


def _log_at_the_end(server: Server) -> str:
    server.stop()
    return server.log.read_text("utf-8")


def test_keys_are_rotated_while_it_runs(server):
    file = server.config.with_name("spool.keys")
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(json.loads(sojourn("mail", "keys", server.config, "--json").stdout)) == 1
    shown = sojourn("mail", "keys", server.config, "--rotate")
    assert shown.stdout.endswith(" signs\n")
    assert len(shown.stdout.splitlines()) == 2
    assert (file.stat().st_mode & 0o777, len(file.read_text("utf-8").splitlines())) == (0o600, 3)
    before = server.config.with_name("before")
    server.log.rename(before)
    server.process.send_signal(signal.SIGHUP)
    until(server.log.exists)
    assert server.process.stderr is not None
    assert server.process.stderr.readline() == "sojourn: the configuration was reloaded\n"
    assert server.stop() == "sojourn: stopped, 0 messages left in the spool\n"
    file.write_text("no key\n", "utf-8")
    shown = sojourn("mail", "keys", server.config)
    assert (shown.returncode, "spool.keys: line 1: expected" in shown.stderr) == (2, True)
