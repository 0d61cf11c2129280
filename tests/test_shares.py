"""Which cases a run takes (tests/shares.py)."""

import pytest

import shares


@pytest.mark.parametrize(
    ("given", "number", "taken"),
    [("", 8, 2), ("-q", 9, 3), ("", 1, 1), ("--full", 8, 8), ("-q --full", 9, 9)],
)
def test_a_run_draws_a_quarter_of_long_examples_or_all(monkeypatch, given, number, taken):
    monkeypatch.setattr("sys.argv", ["pytest"])
    monkeypatch.setenv("PYTEST_ADDOPTS", given)
    assert shares.examples(number) == taken
