"""Files with random edits: they are refused in one line, or they run without a wrong name."""

from contextlib import redirect_stdout, suppress
from io import StringIO
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers import ALLOWED, EXAMPLES, GENTLE, ack
from sojourn._internal.errors import InputError
from sojourn.control.loading import load, new

# No loop in them, nor in the fragments, may become endless, and no shift fill the memory.
BOUNDED = ALLOWED.replace("while True:", "for turn in range(9):").replace("<<", "*")
GOOD = [GENTLE, BOUNDED, *(path.read_text() for path in sorted(EXAMPLES.glob("*.py")))]

FRAGMENTS = st.sampled_from(
    [
        *("self", "self.", "self.cwnd", "ack", "ack.rtt", "flow.hops", "super()", "now", "wire"),
        *("1", "0.5", "True", "None", "'a'", "9999999999999999999", "1e400", "us", "x", "y"),
        *("(", ")", "[", "]", "{", "}", ":", ",", "=", " = ", " += ", " /= ", " := ", ".", ";"),
        *("+", "-", "*", "**", "/", "//", "%", "@", "~", "&", "|", "==", "<", " and ", " not "),
        *(" if ", " else ", "if x:", "return ", "return 1", "pass", "break", "raise ", "assert "),
        *(
            "def ",
            "class ",
            "lambda: ",
            "import ",
            "from math import ",
            "global ",
            "yield ",
            "del ",
        ),
        *("float", "int", "bool(", "max(", "min(1, ", "abs(", "print(", "math.", "math.sqrt("),
        *(
            ": float",
            ": int",
            ": Ack",
            "-> int",
            "@",
            "async ",
            "await ",
            "try:",
            "with ",
            "*",
            "**",
        ),
        *(
            "\n",
            "    ",
            "        ",
            "\t",
            "\r",
            "\x0c",
            "\\",
            "#",
            '"',
            "'''",
            "\0",
            "é",
            "\u2028",
            "_",
        ),
    ]
)
CUTS = st.tuples(st.floats(0, 1), st.integers(0, 30), FRAGMENTS | st.just("") | st.just("COPY"))


def edited(text, cuts):
    """A text in which parts are cut out, put elsewhere, or replaced."""
    for where, length, put in cuts:
        at = int(where * len(text))
        part = text[at : at + length]
        text = text[:at] + (part + part if put == "COPY" else put) + text[at + length :]
    return text


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("edits") / "my_cc.py"


def loaded(file):
    """The definition, or the message."""
    try:
        return load(str(file))
    except InputError as refused:
        return str(refused)


@settings(max_examples=700, deadline=None, database=None)
@given(text=st.sampled_from(GOOD), cuts=st.lists(CUTS, min_size=1, max_size=3))
def test_what_loads_has_no_unknown_names_and_no_wrong_arguments(file, text, cuts):
    file.write_bytes(edited(text, cuts).encode("utf-8", "surrogatepass"))
    found = loaded(file)
    if isinstance(found, str):
        assert "\n" not in found
        return
    make = new(found, {})
    for hook, arguments in (
        ("start", [SimpleNamespace(hops=5, bytes=10**6, rate=10**10)]),
        ("acked", [ack(marked=True, snd_una=3, snd_nxt=9, delay=30_000_000, now=10**8)]),
        ("acked", [ack(cumulative=0, rtt=10**7)]),
        ("lost", [7, 10**8]),
        ("timed_out", [7, 10**8]),
        ("sent", [7, 10**8]),
        ("gap", [1_200_000]),
    ):
        # Numbers may fail, and what the file raises; a name, a type or a value that lacks may not.
        values = (ArithmeticError, ValueError, AssertionError)
        with redirect_stdout(StringIO()), suppress(*values):
            getattr(make(10.0, 5.0, 2), hook)(*arguments)


@settings(max_examples=150, deadline=None, database=None)
@given(data=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode()))
def test_any_bytes_are_refused_in_one_line(file, data):
    file.write_bytes(data)
    with pytest.raises(InputError) as refused:
        load(str(file))
    assert "\n" not in str(refused.value)
