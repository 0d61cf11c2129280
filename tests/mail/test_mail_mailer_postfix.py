"""How Postfix is set: what is read of its files, and what it is advised."""

import shutil
import subprocess
from pathlib import Path

import pytest

import mailers
from mailers import advised, read
from sojourn.mail import mailer
from sojourn.mail.mailer import postfix
from sojourn.mail.mailer.postfix_settings import NOT_MODELLED, OTHERS, SETTINGS
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
    return mailers.scenario(tmp_path)


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


@pytest.mark.skipif(
    shutil.which("postconf") is None,
    reason="postconf is not installed: `make programs` does it, with postfix",
)
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
        ("main.cf", "domain2_transport_rate_delay = 2s"),
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
        ("minimal_backoff_time = 0\nqueue_run_delay = 0", "retry.first", "1s"),
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


def test_a_new_transport_has_a_name_of_its_own(tmp_path, scenario):
    server = read(tmp_path / "postfix", master_cf="domain1 unix - - n - 2 smtp\n")
    lines = advised(server, scenario, domain=[{"name": "a.example", "sessions": 3}])
    assert ("/etc/postfix/transport", "a.example domain1_2:") in lines


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
        (
            "slow_destination_recipient_limit = 1\nslow_destination_rate_delay = 20s",
            {"sessions": 9},
            "20s: for each recipient",
        ),
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
