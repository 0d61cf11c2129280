"""A class from a file: its fields, its hooks, its functions, and an object for each flow."""

import ast
import hashlib
import math
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import sojourn.control
from controllers import ALLOWED, GENTLE, ack
from sojourn._internal.errors import InputError
from sojourn.control import Control, Queue, fields, vocabulary
from sojourn.control.loading import explain_error, load, new


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder; a function that writes a text there and loads it."""
    monkeypatch.chdir(tmp_path)

    def write(text, name=None, file="my_cc.py"):
        Path(file).write_text(text)
        return load(file, name)

    return write


def test_a_definition_says_all_of_a_class(folder):
    found = folder(GENTLE)
    assert (found.file, found.name, found.source) == ("my_cc.py", "Gentle", GENTLE)
    assert found.doc == "Backs off by a fixed factor at a mark, at most once a round trip."
    assert found.sha256 == hashlib.sha256(GENTLE.encode()).hexdigest()
    assert found.fields == (
        fields.Field("backoff", "float", 0.7, "What a mark leaves of the window.", 11),
        fields.Field("target", "time", 22_000_000, "", 13),
        fields.Field("most", "int", 3, "", 14),
        fields.Field("bold", "bool", default=False, line=15),
        fields.Field("_calm", "int", 0, "", 16),
    )
    assert [field.name for field in found.parameters()] == ["backoff", "target", "most", "bold"]
    assert found.hooks == ("acked",)
    assert found.entry == {"acked": "Gentle_acked"}
    assert found.constants == {"COUNT": 3}


def test_methods_become_functions_with_the_users_lines(folder):
    functions = folder(GENTLE).functions
    assert list(functions) == ["Gentle_reduce", "Control_grow", "Control_acked", "Gentle_acked"]
    assert ast.unparse(functions["Gentle_reduce"]) == (
        "def Gentle_reduce(self):\n    self.cwnd = max(self.cwnd * self.backoff, 1.0)"
    )
    assert ast.unparse(functions["Gentle_acked"]) == (
        "def Gentle_acked(self, ack):\n"
        "    if ack.marked and ack.snd_una >= self._calm:\n"
        "        Gentle_reduce(self)\n"
        "        self._calm = ack.snd_nxt + COUNT\n"
        "    elif not ack.marked:\n"
        "        Control_acked(self, ack)"
    )
    assert functions["Gentle_acked"].lineno == 18
    assert functions["Gentle_reduce"].body[0].lineno == 26


def test_an_object_has_its_values_and_no_other_names(folder):
    found = folder(GENTLE)
    make = new(found, {"backoff": 0.5, "target": 7})
    flow, other = make(10.0, math.inf, 0, 0), make(4.0, 2.0, 0, 2)
    assert (flow.cwnd, flow.ssthresh, flow.abc_limit) == (10.0, math.inf, 0)
    assert (flow.backoff, flow.target, flow.most, flow._calm) == (0.5, 7, 3, 0)
    flow.acked(ack(marked=True, snd_nxt=5))
    assert (flow.cwnd, flow._calm, other.cwnd, other._calm) == (5.0, 8, 4.0, 0)
    assert not hasattr(flow, "__dict__")
    with pytest.raises(AttributeError):
        flow.widnow = 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"backof": 1.0}, "Gentle has no parameter 'backof', did you mean 'backoff'?"),
        ({"_calm": 1}, "Gentle has no parameter '_calm'; available: backoff, target, most, bold"),
        ({"backoff": "a"}, "Gentle.backoff = 'a': expected a float"),
        ({"backoff": math.nan}, "Gentle.backoff = nan: expected a float"),
        ({"most": 1.5}, "Gentle.most = 1.5: expected a whole number"),
        ({"most": 2**63}, "Gentle.most = 9223372036854775808: expected a whole number"),
        ({"bold": 1}, "Gentle.bold = 1: expected a truth value"),
        ({"target": True}, "Gentle.target = True: expected a whole number"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(folder, values, message):
    with pytest.raises(InputError) as refused:
        new(folder(GENTLE), values)
    assert str(refused.value) == message


def test_a_whole_number_fits_a_float(folder):
    value = new(folder(GENTLE), {"backoff": 1})(1.0, 1.0, 0, 0).backoff
    assert (value, type(value)) == (1.0, float)


def test_loads_share_nothing(folder):
    first, second = folder(GENTLE), folder(GENTLE)
    assert first.cls is not second.cls
    assert first.functions["Gentle_acked"] is not second.functions["Gentle_acked"]


def test_the_class_is_named_where_there_are_several(folder):
    two = (
        "from sojourn.control import Control\nclass A(Control): pass\nclass B(A):\n    x: int = 1\n"
    )
    assert folder(two, "A").fields == ()
    assert [field.name for field in folder(two, "B").fields] == ["x"]
    with pytest.raises(InputError) as refused:
        folder(two, "Other")
    assert str(refused.value) == "my_cc.py: there is no class 'Other'; available: A, B"


def test_an_inherited_hook_is_that_of_the_class_that_has_it(folder):
    text = """\
from sojourn.control import Control

class A(Control):
    half: float = 0.5
    def lost(self, flight, now):
        self.cut(flight)
    def cut(self, flight):
        self.cwnd = flight * self.half

class B(A):
    half: float = 0.25
    _cuts: int = 0
    def cut(self, flight):
        super().cut(flight)
        self._cuts += 1
"""
    found = folder(text, "B")
    assert found.entry == {"lost": "A_lost"}
    assert list(found.functions) == ["A_cut", "B_cut", "A_lost"]
    assert ast.unparse(found.functions["A_lost"]).endswith("B_cut(self, flight)")
    flow = new(found, {})(10.0, 5.0, 0, 0)
    flow.lost(8, 0)
    assert (flow.cwnd, flow._cuts) == (2.0, 1)
    assert [field.default for field in found.fields] == [0.25, 0]


def test_a_helper_of_control_that_is_overridden_counts_as_a_hook(folder):
    text = """\
from sojourn.control import Control

class A(Control):
    def halve(self, flight):
        self.ssthresh = flight * 0.75
"""
    assert folder(text).entry == {"lost": "Control_lost", "timed_out": "Control_timed_out"}


def test_a_methods_function_has_a_name_that_the_file_does_not_use(folder):
    text = """\
from sojourn.control import Control

def A_sent(x):
    return x + 1

class A(Control):
    _last: int = 0
    def sent(self, sequence, now):
        A_halve = A_sent(sequence)
        self._last = A_halve
"""
    assert folder(text).entry == {"sent": "A_sent_"}


@pytest.mark.parametrize(
    ("body", "written"),
    [
        # A variable that is a float on one path is a float on all.
        ("x = 1\nif ack.marked: x = 0.5\nself.cwnd = x", "x = 1.0|if ack.marked:|x = 0.5"),
        ("x = ack.rtt\nx /= 2\nself.cwnd = x", "x = float(ack.rtt)|x /= 2.0|self.cwnd = x"),
        ("self.cwnd = ack.rtt", "self.cwnd = float(ack.rtt)"),
        ("self.cwnd = ack.rtt / us", "self.cwnd = float(ack.rtt) / 1000000.0"),
        ("self.cwnd = ack.rtt // us", "self.cwnd = float(ack.rtt // us)"),
        ("if ack.rtt > self.cwnd: pass", "if float(ack.rtt) > self.cwnd:|pass"),
        ("if 1 < self.cwnd < ack.rtt: pass", "if 1.0 < self.cwnd < float(ack.rtt):|pass"),
        ("if ack.rtt > 3: pass", "if ack.rtt > 3:|pass"),
        ("self.cwnd = max(self.cwnd, 2, LIMIT)", "self.cwnd = max(self.cwnd, 2.0, 8.0)"),
        ("self.cwnd = 1 if ack.marked else 0.5", "self.cwnd = 1.0 if ack.marked else 0.5"),
        ("self._count += ack.marked", "self._count += int(ack.marked)"),
        ("self._count = -ack.marked", "self._count = -int(ack.marked)"),
        ("self._count = ack.marked", "self._count = int(ack.marked)"),
        ("self._count = floor(ack.rtt)", "self._count = ack.rtt"),
        ("self.cwnd = sqrt(ack.rtt)", "self.cwnd = math.sqrt(float(ack.rtt))"),
        ("self.cwnd = cbrt(8)", "self.cwnd = cbrt(8.0)"),
        ("self.cwnd = math.pi * inf", f"self.cwnd = {math.pi} * 1e309"),
        ("x = ack.rtt or 0.5\nself.cwnd = x", "x = float(ack.rtt) or 0.5|self.cwnd = x"),
        ("if ack.rtt or self.cwnd: pass", "if ack.rtt or self.cwnd:|pass"),
        ("self.cwnd = half(ack.rtt)", "self.cwnd = half(float(ack.rtt))"),
        ("x: float = 3\nself.cwnd = x", "x = 3.0|self.cwnd = x"),
        ("a, b = 1, 0.5\na = b\nself.cwnd = a", "a, b = (1.0, 0.5)|a = b|self.cwnd = a"),
        ("for i in range(ack.marked): pass", "for i in range(int(ack.marked)):|pass"),
    ],
)
def test_whole_numbers_become_floats_where_they_meet(folder, body, written):
    """What is compiled makes a float of a whole number before it compares or divides."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    text = f"""\
import math
from math import floor, inf, sqrt
from sojourn.control import Control, cbrt, us

LIMIT = 8

def half(x):
    return x * 0.5

class A(Control):
    _count: int = 0
    def acked(self, ack):
{lines}
    def sent(self, sequence, now):
        self.cwnd = half(1.5)
"""
    found = folder(text).functions["A_acked"]
    said = [line.strip() for line in ast.unparse(found).split("\n")][1:]
    assert "|".join(said).startswith(written)


def test_a_function_gives_one_kind_of_number(folder):
    text = """\
from sojourn.control import Control

def least(a, b):
    if a < b:
        return a
    return 0.5

class A(Control):
    def sent(self, sequence, now):
        self.cwnd = least(sequence, 3)
"""
    assert ast.unparse(folder(text).functions["least"]) == (
        "def least(a, b):\n    if a < b:\n        return float(a)\n    return 0.5"
    )


def test_all_that_may_be_written_loads_and_runs(folder, capsys):
    found = folder(ALLOWED)
    flow = new(found, {})(10.0, 5.0, 0, 0)
    flow.start(SimpleNamespace(hops=5, bytes=1000, rate=80))
    assert (flow._sum, flow._mean) == (1005, 10.0)
    flow.acked(ack())
    assert capsys.readouterr().out.startswith("total -3 5.4142")
    assert flow.gap(7) == 14
    assert found.hooks == ("start", "acked", "gap")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "my_cc.py: not UTF-8 text (byte 0)"),
        (b"#" * (10**6 + 1), "my_cc.py: over 1,000,000 bytes, expected a class of Python"),
        (b"", "my_cc.py: expected a class of Control or Queue, there is none"),
        (b"x = " + b"(" * 150 + b")" * 150, "my_cc.py:1: expected a constant: "),
        (b"x = " + b"-" * 20_000 + b"1", "my_cc.py: nested too deeply"),
        (b"x = " + b"1 + " * 20_000 + b"1", "my_cc.py: nested too deeply"),
    ],
)
def test_a_file_that_is_none_of_python(tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(tmp_path)
    Path("my_cc.py").write_bytes(data)
    with pytest.raises(InputError) as refused:
        load("my_cc.py")
    assert str(refused.value).startswith(message)


def test_what_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.py")
    Path("folder.py").mkdir()
    for name, message in (
        ("none.py", "cannot read the class's file: none.py: No such file or directory"),
        ("folder.py", "folder.py: expected a file of Python, this is none"),
        ("pipe.py", "pipe.py: expected a file of Python, this is none"),
        ("nu\0ll.py", "nu?ll.py: no name of a file"),
    ):
        with pytest.raises(InputError) as refused:
            load(name)
        assert str(refused.value) == message


def test_a_file_may_begin_with_a_mark_and_end_its_lines_otherwise(tmp_path):
    file = tmp_path / "my_cc.py"
    file.write_bytes(b"\xef\xbb\xbf" + GENTLE.replace("\n", "\r\n").encode())
    assert load(str(file)).functions["Gentle_acked"].lineno == 18


def test_an_exception_is_shown_with_the_users_lines(folder):
    text = """\
from sojourn.control import Control

class A(Control):
    _zero: int = 0
    def acked(self, ack):
        self.divide(ack.rtt)
    def divide(self, rtt):
        self.cwnd = rtt / self._zero
"""
    found = folder(text)
    with pytest.raises(ZeroDivisionError) as raised:
        new(found, {})(1.0, 1.0, 0, 0).acked(ack())
    assert explain_error(raised.value, found).split("\n") == [
        "my_cc.py:8: ZeroDivisionError: float division by zero",
        '  File "my_cc.py", line 6, in acked',
        "    self.divide(ack.rtt)",
        '  File "my_cc.py", line 8, in divide',
        "    self.cwnd = rtt / self._zero",
    ]


def test_a_mistyped_name_is_shown_with_the_nearest(folder):
    found = folder(GENTLE)
    flow = new(found, {})(1.0, 1.0, 0, 0)
    with pytest.raises(AttributeError) as read:
        flow.backof  # noqa: B018
    assert explain_error(read.value, found) == (
        "my_cc.py: AttributeError: Gentle has no field 'backof', did you mean 'backoff'?"
    )


def test_what_can_be_imported_is_what_there_is():
    assert sorted(vocabulary.OFFERED) == sorted(sojourn.control.__all__)


def test_hooks_are_methods():
    for of_class in (Control, Queue):
        assert set(vocabulary.HOOKS[of_class.__name__]) <= set(vars(of_class))


def test_a_class_can_be_used_by_itself():
    class Own(Control):
        gain: float = 1
        _seen: int = 3

    own = Own(gain=0.5, cwnd=4.0)
    assert (own.gain, own._seen, own.cwnd, own.ssthresh) == (0.5, 3, 4.0, math.inf)
    assert Own.__fields__["gain"].default == 1.0
    with pytest.raises(AttributeError, match="Own has no field 'gian'"):
        Own(gian=1.0)


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (str, "a", "Own.x: expected a type of float, int, bool, Time, Bytes, Rate"),
        (float, True, "Own.x: True is no float"),
        (int, 1.5, "Own.x: 1.5 is no int"),
        ("Time", 1.5, "Own.x: 1.5 is no time"),
    ],
)
def test_a_field_of_a_class_in_python_is_checked_too(annotation, value, message):
    with pytest.raises(TypeError) as refused:
        type(Control)("Own", (Control,), {"__annotations__": {"x": annotation}, "x": value})
    assert str(refused.value) == message


def test_a_field_wants_a_default_and_keeps_its_type():
    make = type(Control)
    with pytest.raises(TypeError, match=r"Own\.x: expected a default"):
        make("Own", (Control,), {"__annotations__": {"x": int}})
    with pytest.raises(TypeError, match=r"Own\.cwnd: it is of type float in a base"):
        make("Own", (Control,), {"__annotations__": {"cwnd": int}, "cwnd": 3})
