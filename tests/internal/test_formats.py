"""TOML as a study is written by hand."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from sojourn._internal.formats import toml_sections

KEYS = st.text("ab.-_ é", min_size=1, max_size=4)
PLAIN = st.one_of(st.integers(-9, 9), st.booleans(), st.text(max_size=5), st.floats(-1, 1))
TABLES = st.recursive(
    st.dictionaries(KEYS, PLAIN, max_size=4),
    lambda tables: st.dictionaries(
        KEYS, st.one_of(PLAIN, tables, st.lists(tables, min_size=1, max_size=3)), max_size=4
    ),
    max_leaves=6,
)


@given(TABLES)
def test_what_is_read_back_is_what_was_written(table):
    assert tomllib.loads(toml_sections(table)) == table


def test_plain_values_come_first_and_short_tables_stay_on_a_line():
    table = {
        "scheme": {"queue": {"a": 1, "b": 2, "c": 3}, "name": "x", "balance": {"kind": "ecmp"}},
        "title": "t",
        "failure": [{"link": "a"}, {"link": "b"}],
    }
    assert toml_sections(table).splitlines() == [
        'title = "t"',
        "",
        "[scheme]",
        'name = "x"',
        'balance = { kind = "ecmp" }',
        "",
        "[scheme.queue]",
        "a = 1",
        "b = 2",
        "c = 3",
        "",
        "[[failure]]",
        'link = "a"',
        "",
        "[[failure]]",
        'link = "b"',
    ]
