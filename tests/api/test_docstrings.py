"""Examples in the docstrings of the Python interface run, and every function has one."""

import doctest
import inspect

import pytest

import sojourn
from conftest import PLAN, TWO_RACKS

FUNCTIONS = {
    name: getattr(sojourn, name)
    for name in sojourn.__all__
    if inspect.isfunction(getattr(sojourn, name))
} | {
    "Run": sojourn.Run,
    "Run.summary": sojourn.Run.summary,
    "Run.fairness": sojourn.Run.fairness,
    "Run.plot": sojourn.Run.plot,
}
STUDY = {
    "scheme": "DCTCP",
    "topology": {"kind": "single-switch", "hosts": 4, "rate": "10Gbps", "delay": "1us"},
    "workload": {"kind": "poisson", "sizes": "websearch", "load": 0.5, "flows": 400},
}
BULK = {"kind": "bulk", "start_spread": "0ps", "warm_up": "2ms", "window": "2ms"}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the examples have at hand, in a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("examples"))
        run = sojourn.sweep(STUDY, {"scheme": ["DCTCP", "MinTCP+pFabric"]}, out="out/two-schemes")
        yield {
            "sojourn": sojourn,
            "study": STUDY,
            "run": run,
            "two_racks": TWO_RACKS,
            "array_plan": PLAN,
            "long_flows": sojourn.run({**STUDY, "workload": BULK}, out="out/long"),
        }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_example_runs(names, name):
    found = doctest.DocTestParser().get_examples(inspect.getdoc(FUNCTIONS[name]))
    assert found, f"{name} has no example"
    test = doctest.DocTest(found, {**names}, name, None, None, None)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pytest.mark.parametrize("name", [it for it in FUNCTIONS if it != "Run"])
def test_every_argument_and_the_result_are_described(name):
    function = FUNCTIONS[name]
    doc = inspect.getdoc(function)
    for argument in inspect.signature(function).parameters:
        assert argument == "self" or f"\n    {argument}: " in doc, argument
    assert "\nReturns:\n" in doc
    assert "\nRaises:\n" in doc


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda run: sojourn.Run(run.path), r"expected sojourn\.load\("),
        (lambda run: run.summary(percentiles="99"), "percentile '99': expected a number"),
        (lambda run: run.summary(percentiles=["x"]), "percentile 'x': expected a number"),
        (lambda run: run.summary(by=3), "by is 3, expected a text, or a list of texts"),
        (lambda run: run.plot(by=[3]), r"by is \[3\], expected a text"),
        (lambda run: run.fairness(over=3), "over is 3, expected a text"),
        (lambda _: sojourn.load(3), "3: expected a run, or the path of a run directory"),
        (lambda run: sojourn.compare(run, 3), "3: expected a run, or the path"),
        (lambda run: sojourn.compare(run, run, percentiles="99"), "percentile '99'"),
        (lambda run: sojourn.compare(run, run, metrics=3), "metrics is 3, expected a text"),
        (lambda _: sojourn.report([3], "page.html"), "3: expected a run"),
        (lambda _: sojourn.list_parts(3), "topic is 3, expected the name of a topic"),
        (lambda _: sojourn.sweep(STUDY, {"workload.load": 0.2}), "expected a list of values"),
    ],
)
def test_a_wrong_argument_is_an_input_error(names, call, said):
    with pytest.raises(sojourn.InputError, match=said):
        call(names["run"])
