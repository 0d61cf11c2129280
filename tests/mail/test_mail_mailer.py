"""How mailers are set: what is read of their files, and what they are advised."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn._internal.errors import InputError
from sojourn.mail import mailer
from sojourn.mail.mailer import Server, postfix, sendmail
from sojourn.mail.mailer.postfix_settings import NOT_MODELLED, OTHERS, SETTINGS
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
smtp_helo_timeout = 90s
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
    parted = (line.partition(" =") for line in known.splitlines())
    defaults = {name: value.strip() for name, _, value in parted}
    ours = {setting.name: setting.default for setting in SETTINGS} | NOT_MODELLED | OTHERS
    for name, default in ours.items():
        value = defaults[name]
        while value.startswith("$"):
            value = defaults.get(value[1:], "")
        assert value == default, name


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
    domain = [*server.policy["domain"], {"name": "b.example", "per_minute": 40}]
    lines = advised(server, scenario, domain=domain)
    assert lines == [
        ("master.cf", f"domain2 unix - - y - 4 smtp {overrides}"),
        ("the file of transport_maps", "b.example domain2:"),
        ("main.cf", "domain2_destination_concurrency_limit = 4"),
        ("main.cf", "domain2_destination_rate_delay = 2s"),
    ]


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


@pytest.mark.parametrize(
    ("per_minute", "kept"), [(900, None), (61, None), (60, 60), (45, 30), (30, 30), (7, 6), (1, 1)]
)
def test_postfix_keeps_whole_seconds_between_deliveries(scenario, per_minute, kept):
    server = postfix.server([])
    assert server.keepable(per_minute) == kept
    limits = [{"name": "big.example", "by": "provider", "per_minute": per_minute}]
    delays = [line for _, line in advised(server, scenario, domain=limits) if "delay" in line]
    assert delays == ([f"provider1_transport_rate_delay = {60 // kept}s"] if kept else [])


def test_postfix_needs_no_more_than_its_own_advice(tmp_path, scenario):
    routes = tmp_path / "transport"
    routes.write_text("one.example smtp:[10.0.0.1]\n")
    files = {"main.cf": f"transport_maps = texthash:{routes}\n", "master.cf": "", str(routes): ""}
    limits = [
        {"name": "big.example", "by": "provider", "sessions": 30, "per_minute": 20},
        {"name": "a.example", "sessions": 3},
    ]
    server = read(tmp_path / "before", main_cf=files["main.cf"])
    for file, line in advised(server, scenario, domain=limits, limits__initial=2):
        files[file] += f"{line}\n"
    assert "one.example provider1:[10.0.0.1]\n" in files[str(routes)]
    routes.write_text(files[str(routes)])
    after = read(tmp_path / "after", main_cf=files["main.cf"], master_cf=files["master.cf"])
    assert after.policy["domain"] == [
        {"name": "one.example", "sessions": 30, "per_minute": 20},
        {"name": "two.example", "sessions": 30, "per_minute": 20},
        {"name": "a.example", "sessions": 3},
    ]
    assert any("taken for each of its domains" in told for told in after.not_modelled)
    assert advised(after, scenario, domain=[*after.policy["domain"], limits[0]]) == []


@pytest.mark.parametrize(
    ("main", "part", "value"),
    [
        ("smtp_connect_timeout = 0", "timeouts.connect", f"{90 * 86_400}s"),
        ("smtp_connection_cache_time_limit = 0", "limits.idle", "1ms"),
        ("smtp_connect_timeout = $ipc_timeout", "timeouts.connect", "30s"),
        ("smtp_initial_destination_concurrency = 2", "limits.initial", 2),
        ("smtp_destination_recipient_limit = 1", "limits.initial", 100),
        ("queue_run_delay = 30s", "retry.jitter", 0.1),
        ("2bounce_notice_recipient = x", "limits.recipients", 50),
        ("# unix domain sockets are elsewhere", "limits.recipients", 50),
    ],
)
def test_what_main_cf_means(tmp_path, main, part, value):
    server = read(tmp_path / "postfix", main_cf=f"{main}\nmyhostname = x\n")
    assert mailer.get(server.policy, part) == value
    assert (server.not_modelled == ()) == ("$" not in main)


def test_a_destination_that_is_a_recipient_has_no_limits(tmp_path):
    server = read(tmp_path / "postfix", main_cf="smtp_destination_recipient_limit = 1\n")
    assert not server.has("limits.initial")
    assert not server.has("limits.destination")
    assert server.has("limits.sessions")


@pytest.mark.parametrize(
    ("delay", "domain", "said"),
    [
        ("slow_destination_rate_delay = 20s", {"sessions": 1, "per_minute": 3}, ""),
        ("default_destination_rate_delay = 20s", {"sessions": 1, "per_minute": 3}, "smtp_"),
        ("slow_destination_rate_delay = 45s", {"sessions": 1}, "45s: no whole number a minute"),
        ("slow_destination_rate_delay = 5m", {"sessions": 1}, "5m: no whole number a minute"),
        ("slow_transport_rate_delay = 2s", {"sessions": 2, "per_minute": 30}, ""),
        ("slow_destination_recipient_limit = 1", {"sessions": 9}, "recipient_limit = 1"),
        ("slow_initial_destination_concurrency = 1", {"sessions": 2}, "concurrency = 1"),
    ],
)
def test_limits_of_a_transport(tmp_path, delay, domain, said):
    main = "transport_maps = inline:{a.example=slow:}\nslow_destination_concurrency_limit = 2\n"
    master = "smtp unix - - n - - smtp\nslow unix - - n - 9 smtp\n"
    server = read(tmp_path / "postfix", main_cf=f"{main}{delay}\n", master_cf=master)
    assert server.policy["domain"] == [{"name": "a.example", **domain}]
    assert said in "".join(server.not_modelled)
    assert bool(server.not_modelled) == bool(said)


def test_postfix_is_advised_where_its_settings_are(tmp_path, scenario):
    master = (
        "smtp unix - - n - - smtp -o smtp_connect_timeout=60s "
        "-o smtp_destination_concurrency_limit=3\n"
        "qmgr unix n - n 300 1 qmgr -o minimal_backoff_time=100s\n"
    )
    server = read(tmp_path / "postfix", main_cf="queue_run_delay = 50s\n", master_cf=master)
    policy = server.policy
    assert (policy["timeouts"]["connect"], policy["limits"]["destination"]) == ("60s", 20)
    assert policy["retry"]["first"] == "100s"
    changes = dict(server.tries())["retry"]
    smtp = master.splitlines()[0].replace("- - smtp", "- 9 smtp").replace("60s", "5s")
    assert advised(
        server, scenario, timeouts__connect="5s", limits__sessions=9, retry=changes[1]["retry"]
    ) == [
        ("master.cf", smtp),
        ("master.cf", "qmgr unix n - n 300 1 qmgr -o minimal_backoff_time=60s"),
        ("master.cf", smtp),
    ]


@pytest.mark.parametrize(("run", "jitter", "lines"), [("600s", 1.0, 2), ("20s", 20 / 60, 1)])
def test_the_queue_is_run_as_often_as_predicted(tmp_path, scenario, run, jitter, lines):
    server = read(tmp_path / "postfix", main_cf=f"queue_run_delay = {run}\n")
    retry = dict(server.tries())["retry"][1]["retry"]
    assert (retry["first"], retry["jitter"]) == ("60s", pytest.approx(jitter))
    said = ["minimal_backoff_time = 60s", "queue_run_delay = 60s"][:lines]
    assert [line for _, line in advised(server, scenario, retry=retry)] == said


@pytest.mark.parametrize(("value", "does"), [(200, "more deliveries"), (50, "fewer deliveries")])
def test_advice_says_in_which_direction(scenario, value, does):
    server = postfix.server([])
    now = resolved(scenario.parsed(server.policy).resolved())
    (one,) = server.advise(now, changed(now, {"limits.sessions": value}), {})
    assert one.does.startswith(does)


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
    assert server.not_modelled[:4] == (
        f"{name}:2: queue_only = true",
        f"{name}:17: max_rcpt = ${{if eq{{a}}{{b}}{{1}}{{2}}}}: its default is taken",
        f"{name}:23: transport other: only out is taken",
        "remote_max_parallel: of one message; the model has it for all messages together",
    )
    assert server.not_modelled[4:] == (f"{name}: .ifdef: all branches are read",)


def test_exim_needs_a_queue_runner_as_quick_as_its_retry_rule(scenario):
    assert advised(mailer.of(["exim"]), scenario, retry__first="300s") == [
        ("exim.conf", "*  *  G,21600s,300s,2; F,345600s,21600s"),
        ("how Exim is started", "exim -bd -q300s"),
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
    main, master = f"transport_maps = hash:{tmp_path}/transport\n", "slow unix - - n - 2 smtp\n"
    with pytest.raises(InputError, match=said):
        read(tmp_path / "postfix", main_cf=main, master_cf=master)
