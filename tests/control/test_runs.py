"""Congestion controllers of users, run: errors, stops, threads, parameters, and what lists them."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn
from controllers import STUDY
from random_fabrics import BUILT_IN, EXAMPLES, PLAIN, columns, fabrics
from sojourn._core import Study, StudyError
from sojourn._internal.errors import CodeError
from sojourn.execution import inputs

MISTAKES = """
from sojourn.control import Ack, Control, Flow


class Mistaken(Control):
    which: int = 0
    _acks: int = 0

    def start(self, flow: Flow) -> None:
        if self.which == 1:
            self.cwnd = 0.0

    def acked(self, ack: Ack) -> None:
        self._acks += 1
        if self._acks > 3:
            self.fail(ack)
        super().acked(ack)

    def fail(self, ack: Ack) -> None:
        if self.which == 2:
            self.cwnd = 1.0 / (ack.cumulative - ack.cumulative)
        elif self.which == 3:
            self.cwnd = 1e308 * 10.0 - 1e308 * 10.0
        elif self.which == 4:
            self.cwnd = 2.0**31 * 2.0
        elif self.which == 5:
            self.ssthresh = -1.0
        elif self.which == 6:
            raise ValueError("too many acks")

    def gap(self, wire: int) -> int:
        if self.which == 9:
            return 3_600_000_000_000_001
        return -1 if self.which == 7 else wire
""".replace("2.0**31", "2147483648.0")


@pytest.fixture
def mistaken(tmp_path: Path) -> Path:
    """A study whose class fails in the ways that are swept."""
    (tmp_path / "mine.py").write_text(MISTAKES)
    path = tmp_path / "mine.toml"
    path.write_text(STUDY.replace("ecn = true", "ecn = true, paced = true"))
    return path


@pytest.mark.parametrize(
    ("which", "said"),
    [
        (1, r"mine.py:9: Mistaken.start left cwnd = 0, expected a number above 0, at most \d+"),
        (2, r"mine.py:21: ZeroDivisionError: float division by zero"),
        (3, r"Mistaken.acked left cwnd = NaN, expected a number above 0, at most 2147483648"),
        (
            4,
            r"Mistaken.acked left cwnd = 4294967297, expected a number above 0, at most 2147483648",
        ),
        (5, r"Mistaken.acked left ssthresh = -1, expected a number above 0"),
        (6, r"mine.py:29: ValueError: too many acks"),
        (7, r"mine.py:31: Mistaken.gap returned -1, expected whole picoseconds, at least 0"),
        (9, r"Mistaken.gap returned 3600.000000000001s, expected at most \S+"),
    ],
)
def test_a_mistake_ends_its_case_with_flow_and_time(command, mistaken, tmp_path, which, said):
    out = tmp_path / "out"
    changes = ["--set", f"sweep.scheme.transport.set.which=[0, {which}, 8]"]
    done = command("run", mistaken, *changes, "--out", out)
    assert done.code == 2
    *traceback, line = done.err.strip().splitlines()
    assert re.search(rf"{said} \(flow \d+, at [\d.]+[mun]?s\), in case 1 \(which {which}\)$", line)
    if "Error" in said:
        assert traceback[0].endswith('mine.py", line 16, in acked')
        assert traceback[1].strip() == "self.fail(ack)"
    finished = sojourn.load(out).ledger
    assert [record.case for record in finished] == [0, 2], "the other cases go on"


def test_several_failures_are_counted_and_raised_in_python(mistaken):
    with pytest.raises(CodeError) as raised:
        sojourn.sweep(mistaken, {"scheme.transport.set.which": [2, 6, 0]})
    assert str(raised.value).endswith(", in case 0 (which 2); 1 other case failed too")
    (traceback,) = raised.value.__notes__
    assert traceback.endswith("self.cwnd = 1.0 / (ack.cumulative - ack.cumulative)")


@pytest.mark.parametrize("kind", ["dctcp", "swift"])
def test_threads_change_no_row(kind):
    fabric = next(f for f in fabrics(40) if f.parts["topology"]["kind"] == "fat-tree")
    study = fabric.study(kind, PLAIN)
    assert columns(study, threads=2) == columns(study) == columns(fabric.study(kind, BUILT_IN))


def test_parameters_are_checked_swept_and_written(tmp_path):
    def parse(line: str, more: str = "") -> Study:
        return inputs.study(f"{STUDY}{line}\n{more}", str(tmp_path / "mine.toml"), [])

    (tmp_path / "mine.py").write_text((EXAMPLES / "swift.py").read_text())
    study = parse('set = { base_target = "30us" }', "[sweep]\nscheme.transport.set.ai = [1, 2.5]")
    assert [case.axes for case in study.cases()] == [{"ai": 1.0}, {"ai": 2.5}]
    parameters = study.cases()[1].parameters
    assert parameters["scheme.transport.class"] == "Swift"
    assert parameters["scheme.transport.set.base_target"] == "30us"
    assert parameters["scheme.transport.set.hop_scale"] == "3us", "defaults are written too"
    inputs.provide(study, [], tmp_path)
    again = inputs.study(study.resolved(), str(tmp_path / "study.toml"), [])
    assert again.resolved() == study.resolved()
    for line, said in [
        (
            "set = { base_targt = 1 }",
            r"mine.toml:\d+: unknown key scheme.transport.set.base_targt, .*mean base_target\?",
        ),
        ("set = { base_target = 30 }", r"base_target = 30, expected a time with its unit"),
        ('set = { ai = "much" }', r'set.ai = "much", expected a finite number'),
        ("set = 3", r"scheme.transport.set = 3, expected a table of settings"),
        ('class = "Swft"', r"there is no class 'Swft', did you mean 'Swift'\?"),
    ]:
        with pytest.raises(StudyError, match=said):
            parse(line)


def test_a_class_is_listed_with_its_parameters(command):
    (listed,) = command("list", "transports", EXAMPLES / "swift.py", "--json").document
    assert listed["name"] == "Swift"
    first, *_ = listed["parameters"]
    assert first["name"] in command("list", "transports", EXAMPLES / "swift.py").out
    by_name = {one["name"]: one for one in listed["parameters"]}
    assert by_name["base_target"]["default"] == '"20us"'
    assert by_name["base_target"]["type"].startswith("a time with its unit")
    missing = command("list", "transports", "nothing.py")
    assert (missing.code, missing.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("purpose", "after"), [("transport", "A hook that"), ("queue", "Packets leave")]
)
def test_init_writes_a_class_that_runs_as_its_text_says(
    command, tmp_path, monkeypatch, purpose, after
):
    monkeypatch.chdir(tmp_path)
    file = Path("my_own.py")
    assert command("init", purpose, file).code == 0
    text = file.read_text()
    shown = text[text.index("    topology") : text.index(after)]
    study = file.with_suffix(".toml")
    study.write_text(re.sub(r"(?m)^    ", "", shown).replace("4000", "40"))
    run = sojourn.run(study)
    assert [record.axes for record in run.ledger] == [{"scheme": "MyOwn"}, {"scheme": "DCTCP"}]
    again = command("init", purpose, file)
    assert (again.code, "already exists" in again.err) == (2, True)


def test_estimate_refuses_it_by_name(command, tmp_path):
    (tmp_path / "mine.py").write_text((EXAMPLES / "dctcp.py").read_text())
    (tmp_path / "mine.toml").write_text(STUDY)
    done = command("estimate", tmp_path / "mine.toml")
    assert done.code == 2
    assert 'scheme.transport = "python", expected a transport to estimate' in done.err


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """Children heed SIGINT, also where a shell has started the tests in its background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_a_hook_that_does_not(tmp_path, jobs):
    """On a thread as in a process, where what it prints goes to standard error."""
    (tmp_path / "mine.py").write_text(
        MISTAKES.replace(
            'raise ValueError("too many acks")',
            "print(6)\n            while True:\n                self._acks += 1",
        )
    )
    (tmp_path / "mine.toml").write_text(STUDY + "set = { which = 6 }\n")
    arguments = [sys.executable, "-m", "sojourn", "run", "mine.toml", "--out", "r"]
    with subprocess.Popen(
        [*arguments, "--jobs", jobs],
        cwd=tmp_path,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "6\n", "the hook is in its loop"
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=20)
    assert child.returncode == 130
    assert "interrupted: 0 of 1 case finished" in said


def test_pilots_run_in_processes_too(command, mistaken, tmp_path):
    """What they say of 30 flows is that no number of replications is enough."""
    done = command("run", mistaken, "--precision", "50%", "--out", tmp_path / "out")
    assert done.code == 2
    assert done.err.startswith("sojourn: --precision: replications of 30 jobs are too short")
