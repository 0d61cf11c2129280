"""A server that takes on another configuration while it runs: SIGHUP and `sojourn mail reload`."""

import os
import pwd
import shutil
import signal
import smtplib
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from certificates import self_signed
from listserver import Server, config, message, sojourn
from waiting import until

NOBODY = "x@[127.0.0.77]"
LISTENERS = '[[listener]]\naddress = "127.0.0.2:0"\nauth = "loopback"\n'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(config(tmp_path)) as running:
        yield running


def change(server: Server, old: str, new: str) -> None:
    text = server.config.read_text("utf-8")
    assert old in text
    server.config.write_text(text.replace(old, new, 1), "utf-8")


def is_open(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address).close()
    except ConnectionRefusedError:
        return False
    return True


def welcome(server: Server, recipient: str) -> int:
    """What a stranger's RCPT gets."""
    with server.stranger() as client:
        client.ehlo()
        client.mail("")
        return client.rcpt(recipient)[0]


def test_a_new_list_is_known_and_no_session_is_lost(server):
    client = server.trusted()
    client.ehlo()
    client.mail("a@b")
    client.rcpt(NOBODY)
    assert client.docmd("DATA")[0] == 354
    client.send(b"first half\r\n")
    new = "more-bounces@more.example"
    assert welcome(server, new) != 250
    change(server, "[[list]]", f'[[list]]\nbounces = "{new}"\nid = "more.example"\n\n[[list]]')
    # The very same ports go on.
    done = sojourn("mail", "reload", server.config)
    said = f"list {new} added\nreloaded\n"
    assert (done.returncode, done.stdout) == (0, said), done.stderr
    assert welcome(server, "more-bounces@more.example") == 250
    client.send(b"second half\r\n.\r\n")
    assert client.getreply()[0] == 250
    client.quit()
    assert f"the configuration was reloaded: list {new} added" in server.log.read_text("utf-8")
    assert "1 message left" in server.stop()


def test_a_removed_port_closes_and_a_new_one_opens(server):
    client = smtplib.SMTP(*server.ports[2])
    change(server, LISTENERS, "")
    server.process.send_signal(signal.SIGHUP)
    server.await_log("the configuration was reloaded")
    until(lambda: not is_open(server.ports[2]))
    assert is_open(server.ports[0])
    # Whoever is inside stays.
    assert client.noop()[0] == 250
    with socket.create_server(("127.0.0.3", 0)) as free:
        port = free.getsockname()[1]
    change(server, "[[user]]", f'[[listener]]\naddress = "127.0.0.3:{port}"\n\n[[user]]')
    server.process.send_signal(signal.SIGHUP)
    until(lambda: is_open(("127.0.0.3", port)))
    assert client.noop()[0] == 250
    client.quit()
    server.stop()


def test_who_is_trusted(server):
    """A session that is open goes by the configuration of now from its next transaction on."""
    narrow, wide = '["127.0.0.1"]', '["127.0.0.0/8"]'
    with server.stranger() as client:
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            client.sendmail("a@b", [NOBODY], b"x\r\n")
        change(server, narrow, wide)
        assert sojourn("mail", "reload", server.config).returncode == 0
        assert client.sendmail("a@b", [NOBODY], b"x\r\n") == {}
        change(server, wide, narrow)
        assert sojourn("mail", "reload", server.config).returncode == 0
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            client.sendmail("a@b", [NOBODY], b"x\r\n")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("[reception]", "[reception]\ntrustd = 1", "trustd"),
        ("[[list]]", "[[list]", "lists.toml"),
        (
            'hello = "lists.example"',
            'hello = "other.example"',
            "another mail.hello needs a restart",
        ),
        ('grace = "1s"', 'grace = "2s"', "another reception.grace needs a restart"),
        ("[network]\nport = 9", "[network]\nport = 10", "another network.port needs a restart"),
        ("[[user]]", "[certificate]\nchain = 'none'\nkey = 'none'\n[[user]]", "none"),
        ("[[user]]", "[[listener]]\naddress = '192.0.2.1:0'\n[[user]]", "192.0.2.1"),
    ],
)
def test_what_is_refused(server, old, new, why):
    """With one clear error; the server goes on as it was."""
    change(server, old, new)
    change(server, '["127.0.0.1"]', '["127.0.0.0/8"]')
    done = sojourn("mail", "reload", server.config)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert why in done.stderr
    server.process.send_signal(signal.SIGHUP)
    log = server.await_log("the configuration was not reloaded: ")
    assert why in log.rpartition("the configuration was not reloaded: ")[2]
    assert welcome(server, NOBODY) != 250
    assert welcome(server, "news-bounces@lists.example") == 250
    assert "0 messages left" in server.stop()


def test_no_server_and_another_file(server, tmp_path):
    other = tmp_path / "other.toml"
    other.write_bytes(server.config.read_bytes())
    done = sojourn("mail", "reload", other)
    assert done.returncode == 2
    assert f"the server was started with {server.config}, not with {other}" in done.stderr
    server.stop()
    done = sojourn("mail", "reload", server.config)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no server is at work on the spool" in done.stderr


def test_every_verb_takes_the_same_file(server):
    spool = server.config.with_name("spool")
    for verb in (("queue",), ("spool", "check"), ("list",)):
        done = sojourn("mail", *verb, server.config)
        assert (done.returncode, done.stderr) == (0, ""), done
    assert sojourn("mail", "late", "--config", server.config).returncode == 0
    for verb in (("spool", "check"), ("queue",)):
        done = sojourn("mail", *verb, server.config, "--spool", spool)
        assert done.returncode == 2
        assert "CONFIG and --spool: expected one of them" in done.stderr
    done = sojourn("mail", "late", "--config", server.config, "--spool", spool)
    assert done.returncode == 2
    change(server, "[reception]", "[reception]\ntrustd = 1")
    for verb in (("queue",), ("spool", "check"), ("list",), ("reload",), ("late", "--config")):
        done = sojourn("mail", *verb, server.config)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "trustd" in done.stderr


DKIM = Path(__file__).parents[2] / "crates/list-server/server/tests/keys/ed25519.pem"
USER = "nobody"


@pytest.fixture
def roots() -> Iterator[Server]:
    """A server that root has started, whose configuration and keys are root's alone."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a server that becomes another user")
    # others may not look into the folders of pytest
    with tempfile.TemporaryDirectory() as place:
        folder, user = Path(place), pwd.getpwnam(USER)
        chain, key = self_signed(folder, "DNS:lists.example")
        signs = shutil.copy(DKIM, folder / "dkim.pem")
        tables = (
            f'[certificate]\nchain = "{chain}"\nkey = "{key}"\n'
            f'[[dkim]]\ndomain = "lists.example"\nselector = "s1"\nkey = "{signs}"\n'
        )
        path = config(folder, more=tables)
        text = path.read_text("utf-8")
        text = text.replace("[reception]\n", f'[reception]\nrun_as = "{USER}"\n')
        path.write_text(f'log = "{folder}/log"\n{text}', "utf-8")
        for file in (path, chain, key, signs):
            Path(file).chmod(0o600)
        os.chown(folder, user.pw_uid, user.pw_gid)
        with Server(path, log=folder / "log") as running:
            yield running


def test_what_root_alone_may_read_is_used_on(roots):
    """The server is another user by then: all else of the configuration takes effect."""
    folder = roots.config.parent
    change(roots, "[[list]]", '[[list]]\nbounces = "more-bounces@more.example"\n\n[[list]]')
    done = sojourn("mail", "reload", roots.config)
    assert (done.returncode, done.stderr) == (0, "")
    kept = f" cannot be read any more as {USER}: what was read before is used on; restart to"
    assert f"{folder}/chain.pem{kept}" in done.stdout
    assert f"{folder}/dkim.pem{kept}" in done.stdout
    assert done.stdout.endswith("reloaded\n")
    assert welcome(roots, "more-bounces@more.example") == 250
    with roots.trusted() as client:
        assert "starttls" in (client.ehlo(), client.esmtp_features)[1]
        client.starttls()
        client.sendmail("news-bounces@lists.example", [NOBODY], message().as_bytes())
    # By a signal the server reads the file itself, and may not.
    roots.process.send_signal(signal.SIGHUP)
    roots.await_log(f"not reloaded: {roots.config}: Permission denied")
    roots.config.chmod(0o644)
    roots.process.send_signal(signal.SIGHUP)
    log = roots.await_log("the configuration was reloaded: ", times=2)
    assert log.count(f"{folder}/dkim.pem{kept}") == 2
    assert "denied" not in log.rpartition("not reloaded")[2].partition("\n")[2]
    # Another file that may not be read is an error, and nothing changes.
    other = shutil.copy(DKIM, folder / "other.pem")
    Path(other).chmod(0o600)
    change(roots, f"{folder}/dkim.pem", str(other))
    done = sojourn("mail", "reload", roots.config)
    assert (done.returncode, done.stdout) == (2, "")
    assert "other.pem: Permission denied" in done.stderr
    log_of = roots.log.stat()
    assert (log_of.st_uid, log_of.st_mode & 0o777) == (pwd.getpwnam(USER).pw_uid, 0o600)


def test_a_log_that_others_may_read_is_found(server):
    text = server.config.read_text("utf-8")
    server.config.write_text(f'log = "{server.log}"\n{text}', "utf-8")
    server.log.chmod(0o644)
    assert "log has mode 0644" in sojourn("doctor", server.config).stdout


@pytest.mark.parametrize(("less", "lost"), [("", "the list"), ("verp = false\n", "verp")])
def test_a_list_whose_mail_waits_loses_nothing(server, less, lost):
    with server.trusted() as client:
        client.sendmail("news-bounces@lists.example", [NOBODY], message().as_bytes())
    table = '[[list]]\nbounces = "news-bounces@lists.example"\nid = "news.lists.example"\n'
    change(server, table, table + less if less else "")
    done = sojourn("mail", "reload", server.config)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert f"{lost} of news-bounces@lists.example cannot go while its mail waits" in done.stderr
    arguments = ("--list", "news-bounces@lists.example", "--yes")
    assert sojourn("mail", "queue", server.config, "delete", *arguments).returncode == 0
    done = sojourn("mail", "reload", server.config)
    said = "changed" if less else "removed"
    assert done.stdout == f"list news-bounces@lists.example {said}\nreloaded\n"


def test_a_stopped_server_is_not_waited_for(server):
    server.process.send_signal(signal.SIGSTOP)
    asks = [("reload", server.config), ("queue", server.config, "flush", "--all")]
    for done in [sojourn("mail", *ask) for ask in asks]:
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "its process is stopped, or busy" in done.stderr
    server.process.send_signal(signal.SIGCONT)
    assert sojourn("mail", "reload", server.config).stdout == "reloaded\n"
