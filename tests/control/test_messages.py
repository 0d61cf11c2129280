"""What the author of a class reads when something in it is refused: `messages.txt` has it whole."""

from pathlib import Path

import pytest

from sojourn._internal.errors import InputError
from sojourn.control.loading import load

BEFORE = {
    "body": '''\
"""A class with a mistake."""
import math
from math import sqrt

from sojourn.control import Ack, Control, cbrt, us

LIMIT = 8


def double(x):
    return 2 * x


class Mine(Control):
    gain: float = 0.5
    _count: int = 0
    _open: bool = False

    def note(self):
        self._count += 1

    def acked(self, ack: Ack) -> None:
''',
    "class": """\
import math
from sojourn.control import Ack, Control


class Mine(Control):
""",
    "file": "",
}
"""What stands before the mistake: it is in a hook, in a class, or in a file alone."""

INDENT = {"body": " " * 8, "class": " " * 4, "file": ""}


def cases():
    """The mistakes of `messages.txt`: where each is, its lines, the message."""
    for section in Path(__file__).with_name("messages.txt").read_text().split("\n== ")[1:]:
        place, text = section.split("\n", 1)
        lines = []
        for line in text.splitlines():
            if line.startswith("=> "):
                yield pytest.param(place, lines, line[3:], id=f"{place}: {lines[0]}")
                lines = []
            elif line or lines:
                lines.append(line)


@pytest.mark.parametrize(("place", "lines", "message"), [*cases()])
def test_what_is_refused_has_its_line_and_says_what_to_write(
    place, lines, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{INDENT[place]}{line}\n" for line in lines)
    Path("my_cc.py").write_text(BEFORE[place] + text)
    with pytest.raises(InputError) as refused:
        load("my_cc.py", None if place == "file" else "Mine")
    assert str(refused.value) == message


def test_there_are_many_mistakes():
    assert sum(1 for _ in cases()) > 150
