"""Queues of users, run: which hooks are called, errors, random numbers, and what lists them."""

import math
import re
from pathlib import Path

import pytest

import sojourn
from random_fabrics import EXAMPLES, NEEDS_NUMBA
from sojourn._core import StudyError
from sojourn._internal.classes import of_case
from sojourn._internal.errors import InputError
from sojourn.control import DROP, KEEP, MARK, Packet, Queue
from sojourn.control.loading import load
from sojourn.execution import inputs

STUDY = """
title = "mine"
topology = { kind = "single-switch", hosts = 4 }
workload = { kind = "poisson", sizes = "websearch", load = 0.8, flows = 30 }
[scheme]
name = "mine"
transport = { kind = "dctcp", min_rto = "5ms" }
[scheme.queue]
kind = "python"
file = "mine.py"
"""
"""A study of a class in `mine.py`, to be ended by a line of its queue."""

MISTAKES = """
from sojourn.control import DROP, KEEP, Packet, Queue


class Mistaken(Queue):
    which: int = 0
    _packets: int = 0

    def start(self) -> None:
        if self.which == 1:
            self._packets = self.below(0)

    def enqueue(self, packet: Packet) -> int:
        self._packets += 1
        if self._packets > 100 and self.which == 2:
            return self.divide(packet)
        return 3 if self.which == 3 else KEEP

    def dequeue(self, packet: Packet) -> int:
        if self.which == 5:
            self.refuse()
        return -1 if self.which == 4 else KEEP

    def refuse(self) -> None:
        raise ValueError("refused")

    def divide(self, packet: Packet) -> int:
        return 1500 // (packet.size - packet.size)
"""

HOW = [pytest.param("false", id="plain"), pytest.param("true", id="compiled", marks=NEEDS_NUMBA)]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A study, whose class is in a file beside it."""
    (tmp_path / "mine.py").write_text(MISTAKES)
    (tmp_path / "mine.toml").write_text(STUDY)
    return tmp_path / "mine.toml"


@pytest.mark.parametrize("compiled", HOW)
@pytest.mark.parametrize(
    ("which", "said"),
    [
        (1, r"mine.py:11: ValueError: expected a number of at least 1"),
        (
            2,
            r"mine.py:28: ZeroDivisionError: integer division .* zero \(flow \d+, at \S+\)",
        ),
        (
            3,
            r"mine.py:13: Mistaken.enqueue returned 3, expected .* DROP \(flow \d+, at \S+\)",
        ),
        (
            4,
            r"mine.py:19: Mistaken.dequeue returned -1, expected .* DROP \(flow \d+, at \S+\)",
        ),
    ],
)
def test_a_mistake_ends_its_case(command, mine, compiled, which, said):
    out = mine.with_name("out")
    changes = ["--set", f"sweep.scheme.queue.set.which=[0, {which}, 8]"]
    changes += ["--set", f"scheme.queue.compiled={compiled}"]
    done = command("run", mine, *changes, "--out", out)
    assert done.code == 2
    *traceback, line = done.err.strip().splitlines()
    assert re.search(rf"{said}, in case 1 \(which {which}\)$", line), line
    if which == 2:
        assert traceback[0].endswith('mine.py", line 16, in enqueue')
    finished = sojourn.load(out).ledger
    assert [record.case for record in finished] == [0, 2], "the other cases go on"


@pytest.mark.parametrize("compiled", HOW)
@pytest.mark.parametrize(
    "body", ["raise ValueError('never')", "assert False, 'never'\n        return KEEP"]
)
def test_a_hook_may_always_raise(command, mine, tmp_path, compiled, body):
    text = "from sojourn.control import KEEP, Packet, Queue\n\n\nclass Never(Queue):\n"
    hook = f"    def dequeue(self, packet: Packet) -> int:\n        {body}\n"
    mine.with_name("mine.py").write_text(text + hook)
    _written(mine, f"{STUDY}compiled = {compiled}\n")
    done = command("run", mine, "--out", tmp_path / "out")
    assert done.code == 2
    assert re.search(r"mine.py:6: \w+Error: never \(flow \d+, at ", done.err)


@pytest.mark.parametrize("compiled", HOW)
@pytest.mark.parametrize("hook", ["enqueue", "dequeue"])
def test_a_hook_that_a_class_does_not_have_is_not_called(mine, compiled, hook):
    """The one that it has drops what is no ACK, so nothing arrives."""
    text = f"""
from sojourn.control import DROP, KEEP, Packet, Queue

class Hungry(Queue):
    def {hook}(self, packet: Packet) -> int:
        return DROP if packet.size > 100 else KEEP
"""
    mine.with_name("mine.py").write_text(text)
    mine.write_text(f"{STUDY}compiled = {compiled}\n")
    assert load(str(mine.with_name("mine.py"))).hooks == (hook,)
    run = sojourn.run(mine)
    assert run.rows.to_pandas()["finished_ps"].isna().all()


def test_it_is_tried_without_a_simulation():
    class Half(Queue):
        share: float = 0.5

        def enqueue(self, packet: Packet) -> int:
            return DROP if packet.ect and self.uniform() < self.share else KEEP

    queue, packet = Half(7), Packet(size=1500, ect=True)
    assert [Half(share=1.0).enqueue(packet), Half(share=0.0).enqueue(packet)] == [DROP, KEEP]
    dropped = [queue.enqueue(packet) for _ in range(10_000)].count(DROP)
    assert abs(dropped - 5000) < 4 * math.sqrt(2500)
    assert {queue.below(3) for _ in range(100)} == {0, 1, 2}
    with pytest.raises(ValueError, match="at least 1"):
        queue.below(0)
    with pytest.raises(AttributeError, match="Half has no field 'shares'"):
        Half(shares=1.0)


def test_a_file_may_have_classes_of_both_kinds(mine, command):
    text = (
        (EXAMPLES / "threshold.py").read_text().replace("import KEEP", "import Ack, Control, KEEP")
    )
    other = '\n\nclass Gentle(Control):\n    """Gentle."""\n    backoff: float = 0.7\n'
    mine.with_name("mine.py").write_text(text + other)
    file = mine.with_name("mine.py")
    (listed,) = command("list", "queues", file, "--json").document
    assert (listed["name"], listed["parameters"][0]["default"]) == ("Threshold", '"22.5KB"')
    (listed,) = command("list", "transports", file, "--json").document
    assert listed["name"] == "Gentle"
    study = inputs.study(STUDY, str(mine), [])
    assert study.cases()[0].parameters["scheme.queue.class"] == "Threshold"
    with pytest.raises(StudyError, match="'Gentle' is a class of Control, expected one of Queue"):
        inputs.study(f'{STUDY}class = "Gentle"\n', str(mine), [])
    file.write_text((EXAMPLES / "swift.py").read_text())
    with pytest.raises(StudyError, match="expected a class of Queue, there is none"):
        inputs.study(STUDY, str(mine), [])


def test_parameters_are_checked_swept_and_kept_in_classes_too(mine, tmp_path):
    mine.with_name("mine.py").write_text((EXAMPLES / "codel.py").read_text())
    more = 'set = { target = "20us" }\n[sweep]\nscheme.queue.set.interval = ["1ms", "2ms"]'
    run = sojourn.run(_written(mine, STUDY + more), out=tmp_path / "out")
    assert [record.axes for record in run.ledger] == [{"interval": "1ms"}, {"interval": "2ms"}]
    (kept,) = (tmp_path / "out/code").iterdir()
    assert kept.name.startswith("mine-")
    inside = '{ kind = "python", file = "mine.py", set = { targt = 1 } }'
    classes = f'kind = "classes"\ninside = ["drop-tail", {inside}]\n'
    text = STUDY.replace('kind = "python"\nfile = "mine.py"\n', classes)
    expected = r"unknown key scheme.queue.inside.set.targt, .*did you mean target\?"
    with pytest.raises(StudyError, match=expected):
        inputs.study(text, str(mine), [])
    text = text.replace("targt = 1", 'target = "30us"')
    study = inputs.study(text, str(mine), [])
    (inside,) = of_case(study.cases()[0].parameters).items()
    assert (inside[0], inside[1]["set.target"]) == ("scheme.queue.inside[1]", "30us")
    named = "name = \"[{ kind = 'python', class = 1 }]\""
    odd = inputs.study(text.replace('name = "mine"', named), str(mine), [])
    assert [*of_case(odd.cases()[0].parameters)] == ["scheme.queue.inside[1]"]
    run = sojourn.run(_written(mine, text), out=tmp_path / "classes", jobs=2)
    mine.with_name("mine.py").unlink()
    again = sojourn.run(tmp_path / "classes/study.toml")
    assert again.rows.to_pandas().equals(run.rows.to_pandas())


def test_estimate_refuses_it_by_name(command, mine):
    done = command("estimate", mine)
    assert done.code == 2
    assert 'scheme.queue.class = "Mistaken", expected a queue to estimate' in done.err


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def enque(self, packet: Packet) -> int:\n        return KEEP", "did you mean 'enqueue'?"),
        (
            "def enqueue(self, packet: Packet, now: int) -> int:\n        return KEEP",
            "expected Queue.enqueue(self, packet)",
        ),
        (
            "def enqueue(self, packet: Packet) -> int:\n        if packet.ect: return MARK",
            "Mine.enqueue may end without a whole number",
        ),
        (
            "def dequeue(self, packet: Packet) -> int:\n        return packet.size / 2",
            "expected a whole number, this is a float",
        ),
        (
            "def dequeue(self, packet: Packet) -> int:\n        return packet.bytes",
            "a Packet has no field 'bytes'; available: size, ect",
        ),
        (
            "def dequeue(self, packet: Packet) -> int:\n        return self.__stream__",
            "Mine has no field '__stream__'",
        ),
        (
            "def dequeue(self, packet: Packet) -> int:\n        return self.below(0.5)",
            "argument 'n' of Queue.below: expected a whole number",
        ),
        ("cwnd: float\n", "has no default"),
        ("int: int = 3", "'int' is a type: choose another name for the field"),
        (
            "def drop(self, packet: Packet) -> int:\n        return KEEP",
            "nothing calls Mine.drop: hooks are start, enqueue, dequeue",
        ),
        ("def __init__(self):\n        pass", "write start(self)"),
    ],
)
def test_what_is_refused_says_what_to_write(tmp_path, body, said):
    file = tmp_path / "mine.py"
    names = "KEEP, MARK, Packet, Queue"
    file.write_text(f"from sojourn.control import {names}\n\n\nclass Mine(Queue):\n    {body}\n")
    with pytest.raises(InputError, match=re.escape(said)):
        load(str(file))


def test_decisions_are_three():
    assert (KEEP, MARK, DROP) == (0, 1, 2)


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
