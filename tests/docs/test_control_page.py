"""The pages on `sojourn.control`: what they list is what there is."""

import importlib.util
import re
from pathlib import Path

import pytest

from sojourn.control import congestion, queues, vocabulary

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/control.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs/tutorials/your-own-congestion-control.md").read_text(encoding="utf-8")
NAMES = re.compile(r"`([\w .]+)`")


@pytest.fixture(scope="module")
def made():
    """The page that `make docs` makes of the docstrings."""
    spec = importlib.util.spec_from_file_location(
        "control_reference", ROOT / "docs/control_reference.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page()


def rows(page):
    return [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]


def test_the_made_page_has_every_name_with_its_words(made):
    named = [re.match(r"\| `(\w+)", row[0])[1] for row in rows(made)]
    wanted = [hook for hooks in vocabulary.HOOKS.values() for hook in hooks]
    wanted += [*vocabulary.OURS, "grow", "halve", "uniform", "below", "ps", "ns", "us", "ms", "s"]
    for told in (congestion.Ack, congestion.Flow, queues.Packet):
        wanted += told.__annotations__
    wanted += [*vocabulary.SHARED, vocabulary.READ_ONLY]
    wanted += ["float", "int", "bool", "Time", "Bytes", "Rate"]
    assert sorted(named) == sorted(wanted)
    assert all(len(row[-1]) > len(" |") + 3 for row in rows(made)), "each is described"


def test_the_page_has_every_hook_as_it_is_written():
    shown = [re.match(r"\| `(\w+)\((.*?)\)`", row[0]) for row in rows(PAGE)]
    hooks = [(found[1], found[2]) for found in shown if found]
    expected = []
    for of_class in (congestion.Control, queues.Queue):
        for name in vocabulary.HOOKS[of_class.__name__]:
            code = getattr(of_class, name).__code__
            expected.append((name, ", ".join(code.co_varnames[: code.co_argcount])))
    assert hooks == expected


@pytest.mark.parametrize(
    "names",
    [
        [*vocabulary.MATH],
        [*vocabulary.MATH_CONSTANTS],
        sorted(vocabulary.OURS),
        sorted(vocabulary.BUILTINS),
    ],
)
def test_the_page_has_all_functions(names):
    lists = [sorted(found.split()) for found in NAMES.findall(PAGE)]
    assert sorted(names) in lists


def test_twenty_lines_are_twenty():
    texts = re.findall(r"<!-- write: my_cc.py -->\n```python\n(.*?)```", TUTORIAL, re.DOTALL)
    lines = [line for line in texts[-1].splitlines() if line]
    assert len(lines) == 20
