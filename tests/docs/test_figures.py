"""Which figures are older than their engine: tools/figures.py, on small examples."""

import pytest

import figures

NOW = {"fabric/a": "1", "fabric/b": "2", "mail/c": "3"}


@pytest.mark.parametrize(
    ("then", "models", "why"),
    [
        (NOW, ["fabric", "mail"], ""),
        # A golden study that came later says nothing about a run.
        ({"fabric/a": "1", "mail/c": "3"}, ["fabric"], ""),
        (NOW | {"mail/c": "0"}, ["fabric"], ""),
        (NOW | {"mail/c": "0"}, ["fabric", "mail"], "rows have changed since: mail/c"),
        ({}, ["fabric"], "before golden rows were kept"),
    ],
)
def test_a_run_is_old_if_rows_of_its_model_have_changed(then, models, why):
    assert figures.changed(then, NOW, models) == why


def test_every_table_has_runs_and_every_other_is_about_any_model():
    named = {table for tables in figures.MODELS.values() for table in tables}
    assert named <= {*figures.tables(figures.ROOT)}
    assert figures.models_of("sendmail") == ["mail"]
    assert figures.models_of("README") == ["fabric", "array", "mail"]


def test_a_commit_that_is_not_there_is_said():
    run = {"command": "sojourn run a.toml", "commit": "0" * 40}
    assert figures.why_old(run, "README") == "no such commit here"


def test_the_time_of_a_benchmark_is_as_old_as_the_engine():
    then = {"command": "sojourn bench fabric", "commit": figures._git("rev-parse", "HEAD").strip()}
    assert figures.why_old(then, "README") == ""
