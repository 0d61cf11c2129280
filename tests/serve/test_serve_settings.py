"""What `sojourn mail serve`, `mail list` and `mail password` refuse: one line, exit code 2."""

import socket
import subprocess
import sys

import pytest

from listserver import CONFIG, Server, config, sojourn

HASH = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA"

REFUSED = [
    # What is replaced, by what, and what is said of it.
    (HASH, "secret", '29: user.password = "...", expected a hash that begins with $argon2id$'),
    ("[mail]\n", "[mail]\nhallo = 1\n", "4: unknown key mail.hallo"),
    ('hello = "lists.example"', 'hello = "x y"', '4: mail.hello = "x y", expected'),
    ('"127.0.0.2:0"', '"127.0.0.2"', '24: listener.address = "127.0.0.2", expected'),
    ('"lmtp"', '"lmpt"', '21: listener.protocol = "lmpt", expected the name of a'),
    ('["127.0.0.1"]', '["127.0.0.1/8"]', 'reception.trusted = "127.0.0.1/8", expected a network'),
    ('["127.0.0.1"]', "127", "12: reception.trusted = 127, expected"),
    ("[reception]", "[receptoin]", "unknown key receptoin"),
    ('grace = "1s"', 'grace = "soon"', '14: reception.grace = "soon", expected'),
    ('grace = "1s"', 'bounds.recipients = 3', "recipients = 3, expected at least 100"),
    ('grace = "1s"', "hourly.questions = 0", "14: reception.hourly.questions = 0, expected"),
    ('grace = "1s"', "hourly.probs = 9", "(did you mean probes?)"),
    ('grace = "1s"', "reader_hourly = 9", "14: unknown key reception.reader_hourly"),
    ("threshold = 1.0", "threshold = -1.0", "bounces.threshold = -1"),
    ('"news-bounces@lists.example"', '"news-bounces"', 'list.bounces = "news-bounces", expected'),
    (
        "[bounces]",
        "[[list]]\nverp = false\nbounces = 'a-name-of-more-than-31-octets-bounces@x.example'\n"
        "[bounces]",
        "as a probe's token follows, or bounces.probe = false",
    ),
    ("threshold = 1.0", "alarm_share = 2.0", "bounces.alarm_share = 2.0, expected above 0"),
    ("[bounces]", '[[list]]\nbounces = "NEWS-bounces+a=b@lists.example"\n[bounces]', "list."),
    ("[bounces]", "[[dkim]]\ndomain = 'x y'\nselector = 's'\nkey = 'k'\n[bounces]", "dkim.domain"),
    ("[bounces]", "[live]\naddress = 'here'\n[bounces]", 'live.address = "here", expected'),
    (
        "[[user]]",
        "[[user]]\nname = 'ann'\nlists = ['*']\npassword = '" + HASH + "'\n[[user]]",
        "user.name",
    ),
    ('lists = ["*"]\nsenders = ["*"]\n', "", "user.lists is missing, expected what may be sent"),
    (
        'lists = ["*"]',
        'lists = ["new-bounces@lists.example"]',
        '30: user.lists = "new-bounces@lists.example", expected the return path of a [[list]]'
        " (did you mean news-bounces@lists.example?)",
    ),
    ('senders = ["*"]', 'senders = ["*x"]', '31: user.senders = "*x", expected a mail address'),
    (
        "[bounces]",
        "[[submitter]]\nnetworks = ['127.0.0.1']\nlists = ['*']\n[bounces]",
        "outside of reception.trusted",
    ),
    (
        "[bounces]",
        "[[submitter]]\nnetworks = ['127.0.0.3']\n[bounces]",
        "submitter.lists is missing",
    ),
    ('postmaster = "admin@[127.0.0.77]"\n', "", "reception.postmaster is missing"),
    ("[bounces]", "[unsubscribe]\nurl = 'http://x'\n[bounces]", "unsubscribe.url = \"http://x\""),
    ("[bounces]", "[unsubscribe]\nurl = 'https://x'\n[bounces]", "certificate is missing"),
    ("[bounces]", "[unsubscribe]\nurl = 'https://x:70000/'\n[bounces]", "in its normal form"),
    ('grace = "1s"', 'memory = "99MB"', '14: reception.memory = "99MB", expected at least twice'),
    ('protocol = "lmtp"', "implicit_tls = true", "certificate is missing"),
    ("[[user]]", "[[user", "27: not TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "wanted"), REFUSED)
def test_a_mistake_is_refused_by_its_line(tmp_path, old, new, wanted):
    path = tmp_path / "lists.toml"
    text = CONFIG.format(folder=tmp_path, port=9, resolver="127.0.0.1:9", password=HASH)
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    shown = sojourn("mail", "serve", path)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert all(line.startswith(f"sojourn: {path}:") for line in shown.stderr.splitlines())
    assert wanted in shown.stderr
    assert "secret" not in shown.stderr
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "spool is missing"),
        ("spool = 'x'\n[mail]\nhello = 'x'\n", "listener is missing"),
        (
            "spool = 'x'\n[mail]\nhello = 'x'\n[[listener]]\naddress = '127.0.0.1:0'\n",
            "reception.trusted is missing, expected a network, or a user: who may send?",
        ),
        ("spool = '\xff'", "not UTF-8 text (byte 9)"),
    ],
)
def test_what_a_configuration_has_to_have(tmp_path, text, wanted):
    path = tmp_path / "lists.toml"
    path.write_bytes(text.encode("latin-1"))
    shown = sojourn("mail", "serve", path)
    assert shown.returncode == 2
    assert wanted in shown.stderr
    assert all(line.startswith(f"sojourn: {path}") for line in shown.stderr.splitlines())


def test_a_value_laid_over_the_file_is_refused_by_its_name(tmp_path):
    shown = sojourn("mail", "serve", config(tmp_path), "--set", "reception.sessions=0")
    assert shown.returncode == 2
    assert "--set reception.sessions=0: reception.sessions = 0, expected" in shown.stderr


def test_what_the_machine_refuses(tmp_path):
    path = config(tmp_path)
    text = path.read_text("utf-8")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for change, wanted in [
            (text.replace("127.0.0.1:0", f"127.0.0.1:{port}", 1), f"listen at 127.0.0.1:{port}"),
            (text + "[certificate]\nchain = 'no.pem'\nkey = 'no.pem'\n", "no.pem: "),
            (text.replace("[reception]", "[reception]\nrun_as = 'no-one'"), 'run as "no-one"'),
            (text + "[live]\ntoken = 'no.token'\naddress = '127.0.0.1:0'\n", "no.token: No such"),
            (text.replace(f"{tmp_path}/spool", f"{tmp_path}/none/spool"), "none/spool"),
        ]:
            path.write_text(change, "utf-8")
            shown = sojourn("mail", "serve", path)
            assert shown.returncode == 2
            assert wanted in shown.stderr
            assert shown.stderr.count("\n") == 1
    assert sojourn("mail", "serve", tmp_path / "none.toml").returncode == 2


def test_no_second_server_on_a_spool(tmp_path):
    with Server(config(tmp_path)) as server:
        shown = sojourn("mail", "serve", server.config)
        assert shown.returncode == 2
        assert "in use by another process" in shown.stderr
        server.stop()


def test_a_book_that_is_not_there(tmp_path):
    shown = sojourn("mail", "list", config(tmp_path))
    assert shown.returncode == 2
    assert "spool.bounces: no such book of bounces" in shown.stderr
    with Server(config(tmp_path)) as server:
        server.stop()
    assert sojourn("mail", "list", config(tmp_path)).stdout == "no mail came back\n"
    shown = sojourn("mail", "list", config(tmp_path), "--resume", "no address", "a@b")
    assert shown.returncode == 2
    assert "no list 'no address'" in shown.stderr


def test_a_password_is_hashed():
    first, second = (sojourn("mail", "password", "--password", "x").stdout for _ in range(2))
    assert first.startswith("$argon2id$")
    assert first != second


@pytest.mark.parametrize(("given", "code"), [("", 2), ("\n", 2), ("secret\n", 0)])
def test_a_password_by_standard_input(given, code):
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "mail", "password"],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (code, int(code == 2)), done.stderr
    assert done.stdout.startswith("$argon2id$") == (code == 0)
