"""The order in which cases run, and the time that is promised for the rest of them."""

import pytest

from conftest import STUDY
from sojourn.execution import inputs
from sojourn.execution.execute import unfinished
from sojourn.execution.schedule import Work, left_s
from sojourn.store.ledger import Ledger, Record

SCHEMES = {"A": 1.0, "B": 3.0}
LOADS = {0.2: 2.0, 0.8: 5.0}


def order(sweep):
    study = inputs.study(STUDY + sweep, "study", [])
    return [tuple(task.case.axes.values()) for task in unfinished(study, Ledger())]


def test_the_heaviest_cases_start_first():
    assert order('[sweep]\nscheme = ["DCTCP", "MinTCP+pFabric"]\nworkload.load = [0.2, 0.6]\n') == [
        ("DCTCP", 0.6),
        ("MinTCP+pFabric", 0.6),
        ("DCTCP", 0.2),
        ("MinTCP+pFabric", 0.2),
    ]
    assert order("[sweep]\nworkload.load = [0.2, 0.6]\nworkload.flows = [30, 600]\n") == [
        (0.6, 600),
        (0.2, 600),
        (0.6, 30),
        (0.2, 30),
    ]


def test_what_is_not_swept_by_number_keeps_its_order():
    sweep = '[sweep]\nscheme.queue.buffer = ["30KB", "3KB", "300KB"]\n'
    assert order(sweep) == [("30KB",), ("3KB",), ("300KB",)]


def test_every_case_comes_once_before_any_comes_again():
    study = inputs.study(STUDY + "[sweep]\nworkload.load = [0.2, 0.6]\n", "study", [])
    tasks = unfinished(study, Ledger(), {0: 3, 1: 2})
    assert [(task.case.axes["load"], task.replication) for task in tasks] == [
        (0.6, 0),
        (0.2, 0),
        (0.6, 1),
        (0.2, 1),
        (0.2, 2),
    ]


def test_finished_cases_are_not_on_the_list():
    study = inputs.study(STUDY, "study", [("run.replications", "3")])
    there = Record(0, 1, 60, 0.5, 0.5, 0, 0, axes={}, parameters={}, figures={})
    assert [task.replication for task in unfinished(study, Ledger([there]))] == [0, 2]


def work(scheme, load, known, spent=0.0):
    total = SCHEMES[scheme] * LOADS[load]
    return Work({"scheme": scheme, "load": load}, 10, spent, total if known else None)


def test_nothing_is_promised_before_anything_is_known():
    assert left_s([work("A", 0.2, known=False)], 2) is None
    assert left_s([], 2) is None


def test_what_is_running_is_extrapolated():
    assert left_s([work("B", 0.8, known=True, spent=11.0)], 2) == pytest.approx(4)
    assert left_s([work("B", 0.8, known=True, spent=15.0)], 2) == 0


def test_cases_that_differ_by_factors_are_foreseen():
    cases = [
        work("A", 0.8, known=True, spent=5.0),
        work("B", 0.8, known=True, spent=15.0),
        work("A", 0.2, known=True, spent=2.0),
        work("B", 0.2, known=False),
    ]
    assert left_s(cases, 1) == pytest.approx(3 * 2)


def test_a_value_of_which_nothing_is_known_changes_nothing():
    cases = [work("A", 0.8, known=True, spent=5.0), work("A", 0.2, known=False)]
    assert left_s(cases, 1) == pytest.approx(5)


def test_more_jobs_take_longer():
    cases = [Work({}, 10, 4.0, 4.0), Work({}, 30)]
    assert left_s(cases, 1) == pytest.approx(12)


def test_the_rest_is_shared_by_the_threads():
    cases = [Work({}, 10, 0.0, 6.0), Work({}, 10, 4.0, 6.0), Work({}, 10), Work({}, 10)]
    # two run for 6 and 2 more seconds; of those that wait, one starts at 2 and one at 6
    assert left_s(cases, 2) == pytest.approx(12)
    assert left_s(cases, 1) == pytest.approx(20)
    assert left_s(cases, 8) == pytest.approx(6)
