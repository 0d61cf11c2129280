"""Where people begin: studies that come with sojourn, from standard input, and written by init."""

import io
import sys
from pathlib import Path

import pytest
from click import Context

import sojourn
from sojourn.cli.init import models
from sojourn.cli.run import run
from sojourn.execution import studies

SMALL = {
    "fabric": ["--set", "workload.flows=50"],
    "array": ["--set", "workload.requests=200"],
    "mail": ["--set", "list.messages=2", "--set", "internet.subscribers=500"],
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_bundled_study_is_listed_and_can_be_run_by_name(command):
    listed = {one["name"]: one for one in command("list", "studies", "--json").document}
    assert listed.keys() == studies.bundled().keys()
    assert listed["@pfabric/websearch-quick"]["title"] == "pFabric, web search, quick"
    assert not {name for name in listed if name.endswith(("/paper", "/claims"))}
    assert "@pfabric/websearch-quick" in command("list", "studies").out
    assert command("list", "studies", "@pfabric/websearch-quick").out == studies.read(
        studies.bundled()["@pfabric/websearch-quick"]
    )
    done = command(
        "run",
        "@pfabric/websearch-quick",
        "--set",
        "workload.flows=20",
        "--set",
        "sweep.workload.load=[0.5]",
        "--json",
    )
    assert done.code == 0, done.err
    assert done.document["run"] == str(Path("out", "websearch-quick"))
    ran = sojourn.run("@pfabric/websearch-quick", overrides={"workload.flows": 20})
    assert ran.title == "pFabric, web search, quick"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("@pfabrik/websearch-quick", "did you mean '@pfabric/websearch-quick'?"),
        ("@", "no study '@'; `sojourn list studies` names them all"),
        ("@../../etc/passwd", "no study '@../../etc/passwd'"),
    ],
)
def test_a_name_that_no_bundled_study_has(command, name, said):
    for arguments in (["run", name], ["estimate", name], ["list", "studies", name]):
        done = command(*arguments)
        assert (done.code, said in done.err) == (2, True), done.err


def test_the_shell_completes_names_of_bundled_studies():
    argument = next(parameter for parameter in run.params if parameter.name == "study")
    context = Context(run)
    names = [item.value for item in argument.shell_complete(context, "@pfabric/web")]
    assert "@pfabric/websearch-quick" in names
    assert all(name.startswith("@pfabric/web") for name in names)
    assert [item.type for item in argument.shell_complete(context, "mine")] == ["file"]


def test_a_study_from_standard_input(command, monkeypatch):
    def given(text):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        return command("run", "-", "--json")

    text = b'title = "mine"\ntopology = { kind = "single-switch", hosts = 4 }\n'
    done = given(
        text + b'workload = { kind = "poisson", load = 0.3, flows = 20 }\nscheme = "DCTCP"\n'
    )
    assert (done.code, done.document["run"]) == (0, str(Path("out", "stdin")))
    wrong = given(text + b"colour = 1\n")
    assert (wrong.code, "standard input:3: unknown key colour" in wrong.err) == (2, True), wrong.err
    binary = given(b"\xff")
    assert (binary.code, "standard input: not UTF-8 text (byte 0)" in binary.err) == (2, True)


def test_hosts_are_listed(command):
    listed = command("list", "tables", "hosts")
    assert (listed.code, "overhead" in listed.out, "backpressure" in listed.out) == (0, True, True)


@pytest.mark.parametrize("model", models())
def test_a_written_study_runs(command, model):
    written = command("init", model, "mine")
    assert written.out.splitlines() == [
        "wrote mine.toml, and study.schema.json for editors",
        "next: sojourn run mine.toml",
    ]
    text = Path("mine.toml").read_text()
    assert 'title = "mine"' in text
    assert "out/mine" in text
    assert ("[hosts]" in text) == (model == "fabric")
    done = command("run", "mine.toml", *SMALL[model], "--set", "run.replications=1")
    assert done.code == 0, done.err
    again = command("init", model, "mine.toml")
    assert (again.code, "mine.toml already exists; not overwritten" in again.err) == (2, True)
    assert Path("mine.toml").read_text() == text


def test_init_says_what_it_needs(command):
    assert "such as `sojourn init fabric mine`" in command("init").err
    assert "did you mean 'fabric'?" in command("init", "fabrik", "mine").err
    for name in ("a\nb", "", ".", "..", "@mine", "mine/", "mine/.."):
        broken = command("init", "fabric", name)
        assert (broken.code, f"{name!r}: expected the name of a file" in broken.err) == (2, True)
    assert not list(Path().iterdir())
    assert command("init", "fabric", "deep/er/mine").code == 0
    assert Path("deep/er/study.schema.json").exists()
    quoted = command("init", "fabric", 'a "b"')
    assert quoted.out.splitlines()[1] == "next: sojourn run 'a \"b\".toml'"
    assert command("run", 'a "b".toml', "--dry-run").code == 0


def test_init_asks_only_where_asked(command, monkeypatch):
    answers = iter(["array", "mine"])
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    assert command("init", "--ask").out.startswith("wrote mine.toml")
    assert 'model = "array"' in Path("mine.toml").read_text()
