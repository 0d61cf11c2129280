"""A user's class as C functions: their layout, results, failures, and what cannot be compiled."""

import ctypes
import random
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from compiled_calls import compiled_call
from sojourn import _core
from sojourn._internal.errors import InputError
from sojourn.control import cbrt, compiling, examples, loading, machine
from sojourn.control.compiling import compile, explain  # noqa: A004
from sojourn.control.loading import Definition, load, new
from sojourn.control.machine.records import HOOKS
from sojourn.control.reading import read_outline
from sojourn.control.vocabulary import OURS

numba = pytest.importorskip("numba", reason="compiled classes need Numba")

CALLED = HOOKS["Control"]

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
    assert template == struct.pack("=ddqq d q ?7x qqq", 0.0, 0.0, 0, 0, 0.5, 7, True, -1, 3, 0)


def test_each_hook_gets_its_arguments(gentle: Definition) -> None:
    compiled = compile(gentle)
    layout = compiled.record
    assert set(compiled.addresses) == {"start", "acked", "lost", "sent", "gap"}

    def after(hook: str, record: bytes, **arguments: int) -> SimpleNamespace:
        status, left, _ = compiled_call(
            compiled, hook, record, CALLED[hook].arguments.pack(arguments)
        )
        assert status == 0
        return layout.unpack(left)

    new_flow = compiled.template({"backoff": 0.5, "eager": True})
    assert after("start", new_flow, hops=1, bytes=10, rate=100)._hops == 321
    assert after("sent", new_flow, sequence=6, now=7)._sent == 42
    lost = after("lost", new_flow, flight=12, now=21)
    assert (lost.cwnd, lost.ssthresh) == (0.75, cbrt(0.75))
    wide = layout.pack({"cwnd": 10.0, "backoff": 0.5})
    assert after("acked", wide, marked=True, snd_nxt=8).cwnd == 5.0
    assert after("acked", wide, marked=True, snd_nxt=8)._calm == 9
    assert after("acked", wide, cumulative=1).cwnd == 10.1
    _, _, arguments = compiled_call(
        compiled, "gap", new_flow, CALLED["gap"].arguments.pack({"wire": 9})
    )
    assert CALLED["gap"].arguments.unpack(arguments).result == 18


def test_a_failed_call_is_explained_as_in_plain_python(
    gentle: Definition, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled = compile(gentle)
    record, arguments = compiled.record.pack({}), CALLED["gap"].arguments.pack({"wire": 3})
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
    arguments = CALLED["sent"].arguments.pack({"sequence": 2**32, "now": 2**31})
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
    monkeypatch.delitem(sys.modules, "sojourn.control.machine.backend", raising=False)
    monkeypatch.delattr(machine, "backend", raising=False)
    with pytest.raises(InputError) as refused:
        compile(gentle)
    assert str(refused.value) == "compiled = true needs Numba: pip install 'sojourn[compiled]'"


EXAMPLES = Path(examples.__file__).parent


@pytest.mark.parametrize("name", ["new_reno", "dctcp", "cubic", "swift", "bbr"])
def test_an_example_compiled_goes_as_it_goes_plain(name: str) -> None:
    definition = load(str(EXAMPLES / f"{name}.py"))
    compiled, draws = compile(definition), random.Random(1)
    flow = new(definition, {})(10.0, 50.0, 0, 2)
    values = {name: getattr(flow, name) for name, _ in compiled.record.fields}
    record = compiled.record.pack(values)
    hooks = list(compiled.addresses)
    for number in range(3000):
        hook = draws.choices(hooks, [hook == "acked" or 0.02 for hook in hooks])[0]
        given = arguments_of(hook, number, draws)
        packed = CALLED[hook].arguments.pack(given)
        unpacked = CALLED[hook].arguments.unpack(packed)
        if CALLED[hook].as_object:
            getattr(flow, hook)(unpacked)
        else:
            given.pop("result", None)
            getattr(flow, hook)(**given)
        status, record, _ = compiled_call(compiled, hook, record, packed)
        plain = compiled.record.pack({name: getattr(flow, name) for name in values})
        assert (status, record) == (0, plain), f"call {number}, {hook} of {given}"


def arguments_of(hook: str, number: int, draws: random.Random) -> dict[str, int]:
    """Arguments of call `number` to a flow of 10 packets a round trip, which is 25 to 400 us."""
    now = number * 10**7
    some = {
        "marked": draws.random() < 0.1,
        "cumulative": draws.randint(0, 3),
        "arrived": draws.randint(0, 3),
        "snd_una": number,
        "snd_nxt": number + 10,
        "repairing": draws.random() < 0.1,
        "rtt": draws.randint(25, 400) * 10**6 + 7,
        "delay": draws.randint(25, 400) * 10**6 + 3,
        "flight": draws.randint(1, 40),
        "sequence": number,
        "now": now,
        "hops": 5,
        "bytes": 10**6,
        "payload": 1460,
        "in_flight": draws.randint(0, 20),
        "delivered": number * 1460,
        "delivered_before": max(number - 10, 0) * 1460,
        "delivery_rate": draws.randint(0, 10**9),
        "limited": draws.random() < 0.1,
        "rate": 10**10,
        "wire": 1200000,
    }
    return {name: some[name] for name, _ in CALLED[hook].arguments.fields if name in some}


def test_a_product_is_rounded_before_it_is_added(tmp_path: Path) -> None:
    fused = """\
from sojourn.control import Ack, Control

class Fused(Control):
    def acked(self, ack: Ack) -> None:
        self.cwnd = self.cwnd * self.cwnd - self.ssthresh
"""
    compiled = compile(written(tmp_path, fused))
    # (1 + 2^-30)^2 is 1 + 2^-29 once rounded; a fused instruction would leave 2^-60.
    record = compiled.record.pack({"cwnd": 1 + 2.0**-30, "ssthresh": 1 + 2.0**-29})
    status, left, _ = compiled_call(compiled, "acked", record, CALLED["acked"].arguments.pack({}))
    assert (status, compiled.record.unpack(left).cwnd) == (0, 0.0)


def test_own_mathematics_is_called_at_its_address(
    gentle: Definition, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = ctypes.cast(ctypes.CDLL(None).floor, ctypes.c_void_p).value
    monkeypatch.setattr(_core, "c_addresses", lambda: [(name, address) for name in OURS])
    compiling._compiled.cache_clear()
    compiled = compile(gentle)
    compiling._compiled.cache_clear()
    arguments = CALLED["lost"].arguments.pack({"flight": 12, "now": 21})
    # The cube root of 0.75 is 0.9: what says 0 is the C library's floor.
    status, left, _ = compiled_call(compiled, "lost", compiled.record.pack({}), arguments)
    assert (status, compiled.record.unpack(left).ssthresh) == (0, 0.0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("self._count = self.cwnd", "assignment to a field of type int of a float"),
        ("self.cwnd = max(self.cwnd, self._count)", "max() of a float and a whole number"),
        ("self.cwnd = 1.0 + self.acked2(1)", "+ of a float and nothing"),
    ],
)
def test_what_numba_refuses_has_its_line(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the checker would refuse before, or mend.
    monkeypatch.setattr(loading, "check", read_outline)
    source = f"""\
from sojourn.control import Ack, Control

class Wrong(Control):
    _count: int = 0

    def acked2(self, one):
        {line if "acked2" not in line else "pass"}

    def acked(self, ack):
        {line if "acked2" in line else "self.acked2(1)"}
"""
    place = source.splitlines().index(f"        {line}") + 1
    definition = written(tmp_path, source)
    with pytest.raises(InputError) as refused:
        compile(definition)
    assert str(refused.value) == f"{definition.file}:{place}: {said} cannot be compiled"


def test_numba_that_is_switched_off_is_named(
    gentle: Definition, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling._compiled.cache_clear()
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    with pytest.raises(InputError) as refused:
        compile(gentle)
    said = "compiled = true: the environment variable NUMBA_DISABLE_JIT forbids it"
    assert str(refused.value) == said


def test_a_class_prints_the_same_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = """\
from sojourn.control import Ack, Control

class Speaking(Control):
    def acked(self, ack: Ack) -> None:
        print("window", self.cwnd, ack.now, ack.marked)
"""
    definition = written(tmp_path, source)
    compiled = compile(definition)
    arguments = CALLED["acked"].arguments.pack({"now": 7, "marked": True})
    compiled_call(compiled, "acked", compiled.record.pack({"cwnd": 0.1}), arguments)
    new(definition, {})(0.1, 1.0, 0, 0).acked(CALLED["acked"].arguments.unpack(arguments))
    assert capfd.readouterr().out == "window 0.1 7 True\n" * 2
