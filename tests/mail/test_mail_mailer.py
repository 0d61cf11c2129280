"""How mailers are set: what is read of their files, and what they are advised."""

from pathlib import Path

import pytest

import mailers
from mailers import advised, read
from sojourn._internal.errors import InputError
from sojourn.mail import mailer
from sojourn.mail.mailer import postfix, sendmail
from sojourn.mail.plan import own
from sojourn.mail.plan.predict import Scenario


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return mailers.scenario(tmp_path)


def test_domains_of_a_provider_share_a_transport_or_a_queue_group(scenario):
    limits = [{"name": "big.example", "by": "provider", "sessions": 3, "per_minute": 40}]
    assert advised(postfix.server([]), scenario, domain=limits) == [
        ("master.cf", "provider1 unix - - - - 3 smtp"),
        ("/etc/postfix/transport", "one.example provider1:"),
        ("/etc/postfix/transport", "two.example provider1:"),
        ("a shell", "postmap hash:/etc/postfix/transport"),
        ("main.cf", "transport_maps = hash:/etc/postfix/transport"),
        ("main.cf", "provider1_destination_concurrency_limit = 3"),
        ("main.cf", "provider1_transport_rate_delay = 2s"),
    ]
    said = advised(sendmail.server([]), scenario, domain=limits)
    assert said == [
        ("sendmail.mc", "FEATURE(`access_db')dnl"),
        ("sendmail.mc", "FEATURE(`queuegroup')dnl"),
        ("sendmail.mc", "QUEUE_GROUP(`provider1', `P=/var/spool/mqueue/provider1, F=f, R=3')dnl"),
        ("/etc/mail/access", "QGRP:one.example provider1"),
        ("/etc/mail/access", "QGRP:two.example provider1"),
        ("a shell", "mkdir -m 700 /var/spool/mqueue/provider1"),
        ("a shell", "makemap hash /etc/mail/access < /etc/mail/access"),
    ]


@pytest.mark.parametrize("name", ["sendmail", "exim"])
def test_a_mailer_without_limits_on_rates_keeps_none(name):
    assert mailer.of([name]).keepable(1) is None


def test_our_own_settings_are_advised_as_toml(scenario):
    server = own.server(None)
    assert advised(server, scenario, limits__idle="1s", limits__probes=1) == [
        ("settings.toml", "limits.probes = 1"),
        ("settings.toml", 'limits.idle = "1s"'),
    ]


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
        assert policy["retry"] == {"kind": "fixed", "every": "1800s", "dead": "1800s"}
        assert policy["split"] == {"kind": "chunks", "size": 15}
        assert any("DeliveryMode = queueonly" in told for told in server.not_modelled)
    assert advised(servers[0], scenario, limits__sessions=40, timeouts__connect="5s") == [
        ("sendmail.mc", "define(`confMAX_QUEUE_CHILDREN', `40')dnl"),
        ("sendmail.mc", "define(`confTO_CONNECT', `5s')dnl"),
    ]


@pytest.mark.parametrize(
    ("line", "part", "value"),
    [
        ("O timeout.CONNECT=10s", "timeouts.connect", "10s"),
        ("O Timeout.connect=0", "timeouts.connect", f"{90 * 86_400}s"),
        ("O Timeout.queuereturn.normal=1d", "lifetime", "86400s"),
        ("define(`confTO_QUEUERETURN_NORMAL', `1d')", "lifetime", "86400s"),
        # It can only make a message wait for longer than the time between two runs.
        ("O MinQueueAge=5m", "retry.every", "1800s"),
        ("O MinQueueAge=1h30m", "retry.every", "5400s"),
    ],
)
def test_what_a_line_of_sendmail_means(tmp_path, line, part, value):
    server = read(tmp_path / "sendmail", sendmail_cf=f"V10/x\n{line}\n")
    assert mailer.get(server.policy, part) == value
    assert not any(part.startswith("retry") for part, _ in server.tries())
    assert any("-q of sendmail" in told for told in server.not_modelled)


def test_all_mail_of_sendmail_gets_a_queue_group(tmp_path, scenario):
    server = read(tmp_path / "mc", sendmail_mc="OSTYPE(`linux')\nFEATURE(`access_db')dnl\n")
    assert advised(server, scenario, split={"kind": "chunks", "size": 5}) == [
        ("sendmail.mc", "FEATURE(`queuegroup', `list')dnl"),
        ("sendmail.mc", "QUEUE_GROUP(`list', `P=/var/spool/mqueue/list, F=f, r=5')dnl"),
        ("a shell", "mkdir -m 700 /var/spool/mqueue/list"),
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


EXIM = """\
LIMIT = 9
queue_only
queue_smtp_domains = no
remote_max_parallel = LIMIT
.ifdef MORE
begin routers
local:
  driver = accept
  transport = other
dns:
  driver = dnslookup
  transport = out
begin transports
out:
  driver = smtp
  connect_timeout = 0s
  max_rcpt = ${if eq{a}{b}{1}{2}}
.endif
lmtp:
  driver = lmtp
  command_timeout = 1s
other:
  driver = smtp
  command_timeout = 2s
begin retry
"""


@pytest.mark.parametrize(
    ("rule", "retry"),
    [
        ("* * H,2h,15m,1.5", ("900s", "900s", "7200s")),
        ("* * G,16h,1h,1.5; H,2d,6h,2", ("3600s", "21600s", "172800s")),
        ("WAIT = 5m\n* * F,2h,WAIT", ("300s", "300s", "7200s")),
        ("example.com quota", ("900s", "21600s", "345600s")),
    ],
)
def test_exim_is_read_by_its_sections(tmp_path, rule, retry):
    server = read(tmp_path / "exim", exim_conf=f"{EXIM}{rule}\n")
    policy = server.policy
    assert (policy["limits"]["sessions"], policy["limits"]["recipients"]) == (9, 100)
    assert policy["timeouts"]["connect"] == f"{90 * 86_400}s"
    assert policy["timeouts"]["mail"] == "300s"
    assert (policy["retry"]["first"], policy["retry"]["most"], policy["lifetime"]) == retry
    name = f"{tmp_path}/exim/exim.conf"
    assert server.not_modelled == (
        f"{name}:2: queue_only = true",
        f"{name}:17: max_rcpt = ${{if eq{{a}}{{b}}{{1}}{{2}}}}: its default is taken",
        f"{name}:23: transport other: only out is taken",
        "remote_max_parallel: of one message; the model has it for all messages together",
        "-q of exim, the time between two runs of the queue: taken as half of the first wait",
        f"{name}: .ifdef: all branches are read",
    )


def test_exim_needs_a_queue_runner_as_quick_as_its_retry_rule(scenario):
    assert advised(mailer.of(["exim"]), scenario, retry__first="300s") == [
        ("exim.conf", "*  *  G,21600s,300s,2; F,345600s,21600s"),
        ("how Exim is started", "exim -bd -q150s"),
    ]


LAUGHS = "relayhost = $a0\n" + "".join(f"a{i} = {f'$a{i + 1}' * 10}\n" for i in range(12)) + "a12 ="


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
        ("main.cf", f"smtp_connect_timeout = {'3' * 5000}", "3, expected a time"),
        ("main.cf", f"smtp_connect_timeout = {'3' * 60}x", "3, expected a time"),
        ("main.cf", f"queue_run_delay = {'9' * 400}", "9, expected a time"),
        ("main.cf", f"default_process_limit = {'9' * 5000}", "9, expected a whole number, at most"),
        ("main.cf", LAUGHS, ":1: $a0 expands to over 65,536 characters"),
        (
            "master.cf",
            "smtp unix - - y - 9999999 smtp",
            "9999999, expected a whole number, at most",
        ),
        ("sendmail.cf", "V10/x\nO Timeout.mail=soon", ":2: Timeout.mail = soon, expected a time"),
        ("sendmail.cf", f"V10/x\nQa, P=/x, r={'9' * 5000}", "9, expected a whole number, at most"),
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
    (tmp_path / "main.cf").write_text("myhostname = a\n")
    (tmp_path / "exim.conf").write_text("begin acl\n")
    with pytest.raises(InputError, match=r"of exim, expected postfix as in .*main\.cf"):
        mailer.of([str(tmp_path / "main.cf"), str(tmp_path / "exim.conf")])
    with pytest.raises(InputError, match=r"none of main\.cf, master\.cf"):
        mailer.of([str(tmp_path.parent)])


@pytest.mark.parametrize("names", [["sojourn"], ["postfix", "exim"]])
def test_a_name_that_is_no_file_is_told_the_known_names(names):
    with pytest.raises(
        InputError, match=r"no such file; expected .* postfix, sendmail, exim alone"
    ):
        mailer.of(names)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "a.example slow:\nbad..example slow:",
            r"transport:2: 'bad\.\.example', expected a domain",
        ),
        ("a.example slow:\nA.Example slow:", r"transport:2: a\.example again, as at .*transport:1"),
    ],
)
def test_a_bad_transport_map_is_named_with_its_line(tmp_path, lines, said):
    (tmp_path / "transport").write_text(f"{lines}\n")
    main, master = (
        "transport_maps = hash:$config_directory/../transport\n",
        "slow unix - - n - 2 smtp\n",
    )
    with pytest.raises(InputError, match=said):
        read(tmp_path / "postfix", main_cf=main, master_cf=master)
