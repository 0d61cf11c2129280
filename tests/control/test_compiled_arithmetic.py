"""Compiled methods beside plain ones: the same bits, or an exception on both sides."""

import math
import random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import shares
from compiled_calls import compiled_call
from random_methods import FIELDS, classes
from sojourn.control.compiling import Compiled, compile, explain  # noqa: A004
from sojourn.control.loading import Definition, explain_error, load, new
from sojourn.control.machine import exact
from sojourn.control.machine.records import HOOKS, Value

pytest.importorskip("numba", reason="compiled classes need Numba")

LEAST, MOST = -(2**63), 2**63 - 1
SPECIAL = {
    "float": (
        *(0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e308, 5e-324, 2.0**53, 2.0**53 + 2.0),
        *(-(2.0**63), 2.0**63, math.inf, -math.inf, math.nan),
    ),
    "int": (0, 1, -1, 2, 3, -7, 63, 2**53, 2**53 + 1, -(2**53) - 1, LEAST, LEAST + 1, MOST),
    "bool": (False, True),
}
CALLED = HOOKS["Control"]
METHODS = 6
CALLS = 60


def drawn(kind: str, source: random.Random) -> Value:
    """A value of a kind: one at an edge, or any."""
    if kind == "bool" or source.random() < 0.4:
        return source.choice(SPECIAL[kind])
    if kind == "int":
        return source.randint(-(2 ** source.randint(1, 63)), 2 ** source.randint(1, 63) - 1)
    return source.choice((1.0, -1.0)) * math.exp(source.uniform(-40, 40))


def same(value: Value, other: Value) -> bool:
    """Whether two numbers have the same type and bits; what is no number has many, all equal."""
    if type(value) is not type(other):
        return False
    if isinstance(value, float) and math.isnan(value):
        return math.isnan(other)
    return value == other and math.copysign(1, value) == math.copysign(1, other)


def check(
    definition: Definition, compiled: Compiled, values: dict[str, Value], number: int
) -> None:
    """One call, plain and compiled."""
    layout = compiled.record
    record = layout.pack(values)
    arguments = CALLED["acked"].arguments.pack({"cumulative": number})
    flow = new(definition, {})(0.0, 0.0, 0, 0)
    for name, value in values.items():
        setattr(flow, name, value)
    expected = None
    try:
        flow.acked(CALLED["acked"].arguments.unpack(arguments))
    except Exception as error:
        expected = explain_error(error, definition)
    status, left, _ = compiled_call(compiled, "acked", record, arguments)
    where = f"method{number} of {values}\n{definition.source}"
    if status == 0:
        assert expected is None, f"only plain: {expected} {where}"
        got = layout.unpack(left)
        for name in values:
            plain, machine = getattr(flow, name), getattr(got, name)
            assert same(plain, machine), f"{name}: {plain!r} plain, {machine!r} compiled: {where}"
        return
    said = explain(definition, "acked", record, arguments)
    if "OverflowError: a whole number beyond 64 bits" not in said:
        assert said == expected, where


@settings(
    max_examples=shares.examples(8),
    deadline=None,
    database=None,
    phases=[Phase.generate],  # a method that fails is small, and compiling many takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(source=classes(METHODS), seed=st.integers(0, 2**32))
def test_random_methods_give_the_same_bits(
    tmp_path_factory: pytest.TempPathFactory, source: str, seed: int
) -> None:
    file = tmp_path_factory.mktemp("random") / "random_cc.py"
    file.write_text(source)
    definition = load(str(file))
    compiled = compile(definition)
    draws = random.Random(seed)
    for number in range(METHODS):
        for _ in range(CALLS):
            values = {name: drawn(kind, draws) for kind, names in FIELDS.items() for name in names}
            check(definition, compiled, values, number)


@given(
    st.integers(LEAST, MOST) | st.sampled_from(SPECIAL["int"]),
    st.integers(LEAST, MOST) | st.sampled_from(SPECIAL["int"]),
)
@settings(max_examples=800, deadline=None)
def test_long_division_rounds_once(above: int, below: int) -> None:
    if below == 0:
        return
    assert same(exact.quotient(above, below), above / below)
