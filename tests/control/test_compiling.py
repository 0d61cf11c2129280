"""A user's class as C functions: their layout, results, failures, and what cannot be compiled."""

import ctypes
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from compiled_calls import compiled_call

from sojourn._internal.errors import InputError
from sojourn import control
from sojourn.control import compiling, mathematics
from sojourn.control.compiling import compile, explain
from sojourn.control.loading import Definition, load, new
from sojourn.control.records import ARGUMENTS

pytest.importorskip("numba", reason="compiled classes need Numba")

GENTLE = """\
from sojourn.control import Ack, Control, Flow, Time, cbrt, us

class Gentle(Control):
    backoff: float = 0.7
    target: Time = 20 * us
    eager: bool = True
    _calm: int = 0
    _hops: int = 0
    _sent: int = 0

    def start(self, flow: Flow) -> None:
        self._hops = flow.hops + flow.bytes * 2 + flow.rate * 3

    def acked(self, ack: Ack) -> None:
        if ack.marked and ack.snd_una >= self._calm:
            self.reduce()
            self._calm = ack.snd_nxt + 1
        elif not ack.marked:
            super().acked(ack)

    def reduce(self) -> None:
        self.cwnd = max(self.cwnd * self.backoff, 1.0)
        self.ssthresh = max(self.cwnd, 2.0)

    def lost(self, flight: int, now: int) -> None:
        self.cwnd = float(flight) / (float(now) - 5.0)
        self.ssthresh = cbrt(self.cwnd)

    def sent(self, sequence: int, now: int) -> None:
        self._sent = sequence * now

    def gap(self, wire: int) -> int:
        return wire * 2 if self.eager else 1000 // (wire - 3)
"""


def written(folder: Path, source: str) -> Definition:
    file = folder / "my_cc.py"
    file.write_text(source)
    return load(str(file))


@pytest.fixture
def gentle(tmp_path: Path) -> Definition:
    return written(tmp_path, GENTLE)


def test_the_record_is_the_window_and_the_fields_in_their_order(gentle: Definition) -> None:
    values = {"backoff": 0.5, "target": 7, "eager": True, "_calm": -1, "_hops": 3}
    template = compile(gentle).template(values)
    assert template == struct.pack("=ddq d q ?7x qqq", 0.0, 0.0, 0, 0.5, 7, True, -1, 3, 0)


def test_each_hook_gets_its_arguments(gentle: Definition) -> None:
    compiled = compile(gentle)
    layout = compiled.record
    assert set(compiled.addresses) == {"start", "acked", "lost", "sent", "gap"}

    def after(hook: str, record: bytes, **arguments: int) -> SimpleNamespace:
        status, left, _ = compiled_call(compiled, hook, record, ARGUMENTS[hook].pack(arguments))
        assert status == 0
        return layout.unpack(left)

    new_flow = compiled.template({"backoff": 0.5, "eager": True})
    assert after("start", new_flow, hops=1, bytes=10, rate=100)._hops == 321
    assert after("sent", new_flow, sequence=6, now=7)._sent == 42
    lost = after("lost", new_flow, flight=12, now=21)
    assert (lost.cwnd, lost.ssthresh) == (0.75, pytest.approx(mathematics.cbrt(0.75), rel=1e-15))
    wide = layout.pack({"cwnd": 10.0, "backoff": 0.5})
    assert after("acked", wide, marked=True, snd_nxt=8).cwnd == 5.0
    assert after("acked", wide, marked=True, snd_nxt=8)._calm == 9
    assert after("acked", wide, cumulative=1).cwnd == 10.1
    _, _, arguments = compiled_call(compiled, "gap", new_flow, ARGUMENTS["gap"].pack({"wire": 9}))
    assert ARGUMENTS["gap"].unpack(arguments).result == 18


def test_a_failed_call_is_explained_as_in_plain_python(
    gentle: Definition, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled = compile(gentle)
    record, arguments = compiled.record.pack({}), ARGUMENTS["gap"].pack({"wire": 3})
    assert compiled_call(compiled, "gap", record, arguments)[0] == 1
    line = 1 + GENTLE.splitlines().index(
        "        return wire * 2 if self.eager else 1000 // (wire - 3)"
    )
    assert explain(gentle, "gap", record, arguments).splitlines() == [
        f"{gentle.file}:{line}: ZeroDivisionError: integer division or modulo by zero",
        f'  File "{gentle.file}", line {line}, in gap',
        "    return wire * 2 if self.eager else 1000 // (wire - 3)",
    ]
    assert capfd.readouterr() == ("", "")


def test_a_whole_number_beyond_64_bits_is_an_error(gentle: Definition) -> None:
    compiled = compile(gentle)
    record = compiled.record.pack({"eager": True})
    arguments = ARGUMENTS["sent"].pack({"sequence": 2**32, "now": 2**31})
    assert compiled_call(compiled, "sent", record, arguments)[0] == 1
    assert "OverflowError: a whole number beyond 64 bits" in explain(
        gentle, "sent", record, arguments
    )


def test_a_class_is_compiled_once_for_all_values(gentle: Definition, tmp_path: Path) -> None:
    again = load(gentle.file)
    assert compile(again) is compile(gentle)
    other = written(tmp_path, GENTLE.replace("0.7", "0.8"))
    assert compile(other) is not compile(gentle)


def test_a_parameter_of_more_than_64_bits_is_refused(gentle: Definition) -> None:
    with pytest.raises(InputError, match=r"^target = 9{20}: expected a whole number of at most 64"):
        compile(gentle).template({"backoff": 0.5, "target": int("9" * 20)})


def test_without_numba_the_message_says_what_to_install(
    gentle: Definition, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling._compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "sojourn.control.backend", raising=False)
    monkeypatch.delattr(control, "backend", raising=False)
    with pytest.raises(InputError) as refused:
        compile(gentle)
    assert str(refused.value) == "compiled = true needs Numba: pip install 'sojourn[compiled]'"
