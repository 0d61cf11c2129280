"""What works without the distribution `sojourn-mail`, and what the rest then says."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import STUDY

ROOT = Path(__file__).parents[2]
MISSING = 'sojourn: the list server is not installed: pip install "sojourn[mail]"\n'
LOG = (
    "Mar  1 10:00:00 mx postfix/smtp[1]: 4F2A13C0D1: to=<ann@a.example>,"
    " relay=m.a.example[192.0.2.1]:25, delay=1, delays=0.1/0.1/0.4/0.4, dsn=2.0.0,"
    " status=sent (250 ok)\n"
)
# Standard input has the arguments of a command per line, in JSON; its exit code follows.
COMMANDS = """\
import json, sys
sys.modules["sojourn_mail"] = None  # as if it were not installed
from sojourn.cli import main
for line in sys.stdin:
    code = main(json.loads(line))
    print(f"exit code {code}", file=sys.stderr, flush=True)
"""
OF_THE_SERVER = [
    ["mail", "deliver", "message.eml", "--list", "subscribers.txt"],
    ["mail", "demo"],
    ["mail", "internet", "world.toml"],
    ["mail", "serve", "lists.toml"],
    ["mail", "queue"],
    ["mail", "queue", "hold", "--all"],
    ["mail", "reload", "lists.toml"],
    ["mail", "shaping", "a.example"],
    ["mail", "list", "lists.toml"],
    ["mail", "keys", "lists.toml"],
    ["mail", "password", "--password", "secret"],
    ["mail", "spool", "check"],
    ["mail", "late", "--spool", "spool"],
    ["mail", "plan", "mail.log", "--config", "lists.toml"],
    ["doctor", "--spool", "spool"],
    ["bench", "mail", "--case", "clean"],
    ["list", "mail-servers"],
]
OF_THE_REST = [
    ["run", "study.toml", "--out", "run"],
    ["show", "run"],
    ["list"],
    ["list", "policies"],
    ["schema"],
    ["doctor"],
    ["mail", "stats", "mail.log"],
    ["mail", "batch", "mail.log"],
    ["mail", "watch", "mail.log", "--replay"],
    ["mail", "late", "mail.log"],
    ["mail", "trace", "ann@a.example", "mail.log"],
    ["mail", "fit", "mail.log", "--out", "internet.csv"],
    ["mail", "plan", "mail.log", "--out", "plan"],
]


def told(folder: Path, commands: list[list[str]]) -> list[str]:
    """What each command says on standard error, with its exit code."""
    asked = "".join(f"{json.dumps(command)}\n" for command in commands)
    run = [sys.executable, "-c", COMMANDS]
    said = subprocess.run(run, cwd=folder, input=asked, capture_output=True, text=True, check=True)
    return said.stderr.split("exit code ")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "mail.log").write_text(LOG)
    for name in ("message.eml", "subscribers.txt", "world.toml", "lists.toml", "spool"):
        (tmp_path / name).write_text("\n")
    return tmp_path


def test_a_command_of_the_server_says_how_to_install_it(folder):
    said = told(folder, OF_THE_SERVER)
    assert said == [MISSING, *[f"2\n{MISSING}"] * (len(OF_THE_SERVER) - 1), "2\n"]


def test_all_other_commands_work_without_it(folder):
    said = told(folder, OF_THE_REST)
    assert [end[0] for end in said[1:]] == ["0"] * len(OF_THE_REST), said


def test_from_python_it_says_the_same():
    code = f"""
import sys
sys.modules["sojourn_mail"] = None
import sojourn
assert "mail-servers" not in sojourn.list_parts()
for name in ("delivery", "serving", "spools", "operate", "shaping", "suppression"):
    try:
        __import__(f"sojourn.mail.{{name}}")
    except sojourn.InputError as error:
        assert isinstance(error, ImportError)
        assert f"sojourn: {{error}}\\n" == {MISSING!r}, error
    else:
        raise AssertionError(name)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_of_another_version_is_refused(folder):
    code = COMMANDS.replace("None ", "type(sys)('sojourn_mail')").replace(
        "from sojourn.cli", "sys.modules['sojourn_mail'].__version__ = '0'; from sojourn.cli"
    )
    asked = json.dumps(["mail", "queue"])
    run = [sys.executable, "-c", code]
    said = subprocess.run(run, cwd=folder, input=asked, capture_output=True, text=True, check=True)
    assert "cannot use sojourn-mail 0: pip install" in said.stderr
    assert said.stderr.endswith("exit code 2\n")


def test_the_extra_asks_for_this_version():
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["mail"] == [f"sojourn-mail=={version}"]
