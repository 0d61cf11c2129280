"""The other verbs of the Python interface: they give what their commands give."""

import json

import pytest

import sojourn
from conftest import PLAN, STUDY, SWEEP, TWO_RACKS
from sojourn._internal.formats import json_text


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return sojourn.run(STUDY + SWEEP, out=tmp_path_factory.mktemp("run") / "run")


def test_every_name_is_there():
    for name in sojourn.__all__:
        assert getattr(sojourn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'rnu'"):
        _ = sojourn.rnu


def test_a_verb_is_not_hidden_by_a_package(made, tmp_path):
    sojourn.report(made, tmp_path / "page.html")
    for name in ("compare", "estimate", "plan", "report", "reproduce", "run"):
        assert callable(getattr(sojourn, name)), name


def test_a_comparison_is_that_of_the_command(command, made):
    values = ("DCTCP", "MinTCP+pFabric")
    found = sojourn.compare(made, between={"scheme": values}, percentiles=[90])
    said = command(
        "compare", made.path, "--between", f"scheme={','.join(values)}", "--percentiles", "90"
    )
    assert repr(found) == said.out.rstrip()
    document = json.loads(
        command("compare", made.path, "--between", f"scheme={','.join(values)}", "--json").out
    )
    assert [row["metric"] for row in document["comparisons"]] == [
        one.a.metric for one in sojourn.compare(made, between={"scheme": values})
    ]


def test_two_runs_are_compared_by_object_or_by_path(made):
    both = sojourn.compare(made, str(made.path)), sojourn.compare(made.path, made)
    assert repr(both[0]) == repr(both[1])


@pytest.mark.parametrize(
    "given", [{}, {"b": "x", "between": {"scheme": ("A", "B")}}, {"between": {}}]
)
def test_a_comparison_of_nothing_is_refused(made, given):
    with pytest.raises(sojourn.InputError, match="expected a second run, or `between`"):
        sojourn.compare(made, **given)


@pytest.mark.parametrize("values", [("DCTCP",), "DCTCP", ("DCTCP", "MinTCP+pFabric", "NDP")])
def test_two_values_are_compared(made, values):
    with pytest.raises(sojourn.InputError, match=r"between: scheme is .*, expected two values"):
        sojourn.compare(made, between={"scheme": values})


def test_one_metric_or_percentile_needs_no_list(made):
    values = ("DCTCP", "MinTCP+pFabric")
    one = sojourn.compare(made, between={"scheme": values}, metrics="slowdown", percentiles=99)
    assert {found.a.metric for found in one} == {"slowdown"}
    assert one.percentiles == ("p99",)


def test_a_report_of_one_run_or_of_several(made, tmp_path):
    for name, runs in (("one", made), ("two", [made, str(made.path)])):
        path = sojourn.report(runs, tmp_path / f"{name}.html", title="both")
        assert "<title>both</title>" in path.read_text()
    with pytest.raises(sojourn.InputError, match=r"ends in \.html"):
        sojourn.report(made, tmp_path / "page.pdf")
    with pytest.raises(sojourn.InputError, match="expected at least one run"):
        sojourn.report([], tmp_path / "page.html")


def test_parts_are_those_of_the_command(command):
    assert sojourn.list_parts() == json.loads(command("list", "--json").out)
    assert sojourn.list_parts("layouts") == json.loads(command("list", "layouts", "--json").out)
    with pytest.raises(sojourn.InputError, match="no topic or name 'layots'"):
        sojourn.list_parts("layots")


def test_a_picture_has_a_suffix(made, tmp_path):
    picture = made.plot()
    picture.write(str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").exists()
    with pytest.raises(sojourn.InputError, match=r"expected a name that ends in \.png, \.svg"):
        picture.write(tmp_path / "a.gif")
    assert [*tmp_path.iterdir()] == [tmp_path / "a.svg"]


def test_one_paper_at_a_time_is_reproduced(tmp_path):
    with pytest.raises(sojourn.InputError, match="expected one paper"):
        sojourn.reproduce("all", tmp_path)
    with pytest.raises(sojourn.InputError, match="pfabrik"):
        sojourn.reproduce("pfabrik", tmp_path)


def test_a_plan_is_that_of_the_command(command, tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    choice = sojourn.plan(PLAN)
    assert json.loads(json_text(choice)) == json.loads(command("array", "plan", file, "--json").out)
    with pytest.raises(sojourn.StudyError, match=r"^overrides, plan\.targt"):
        sojourn.plan(file, overrides={"plan.targt": "p99 < 1ms"})


def test_an_estimate_is_that_of_the_command(command, tmp_path):
    file = tmp_path / "large.toml"
    file.write_text(TWO_RACKS)
    command("estimate", file, "--out", tmp_path / "command", "--force")
    found = sojourn.estimate(file, tmp_path / "python")
    assert found.rows.equals(sojourn.load(tmp_path / "command").rows)
    with pytest.raises(sojourn.StudyError, match="scheme"):
        sojourn.estimate(STUDY, tmp_path / "no", overrides={"scheme": "Ideal"})
