"""How mailers are set: what is read of their files, and what they are advised."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn._internal.errors import InputError
from sojourn.mail import mailer
from sojourn.mail.mailer import Server, postfix, sendmail
from sojourn.mail.plan import world as worlds
from sojourn.mail.plan.policy import changed, resolved
from sojourn.mail.plan.predict import Scenario

MAIN = """\
# a comment
queue_directory = /var/spool/postfix
slots = 4
smtp_destination_concurrency_limit = $slots
initial_destination_concurrency = 9
default_destination_recipient_limit =
  7
smtp_connect_timeout = 5
maximal_queue_lifetime = 2
smtp_helo_timeout = 1m30s
relayhost = [relay.example]
smtp_connect_timeout = 10s
transport_maps = inline:{ {big.example = slow:}, {other.example = smtp:[mx.example]} }
slow_destination_rate_delay = 20s
"""
MASTER = """\
smtp      inet  n       -       y       -       -       smtpd
smtp      unix  -       -       y       -       30      smtp
  -o smtp_rcpt_timeout=44 -o { smtp_data_init_timeout = 45s }
slow      unix  -       -       y       -       2       smtp
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    (tmp_path / "world.csv").write_text("domain,subscribers\na.example,3\n")
    world = worlds.from_file(tmp_path / "world.csv", None, tmp_path)
    return Scenario(world, tmp_path, {"messages": 2, "arrivals": "regular"}, {}, 1)


def read(folder: Path, **files: str) -> Server:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return mailer.of([str(folder)])


def test_postfix_is_read(tmp_path, scenario):
    server = read(tmp_path / "postfix", main_cf=MAIN, master_cf=MASTER)
    policy, folder = server.policy, tmp_path / "postfix"
    limits = policy["limits"]
    assert (limits["sessions"], limits["destination"], limits["initial"]) == (30, 4, 4)
    assert (limits["recipients"], limits["idle"]) == (7, "2s")
    times = policy["timeouts"]
    assert (times["connect"], times["hello"], times["greeting"]) == ("10s", "90s", "90s")
    assert (times["rcpt"], times["data"], times["quit"]) == ("44s", "45s", "1ms")
    assert policy["lifetime"] == "172800s"
    assert policy["retry"] == {"kind": "backoff", "first": "300s", "most": "4000s", "jitter": 1.0}
    assert policy["domain"] == [{"name": "big.example", "sessions": 1, "per_minute": 3}]
    assert server.not_modelled == (f"{folder}/main.cf:11: relayhost = [relay.example]",)
    # It is a policy of the model.
    assert resolved(scenario.parsed(policy).resolved())["limits"]["sessions"] == 30


def test_postfix_without_files_has_its_defaults():
    server = mailer.of(["postfix"])
    limits = server.policy["limits"]
    assert (limits["sessions"], limits["destination"], limits["initial"]) == (100, 20, 5)
    assert limits["recipients"] == 50
    assert server.policy["timeouts"]["connect"] == "30s"
    assert server.source.startswith("the defaults of Postfix 3.7")


@pytest.mark.skipif(shutil.which("postconf") is None, reason="no postconf (Debian's postfix)")
def test_defaults_are_those_of_postconf():
    known = subprocess.run(["postconf", "-d"], capture_output=True, text=True, check=True).stdout
    defaults = dict(line.split(" = ", 1) for line in known.splitlines() if " = " in line)
    for setting in postfix.SETTINGS:
        value = defaults[setting.name]
        if value.startswith("$"):
            value = defaults[value[1:]]
        assert value == setting.default, setting.name


def test_the_output_of_postconf_is_read(tmp_path):
    (tmp_path / "settings").write_text("mail_version = 3.7.11\ndefault_process_limit = 12\n")
    server = mailer.of([str(tmp_path / "settings")])
    assert (server.mailer, server.policy["limits"]["sessions"]) == ("postfix", 12)


PROVIDERS = {"big.example": ["one.example", "two.example"]}


def advised(server: Server, scenario: Scenario, **changes: object) -> list[tuple[str, str]]:
    now = resolved(scenario.parsed(server.policy).resolved())
    named = {name.replace("__", "."): value for name, value in changes.items()}
    plan = resolved(scenario.parsed(changed(now, named)).resolved())
    assert list(server.advise(now, now, PROVIDERS)) == []
    said = list(server.advise(now, plan, PROVIDERS))
    assert all(one.does and one.harms for one in said)
    return [(one.file, line) for one in said for line in one.lines]


def test_postfix_is_advised_only_what_changes(tmp_path, scenario):
    server = read(tmp_path / "postfix", main_cf=MAIN, master_cf=MASTER)
    overrides = "-o smtp_rcpt_timeout=44 -o { smtp_data_init_timeout = 45s }"
    assert advised(server, scenario, limits__sessions=80, limits__destination=8) == [
        ("master.cf", f"smtp unix - - y - 80 smtp {overrides}"),
        ("main.cf", "smtp_destination_concurrency_limit = 8"),
    ]
    domain = [*server.policy["domain"], {"name": "b.example", "per_minute": 100}]
    lines = advised(server, scenario, domain=domain)
    assert lines == [
        ("master.cf", f"domain2 unix - - y - 4 smtp {overrides}"),
        ("the file of transport_maps", "b.example domain2:"),
        ("main.cf", "domain2_destination_recipient_limit = 7"),
        ("main.cf", "domain2_destination_concurrency_limit = 4"),
        ("main.cf", "domain2_destination_rate_delay = 1s"),
    ]


def test_domains_of_a_provider_share_a_transport_or_a_queue_group(scenario):
    limits = [{"name": "big.example", "by": "provider", "sessions": 3, "per_minute": 40}]
    assert advised(postfix.server([]), scenario, domain=limits) == [
        ("master.cf", "provider1 unix - - y - 3 smtp"),
        ("the file of transport_maps", "one.example provider1:"),
        ("the file of transport_maps", "two.example provider1:"),
        ("main.cf", "provider1_destination_recipient_limit = 50"),
        ("main.cf", "provider1_destination_concurrency_limit = 3"),
        ("main.cf", "provider1_transport_rate_delay = 2s"),
    ]
    said = advised(sendmail.server([]), scenario, domain=limits)
    assert ("the access map", "QGRP:two.example provider1") in said
    assert any("QUEUE_GROUP(`provider1'" in line and "R=3" in line for _, line in said)


def test_no_mailer_is_advised_a_limit_of_all_services(scenario):
    for name in mailer.names():
        lines = advised(mailer.of([name]), scenario, limits__sessions=50)
        assert lines
        assert not any("default_process_limit" in line for _, line in lines)


def test_sendmail_is_read_and_advised(tmp_path, scenario):
    mc = (
        "OSTYPE(`linux')dnl\ndnl define(`confTO_MAIL', `9m')dnl\n"
        "define(`confMAX_QUEUE_CHILDREN', `20')dnl\ndefine(`confTO_CONNECT', `10s')\n"
        "define(`confMIN_QUEUE_AGE', `15m')dnl\ndefine(`confDELIVERY_MODE', `queueonly')dnl\n"
        "QUEUE_GROUP(`list', `P=/var/spool/mqueue/list*, F=f, r=15')dnl\n"
    )
    cf = (
        "V10/Berkeley\nO MaxQueueChildren=20\nO Timeout.connect=10s\nO MinQueueAge=15m\n"
        "O DeliveryMode=queueonly\nQlist, P=/var/spool/mqueue/list*, F=f, r=15\n"
    )
    servers = [
        read(tmp_path / "mc", sendmail_mc=mc),
        read(tmp_path / "cf", sendmail_cf=cf),
    ]
    assert servers[0].policy == servers[1].policy
    for server in servers:
        policy = server.policy
        assert policy["limits"]["sessions"] == 20
        assert (policy["timeouts"]["connect"], policy["timeouts"]["mail"]) == ("10s", "600s")
        assert policy["retry"] == {"kind": "fixed", "every": "900s", "dead": "1800s"}
        assert policy["split"] == {"kind": "chunks", "size": 15}
        assert any("DeliveryMode = queueonly" in told for told in server.not_modelled)
    assert advised(servers[0], scenario, limits__sessions=40, timeouts__connect="5s") == [
        ("sendmail.mc", "define(`confMAX_QUEUE_CHILDREN', `40')dnl"),
        ("sendmail.mc", "define(`confTO_CONNECT', `5s')dnl"),
    ]


def test_exim_is_read_and_advised(tmp_path, scenario):
    text = (
        "remote_max_parallel = 8\nqueue_run_max = 3\nbegin transports\nremote:\n  driver = smtp\n"
        "  max_rcpt = 50\n  connect_timeout = 20s\nbegin retry\n* * F,2h,10m; \\\n  F,3d,4h\n"
    )
    server = read(tmp_path / "exim", exim_conf=text)
    policy = server.policy
    assert (policy["limits"]["sessions"], policy["limits"]["recipients"]) == (8, 50)
    assert policy["timeouts"]["connect"] == "20s"
    assert (policy["retry"]["first"], policy["retry"]["most"]) == ("600s", "14400s")
    assert policy["lifetime"] == f"{3 * 86_400}s"
    assert f"{tmp_path}/exim/exim.conf:2: queue_run_max = 3" in server.not_modelled
    assert advised(server, scenario, limits__sessions=16) == [
        ("exim.conf", "remote_max_parallel = 16")
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "main.cf",
            "smtp_connect_timeout = soon",
            ":1: smtp_connect_timeout = soon, expected a time",
        ),
        ("main.cf", "myhostname = a\nnonsense", ":2: 'nonsense', expected name = value"),
        ("main.cf", "default_process_limit = many", ":1: default_process_limit = many, expected a"),
        ("main.cf", "lifetime = $lifetime\nmaximal_queue_lifetime = $lifetime", "refers to itself"),
        (
            "master.cf",
            "smtp unix - - y - few smtp",
            ":1: maxproc = few, expected a whole number or -",
        ),
        ("master.cf", "smtp unix - - y", ":1: 'smtp unix - - y' has 5 fields, expected the 8"),
        ("sendmail.cf", "V10/x\nO Timeout.mail=soon", ":2: Timeout.mail = soon, expected a time"),
        ("exim.conf", "begin retry\n* * often", ":2: '* * often', expected a retry rule"),
        ("other", "hello", "expected settings of Postfix (main.cf, master.cf, postconf -n)"),
    ],
)
def test_bad_settings_are_one_message(command, tmp_path, name, text, said):
    world = tmp_path / "world.csv"
    world.write_text("domain,subscribers\na.example,3\n")
    (tmp_path / name).write_text(text + "\n")
    done = command("mail", "plan", world, "--mailer", tmp_path / name)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1


def test_settings_of_two_mailers_are_refused(tmp_path):
    (tmp_path / "main.cf").write_text(MAIN)
    (tmp_path / "exim.conf").write_text("begin acl\n")
    with pytest.raises(InputError, match=r"of exim, expected postfix as in .*main\.cf"):
        mailer.of([str(tmp_path / "main.cf"), str(tmp_path / "exim.conf")])
    with pytest.raises(InputError, match=r"none of main\.cf, master\.cf"):
        mailer.of([str(tmp_path.parent)])
