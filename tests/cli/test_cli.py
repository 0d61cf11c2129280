"""The command's contracts: exit codes, one line for each mistake, one JSON document."""

import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conftest import STUDY, SWEEP, Made, make_run
from sojourn._internal import files
from sojourn._internal.errors import InputError
from sojourn.cli import commands, main
from sojourn.execution import studies


@pytest.fixture
def made(tmp_path):
    """A made-up run directory."""
    cases = [Made({"scheme": "A", "load": load}, [1, 2, 3]) for load in (0.2, 0.8)]
    return make_run(tmp_path / "made", cases).path


def refused(result, *words):
    """It is exit code 2 and one line that says these words."""
    assert (result.code, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert line.startswith("sojourn: ")
    for word in words:
        assert word in line
    return True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["runn"], ["no command 'runn'", "did you mean 'run'"]),
        (["run"], ["Missing argument 'STUDY'"]),
        (["run", "s.toml", "--sed", "1"], ["no option --sed", "did you mean '--seed'"]),
        (["run", "s.toml", "--seed", "x"], ["--seed", "'x' is not a valid integer"]),
        (["run", "s.toml", "--jobs", "x"], ["--jobs", "'x' is not a valid integer"]),
        (["run", "nowhere.toml"], ["nowhere.toml", "No such file"]),
        (["run", "."], ["Is a directory"]),
        (["show", "nowhere"], ["nowhere", "not a run directory"]),
        (["show", __file__], ["not a run directory", "but a file"]),
        (["show", "."], ["not a run directory", "no study.toml"]),
        (["show", "s", "--nosuch"], ["no option --nosuch; available: --by"]),
        (["plot", "s", "-o", ""], ["'--out'", "expected a path"]),
        (["run", "s.toml", "--seed", "-1"], ["'--seed': -1 is not in the range"]),
        (["reproduce", "all", "--figure", "3"], ["--figure: expected one PAPER"]),
        (["init", "nosuch"], ["'nosuch' is not one of them; available: array, fabric, mail"]),
        (["init", "fabric", f"new/{'x' * 300}"], ["xxx.toml: File name too long"]),
        (["init", "fabric", f"new/{'x' * 300}/mine"], ["xxx: File name too long"]),
        (["run", ""], ["'STUDY': expected a path"]),
        (["compare", "a", "b", "--between", ""], ["RUN_B and --between: expected one of them"]),
        (["mail", "watch", "l", "--interval", "1.5s"], ["--interval 1.5s: expected whole seconds"]),
        (["mail", "batch", "l", "--interval", "2d"], ["'2d': expected a time from 1s to 24h"]),
        (
            ["mail", "test", "h", "--to", "a@b", "--timeout", "nan"],
            ["expected a time from 1ms to 1h"],
        ),
        (["mail", "test", "h", "--to", "a@b", "--timeout", "2h"], ["a time from 1ms to 1h"]),
        (["plot", "nowhere", "--kind", "fcd"], ["'fcd' is not one of them", "'fct'"]),
        (["list", "scheme"], ["'scheme'", "did you mean 'schemes'"]),
        (["list", "schemes", "dctpc"], ["no 'dctpc' in schemes", "did you mean 'DCTCP'"]),
        (["bench", "fabrik"], ["'fabrik'", "did you mean 'fabric'"]),
        (["bench", "fabric", "--case", "k6-pfabrik"], ["did you mean 'k6-pfabric'"]),
    ],
)
def test_a_wrong_word(command, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert refused(command(*arguments), *words)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "--by", "scheem,load"], ["no column 'scheem'", "did you mean 'scheme'"]),
        (["show", "--percentiles", "50,x"], ["--percentiles '50,x'", "expected numbers"]),
        (["show", "--percentiles", "150"], ["percentile 150", "expected 0 to 100"]),
        (["plot", "--by", "laod"], ["no column 'laod'", "did you mean 'load'"]),
        (["plot", "--x", "kind"], ["column 'kind' is one of the rows"]),
        (["plot", "--kind", "cdf", "--at", "0.5"], ["no case at 0.5", "0.2, 0.8"]),
        (["plot", "--out", "a.gif"], ["a.gif", ".png, .svg, .pdf"]),
        (["plot", "--out", "a.png"], ["one file for several pictures"]),
    ],
)
def test_a_wrong_option_of_a_run(command, made, arguments, words):
    name, *options = arguments
    assert refused(command(name, made, *options), *words)
    assert not (made / "plots").exists()


def test_a_wrong_study_leaves_nothing_behind(command, study, tmp_path):
    out = tmp_path / "r"
    assert refused(command("run", study, "--set", "workload.lood=0.5", "--out", out), "lood")
    assert refused(command("run", study, "--set", "workload.load", "--out", out), "PATH=VALUE")
    assert refused(command("run", study, "--set", "workload.load=101", "--out", out), "101")
    assert refused(command("run", study, "--set", "topology.rate=10", "--out", out), "rate")
    assert refused(command("run", study, "--seed", "-1", "--out", out), "seed")
    assert refused(command("run", study, "--seed", 10**30, "--out", out), "seed")
    assert refused(command("run", study, "--replications", 0, "--out", out), "replications")
    assert refused(command("run", study, "--replications", 10**6, "--out", out), "at most")
    for jobs in (0, -1, 10**6):
        assert refused(command("run", study, "--jobs", jobs, "--out", out), f"jobs is {jobs}")
    for threads in (0, 65):
        result = command("run", study, "--threads", threads, "--out", out)
        assert refused(result, f"threads is {threads}, expected 1 to 64")
    cluster = ("--scheduler", "tcp://localhost:1", "--threads", 2)
    assert refused(command("run", study, *cluster, "--out", out), "expected 1 on a cluster")
    assert not out.exists()


def test_a_very_long_value_is_cut_in_the_middle(command, study, tmp_path):
    long = f"workload.load={'9' * 5000}"
    result = command("run", study, "--set", long, "--out", tmp_path / "r")
    assert refused(result, "--set workload.load=999", "9 ... 9", "expected a finite number")
    assert len(result.err) < 700


def test_names_that_are_not_text(command, study, tmp_path):
    out = os.fsdecode(bytes(tmp_path) + b"/\xff")
    assert refused(command("run", study, "--out", out, "--json"), "is not UTF-8 text")
    assert refused(command("show", out), "is not UTF-8 text")
    assert command("run", study, "--out", tmp_path / "ünï ☃").code == 0


def test_a_study_without_an_end(command, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_LARGEST", 1000)
    study = tmp_path / "s.toml"
    study.write_text("#" * 1001)
    assert refused(command("run", study, "--out", tmp_path / "r"), "over 1,000 bytes")


def test_a_study_that_is_not_text(command, tmp_path):
    study = tmp_path / "s.toml"
    study.write_bytes(b'title = "\xff"')
    assert refused(command("run", study, "--out", tmp_path / "r"), "s.toml", "not UTF-8")


def test_an_output_that_cannot_be_written(command, study, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("years of work")
    assert refused(command("run", study, "--out", full), "full", "'thesis.txt'", "another --out")
    assert [entry.name for entry in full.iterdir()] == ["thesis.txt"]
    file = full / "thesis.txt"
    assert refused(command("run", study, "--out", file), "not a directory")
    assert refused(command("run", study, "--out", file / "r"), "cannot write there")
    assert file.read_text() == "years of work"


def test_an_unfinished_run_can_be_neither_shown_nor_drawn(command, made):
    (made / "cases.parquet").unlink()
    assert refused(command("show", made), "no case is finished yet")
    assert refused(command("plot", made), "no case is finished yet")


@pytest.mark.parametrize("name", ["study.toml", "meta.json", "cases.parquet"])
def test_a_broken_file_of_a_run(command, made, name):
    (made / name).write_bytes(b"\x00 neither text nor Parquet \xff")
    assert refused(command("show", made), name)


def test_broken_rows(command, made):
    for path in (made / "rows").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    assert refused(command("show", made, "--json"), "case0000-replication000.parquet")


def test_a_table_for_people(command, made):
    result = command("show", made)
    assert (result.code, result.err) == (0, "")
    for word in (
        "made up",
        "slowdown mean",
        "completion time mean [ms]",
        "ideal: one nanosecond",
    ):
        assert word in result.out
    assert "(0,100KB]" not in result.out  # all jobs are of one size


def test_a_terminal_is_not_made_by_the_environment(command, study, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert command("run", study, "--out", tmp_path / "r").err == ""


def test_an_output_that_knows_no_such_letter(made, monkeypatch):
    (made / "study.toml").write_text('title = "four ☃"', encoding="utf-8")
    letters = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(letters, "ascii"))
    for options in ([], ["--json"]):
        assert main(["show", str(made), *options]) == 0
    assert letters.getvalue().startswith(b"four ?")


def test_sigterm_is_like_ctrl_c(command, study, tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    terminated = lambda *_arguments, **_options: os.kill(os.getpid(), signal.SIGTERM)  # noqa: E731
    monkeypatch.setattr(studies, "simulate", terminated)
    result = command("run", study, "--out", tmp_path / "r")
    assert (result.code, result.out, result.err) == (130, "", "sojourn: interrupted\n")
    assert signal.getsignal(signal.SIGTERM) == before


def test_closed_outputs_lead_nowhere(made):
    shell = ["sh", "-c", 'exec "$0" -m sojourn "$1" "$2" >&- 2>&-', sys.executable]
    assert subprocess.run([*shell, "show", made], check=False).returncode == 0
    assert subprocess.run([*shell, "shew", made], check=False).returncode == 2


@pytest.mark.parametrize("columns", [200, 80, 50])
def test_no_number_is_cut_off_on_a_narrow_terminal(made, monkeypatch, columns):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert main(["show", str(made)]) == 0
    said = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    table, _, _ = said.partition("slowdown: completion")
    assert "…" not in table
    lines = [line.split() for line in table.splitlines() if line.startswith(" A ")]
    texts = ["A", "0.2"]
    numbers = [value for line in lines if line[:2] == texts for value in line[2:]]
    assert numbers == ["3", "0", "0", "2", "2", "2.8", "2.9", "2.98", "3", "2e-06", "2.98e-06"]
    assert (len(lines) == 2) == (columns == 200)
    assert max(len(line) for line in table.splitlines()) <= columns


def test_one_document_and_nothing_else(command, made):
    result = command("show", made, "--by", "scheme,load", "--percentiles", "50,99", "--json")
    assert (result.code, result.err) == (0, "")
    first = result.document[0]
    assert first["case"] == {"scheme": "A", "load": 0.2}
    assert {"kind", "bin", "metric", "n", "unfinished", "mean", "ci95", "p50", "max"} <= set(first)
    assert "p90" not in first


def test_what_is_asked_for_twice_is_shown_once(command, made):
    options = ["--by", "load,scheme,load", "--percentiles", "50,99,50"]
    once = ["--by", "load,scheme", "--percentiles", "50,99"]
    assert command("show", made, *options).out == command("show", made, *once).out


def test_pictures_are_written_where_they_are_said_to_be(command, made, tmp_path):
    result = command("plot", made)
    assert result.code == 0
    assert result.out.split() == [
        str(made / "plots" / f"{kind}.png") for kind in ("slowdown", "cdf")
    ]
    one = tmp_path / "deep" / "one.SVG"
    assert command("plot", made, "--kind", "fct", "--out", one).out.split() == [str(one)]
    both = command("plot", made, "--kind", "cdf", "--format", "svg", "--format", "png")
    written = [Path(name) for name in [*result.out.split(), str(one), *both.out.split()]]
    assert all(path.stat().st_size > 1000 for path in written)


def test_every_name_of_the_registry_can_be_listed(command):
    topics = command("list", "--json").document
    assert {"workloads", "topologies", "schemes", "transports", "queues"} <= topics.keys()
    for topic, entries in topics.items():
        assert command("list", topic, "--json").document == entries
        assert entries
        for entry in entries:
            assert command("list", topic, entry["name"], "--json").document == entry
            shown = command("list", topic, entry["name"].upper())
            assert shown.code == 0
            assert all(parameter["name"] in shown.out for parameter in entry["parameters"])
    assert "TCP+DropTail" in command("list", "schemes").out


def paths(group: click.Group = commands) -> Iterator[list[str]]:
    """The words of every command."""
    for name, inner in group.commands.items():
        yield [name]
        if isinstance(inner, click.Group):
            yield from ([name, *path] for path in paths(inner))


def test_help_and_version(command, monkeypatch):
    assert command("--version").out.split()[0] == "sojourn"
    assert "run" in command().out
    assert "Exit codes: 0 done; 1 " in command("--help").out
    monkeypatch.setenv("COLUMNS", "80")
    for words in [[], *paths()]:
        shown = command(*words, "--help")
        assert shown.code == 0
        assert max(map(len, shown.out.splitlines())) <= 80, words


def test_every_command_has_an_example_that_is_a_command():
    for words in paths():
        context, group = (
            commands.make_context("sojourn", [*words, "--help"], resilient_parsing=True),
            commands,
        )
        for word in words:
            group = group.commands[word]
        if isinstance(group, click.Group):
            continue
        lines = re.findall(r"^ {6,}(sojourn .+)$", group.help or "", re.MULTILINE)
        shell = re.findall(r"sojourn [^|>)\n]+", "\n".join(lines) or group.help or "")
        assert shell, words
        for line in shell:
            given = shlex.split(line)[1:]
            inner = commands
            while isinstance(inner, click.Group):
                name, inner, given = inner.resolve_command(context, given)
            with contextlib.suppress(click.FileError, InputError):
                inner.make_context(name, [*given], parent=context, resilient_parsing=True)


def test_every_command_is_in_one_section_of_the_help(command):
    for words in ([], ["mail"]):
        shown = command(*words, "--help").out
        group = commands
        for word in words:
            group = group.commands[word]
        for name in group.commands:
            assert len(re.findall(rf"^  {name} ", shown, re.MULTILINE)) == 1, name


def test_a_name_is_listed_without_its_topic(command):
    shown = command("list", "dctcp")
    assert shown.out.startswith("in schemes:\nDCTCP: ")
    assert [*command("list", "dctcp", "--json").document] == ["schemes", "transports"]
    assert refused(command("list", "dtcp"), "no topic or name 'dtcp'", "did you mean 'dctcp'")


def test_csv_ends_with_the_cautions(command, made):
    lines = command("show", made, "--csv").out.splitlines()
    cautions = [line for line in lines if line.startswith("#")]
    assert cautions == lines[-len(cautions) :]
    assert cautions[0].startswith("# caution: percentiles with fewer than 10 jobs beyond them")
    assert not [line for line in lines[: -len(cautions)] if line.startswith("#")]


def test_nothing_but_errors_is_said(command, study, tmp_path):
    silent = command("run", study, "--out", tmp_path / "out", "--quiet")
    assert (silent.code, silent.out, silent.err) == (0, "", "")
    assert refused(command("run", study, "--out", study, "-q"))
    assert refused(command("run", "-q"), "Missing argument 'STUDY'")
    asked = command("run", study, "--out", tmp_path / "out", "--quiet", "--json")
    assert (asked.err, len(asked.document["cases"])) == ("", 4)


def test_a_reader_that_leaves_early_is_no_error(made):
    arguments = [sys.executable, "-m", "sojourn", "show", str(made), "--json"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        child.stdout.close()
        assert child.stderr.read() == ""
    assert child.returncode == 141


def test_a_bug_is_not_hidden(monkeypatch, study):
    def broken(*_arguments, **_options):
        raise ValueError("a bug")

    monkeypatch.setattr(studies, "simulate", broken)
    with pytest.raises(ValueError, match="a bug"):
        main(["run", str(study)])


# Lines that a hurried author, or a cat, could write into a study.
VALUES = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=20).map(json.dumps),
    st.sampled_from(
        ["true", "[]", "{}", "[1, 'a']", "'10Gbps'", "'-1us'", "'1e999GB'", "1979-05-27"]
    ),
    st.text(max_size=10),
)
KEYS = st.one_of(
    st.sampled_from(
        ["title", "flows", "seed", "kind", "k", "rate", "load", "sizes", "scheme.name"]
    ),
    st.text(max_size=8),
)
LINES = st.one_of(
    st.builds("{} = {}".format, KEYS, VALUES),
    st.builds("[{}]".format, st.sampled_from(["run", "topology", "workload", "sweep", "x", ""])),
    st.text(max_size=30),
)


@st.composite
def damaged(draw):
    """The small study with a few lines replaced, doubled, left out, or put in."""
    lines = (STUDY + SWEEP).splitlines()
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(lines) - 1))
        lines[place : place + draw(st.integers(0, 2))] = draw(st.lists(LINES, max_size=2))
        lines = lines or [""]
    return "\n".join(lines)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.one_of(damaged(), st.text(max_size=200)))
@example(text="")
@example(text="\ufeff" + STUDY)
@example(text=STUDY.replace("0.5", "nan"))
def test_no_study_gets_past_the_error_boundary(text):
    out, err = io.StringIO(), io.StringIO()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # what is a good study after all must not be run: it may ask for years
        patch.setattr(studies, "simulate", lambda *_arguments, **_options: None)
        study, directory = Path(folder, "s.toml"), Path(folder, "r")
        study.write_text(text, encoding="utf-8", errors="replace")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["run", str(study), "--out", str(directory)])
        assert not directory.exists()
    assert (code, out.getvalue()) == (2, "")
    said = err.getvalue().splitlines()
    assert 1 <= len(said) <= 10
    assert all(line.startswith("sojourn: ") for line in said)
    assert "Traceback" not in err.getvalue()


@pytest.mark.parametrize(
    "words", ["show {0}", "show {0} --json", "plot {0} --out {1}", "run {2} --out {1}"]
)
def test_commands_import_what_they_need(made, tmp_path, words):
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    given = [word.format(made, tmp_path / "out", study) for word in words.split()]
    command = [sys.executable, "-X", "importtime", "-m", "sojourn", *given]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = [line.rsplit("|", 1)[-1].strip() for line in ran.stderr.splitlines()]
    packages = {name.split(".")[0] for name in modules if "." in name}
    assert "pyarrow" in packages
    assert packages.isdisjoint({"pandas", "scipy", "dask"})


def test_help_imports_nothing_that_only_a_command_needs():
    command = [sys.executable, "-X", "importtime", "-m", "sojourn", "--help"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = {line.rsplit("|", 1)[-1].strip() for line in ran.stderr.splitlines()}
    assert "click" in modules
    assert modules.isdisjoint({"numpy", "pyarrow", "rich"})


def test_a_million_requests_do_not_fill_the_memory(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        'model = "array"\ndisk = "ST3500630NS"\nlayout = "raid5"\n'
        'workload = { kind = "synthetic", requests = 1000000, blocks = 4, '
        'arrivals = { kind = "poisson", rate = "60/s" } }\n'
    )
    program = (
        "from sojourn.__main__ import run\nfrom sojourn.benchmarks.child import peak_bytes\n"
        "run()\nprint(peak_bytes())"
    )
    command = [sys.executable, "-c", program, "run", str(study), "--out", str(tmp_path / "out")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    # 200 MB as installed by `make build`; the extension of a test build is larger.
    assert int(ran.stdout.split()[-1]) < 215e6
