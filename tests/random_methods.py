"""Random methods of a controller: all that a user's file may say, over fields of each kind."""

from functools import cache
from itertools import chain

from hypothesis import strategies as st

FIELDS = {"float": ("_x", "_y", "_z"), "int": ("_i", "_j", "_k"), "bool": ("_p", "_q")}
"""What a random method reads and writes, by kind."""

DEFAULTS = {"float": "0.0", "int": "0", "bool": "False"}

_LITERALS = {
    "float": (
        "0.0",
        "1.0",
        "-1.0",
        "-0.0",
        "0.5",
        "0.1",
        "3.0",
        "1e300",
        "1e-300",
        "5e-324",
        "-2.5",
        "inf",
        "1e17",
    ),
    "int": (
        "0",
        "1",
        "-1",
        "2",
        "3",
        "7",
        "63",
        "64",
        "-5",
        "1000000",
        "9007199254740993",
        "9223372036854775807",
    ),
    "bool": ("True", "False"),
}


def _join(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Texts of a template whose `{}` are drawn."""
    return st.tuples(*parts).map(lambda drawn: template.format(*drawn))


def _any(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


@cache
def expressions(kind: str, depth: int) -> st.SearchStrategy[str]:
    """Expressions of a kind, nested at most so deep."""
    leaves = st.sampled_from([*(f"self.{name}" for name in FIELDS[kind]), *_LITERALS[kind]])
    if depth == 0:
        return leaves
    return st.one_of(leaves, *_OF_KIND[kind](depth - 1))


@cache
def _floats(depth: int) -> list[st.SearchStrategy[str]]:
    real, whole, truth = (expressions(kind, depth) for kind in ("float", "int", "bool"))
    number = st.one_of(real, whole)
    return [
        _join("({} {} {})", real, _any("+", "-", "*", "/", "//", "%"), real),
        _join("({} {} {})", real, _any("+", "-", "*", "/", "//", "%"), whole),
        _join("({} {} {})", whole, _any("+", "-", "*", "/", "//", "%"), real),
        _join("({} / {})", whole, whole),
        _join("({}{})", _any("-", "+"), real),
        _join("{}({}, {})", _any("min", "max"), real, number),
        _join("{}({}, {}, {})", _any("min", "max"), whole, real, number),
        _join("abs({})", real),
        _join("float({})", number),
        _join("math.{}({})", _any("fabs", "sqrt"), real),
        _join("math.copysign({}, {})", real, real),
        _join("({} if {} else {})", real, truth, number),
        _join("self.real({}, {})", real, whole),
    ]


@cache
def _wholes(depth: int) -> list[st.SearchStrategy[str]]:
    real, whole, truth = (expressions(kind, depth) for kind in ("float", "int", "bool"))
    return [
        _join("({} {} {})", whole, _any("+", "-", "*", "//", "%", ">>"), whole),
        # Plain Python would take all memory for a huge count.
        _join("({} << min({}, 70))", whole, whole),
        _join("({} {} {})", whole, _any("&", "|", "^"), whole),
        _join("({} + {})", truth, whole),
        _join("({}{})", _any("-", "+", "~"), whole),
        _join("{}({}, {})", _any("min", "max"), whole, whole),
        _join("{}({}, {}, {})", _any("min", "max"), whole, whole, whole),
        _join("abs({})", whole),
        _join("{}({})", _any("int", "round"), st.one_of(real, whole, truth)),
        _join("math.{}({})", _any("floor", "ceil", "trunc"), real),
        _join("({} if {} else {})", whole, truth, whole),
        _join("self.whole({}, {})", whole, truth),
    ]


@cache
def _truths(depth: int) -> list[st.SearchStrategy[str]]:
    real, whole, truth = (expressions(kind, depth) for kind in ("float", "int", "bool"))
    number = st.one_of(real, whole)
    relation = _any("<", "<=", ">", ">=", "==", "!=")
    return [
        _join("({} {} {})", number, relation, number),
        _join("({} {} self._x + self._i {} {})", number, relation, relation, number),
        _join(
            "({} {} {} {} {})",
            number,
            relation,
            st.sampled_from(FIELDS["int"]).map("self.{}".format),
            relation,
            number,
        ),
        _join("({} {} {})", truth, _any("and", "or", "==", "!="), truth),
        _join("(not {})", st.one_of(truth, number)),
        _join("bool({})", st.one_of(number, truth)),
        _join("math.{}({})", _any("isnan", "isinf", "isfinite"), real),
    ]


_OF_KIND = {"float": _floats, "int": _wholes, "bool": _truths}


@cache
def _assignments() -> st.SearchStrategy[str]:
    def of(kind: str) -> st.SearchStrategy[str]:
        return _join("self.{} = {}", st.sampled_from(FIELDS[kind]), expressions(kind, 3))

    return st.one_of(
        *(of(kind) for kind in FIELDS),
        _join(
            "self.{} {}= {}",
            _any(*FIELDS["float"]),
            _any("+", "-", "*", "/"),
            expressions("float", 2),
        ),
        _join(
            "self.{} {}= {}",
            _any(*FIELDS["int"]),
            _any("+", "-", "*", "//", "%"),
            expressions("int", 2),
        ),
    )


@cache
def _lines(depth: int) -> st.SearchStrategy[list[str]]:
    """A few statements, as lines without their indentation."""
    simple = _assignments().map(lambda text: [text])
    if depth == 0:
        return simple

    def nested(header: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
        return st.tuples(header, _lines(depth - 1)).map(
            lambda drawn: [drawn[0], *(f"    {line}" for line in drawn[1])]
        )

    truth, whole = expressions("bool", 2), expressions("int", 1)
    loop = _join("for step in range(min({}, 3)):", whole)
    block = st.one_of(
        simple,
        nested(_join("if {}:", st.one_of(truth, expressions("float", 1), whole))),
        st.tuples(nested(_join("if {}:", truth)), nested(st.just("else:"))).map(
            lambda pair: pair[0] + pair[1]
        ),
        nested(loop),
        st.just(
            [
                "a = self._x",
                "b = 0",
                "while a > 1.5 and b < 20:",
                "    a, b = a / 2.0, b + 3",
                "self._y = a",
            ]
        ),
        _join("assert {}", truth).map(lambda text: [text]),
        st.just(["if self._i > 2:", '    raise ValueError("too large")']),
    )
    return st.lists(block, min_size=1, max_size=3).map(
        lambda blocks: list(chain.from_iterable(blocks))
    )


_BEGINNING = """\
import math
from math import inf

from sojourn.control import Ack, Control


class Random(Control):
"""
_HELPERS = """
    def real(self, a: float, b: int) -> float:
        if a > b:
            return a - b
        c = a * b
        return c + a

    def whole(self, a: int, b: bool) -> int:
        return a // 2 if b else a * 3 - 1
"""


@st.composite
def classes(draw: st.DrawFn, methods: int) -> str:
    """A file whose class has one hook: `cumulative` chooses among so many random methods in it."""
    text = _BEGINNING
    for kind, names in FIELDS.items():
        text += "".join(f"    {name}: {kind} = {DEFAULTS[kind]}\n" for name in names)
    text += _HELPERS
    for number in range(methods):
        body = "".join(f"        {line}\n" for line in draw(_lines(2)))
        text += f"\n    def method{number}(self, ack: Ack) -> None:\n{body}"
    text += "\n    def acked(self, ack: Ack) -> None:\n"
    for number in range(methods):
        text += f"        if ack.cumulative == {number}:\n            self.method{number}(ack)\n"
    return text
