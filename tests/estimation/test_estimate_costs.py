"""`sojourn estimate`: what it would cost, what the exact run would, and what speaks against it."""

import pytest

from conftest import TWO_RACKS
from sojourn import estimation as estimate
from sojourn._core import Estimate
from sojourn.api.handles import Run
from sojourn.estimation import costs
from sojourn.execution.execute import unfinished
from sojourn.store.ledger import Ledger

STUDY = TWO_RACKS


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "racks.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def predicted(monkeypatch):
    """What is predicted, in place of what pilots would say."""

    def predict(exact_s, estimate_s):
        found = costs.Costs(exact_s, estimate_s)
        monkeypatch.setattr(costs, "predict", lambda *_: found)

    return predict


def test_what_is_cheaper_to_run_is_run(command, study, tmp_path):
    result = command("estimate", study)
    assert (result.code, result.err) == (0, "")
    assert "the exact run takes about" in result.out
    assert "so it is run, and nothing estimated; --force estimates" in result.out
    assert "estimated from links" not in result.out
    done = Run.open(tmp_path / "out" / "racks")
    assert "estimated" not in done.meta
    assert "method" not in done.rows.column_names
    assert command("run", study, "--out", tmp_path / "whole").code == 0
    assert done.rows.equals(Run.open(tmp_path / "whole").rows)


def test_a_run_that_is_there_is_not_predicted_again(command, study, monkeypatch):
    assert command("run", study).code == 0
    monkeypatch.setattr(costs, "predict", lambda *_: pytest.fail("there is nothing left"))
    result = command("estimate", study)
    assert result.code == 0
    assert "all finished before" in result.out


def test_what_is_cheaper_to_estimate_is_estimated(command, study, tmp_path, predicted):
    predicted(90.0, 7.5)
    result = command("estimate", study)
    line = "the exact run takes about 90 s of processor time, the estimate 7.5 s\n"
    assert result.out.startswith(line)
    assert "estimated from links" in result.out
    assert "estimated" in Run.open(tmp_path / "out" / "racks-estimated").meta


def test_an_estimate_that_was_begun_goes_on(command, study, predicted):
    assert command("estimate", study, "--force").code == 0
    predicted(1.0, 2.0)
    result = command("estimate", study)
    assert "all finished before" in result.out
    assert "the exact run" not in result.out


def test_a_document_says_what_was_predicted(command, study, predicted):
    predicted(1.0, 2.0)
    said = {"exact_cpu_s": 1.0, "estimate_cpu_s": 2.0, "ran": "exact"}
    assert command("estimate", study, "--json").document["costs"] == said


def test_an_estimate_and_a_run_still_do_not_share_a_directory(command, study, tmp_path):
    out = tmp_path / "out"
    assert command("estimate", study, "--out", out).code == 0
    result = command("estimate", study, "--out", out, "--force")
    assert result.code == 2
    assert "holds another run: estimate is" in result.err


def test_links_cost_what_crosses_them():
    parsed = Estimate.parse(STUDY, "racks.toml", [])
    whole, alone = estimate.decomposed(estimate.Part(parsed.resolved(), 0, 0)).crossings()
    # Between one crossing of a host's own link in a fabric of two, and two of three.
    assert 2 * whole < alone < 6 * whole
    words = [("estimate.access", "every-link")]
    once = Estimate.parse(STUDY, "racks.toml", words)
    other = estimate.decomposed(estimate.Part(once.resolved(), 0, 0)).crossings()
    assert other[0] == whole
    assert whole < other[1] < alone
    # No pilot is needed to see that the whole is cheaper, and none says otherwise.
    found = costs.predict(parsed, unfinished(parsed.study, Ledger()))
    assert found.exact_is_cheaper
    assert found.estimate_s > found.exact_s * alone / whole


@pytest.mark.parametrize(
    ("words", "doubt"),
    [
        ([], None),
        (["--set", "scheme=TCP+DropTail", "--set", "scheme.balance=ecmp"], "packets are lost in"),
        (
            ["--set", "scheme=MinTCP+pFabric", "--set", "scheme.balance=ecmp"],
            "pFabric's queues put",
        ),
        (["--set", "workload.flows=100"], "few flows cross a link, "),
    ],
)
def test_what_speaks_against_an_estimate_stands_beside_it(command, study, tmp_path, words, doubt):
    out = tmp_path / "out"
    small = ["--set", "workload.flows=12000", "--set", "workload.sizes=fb-etc", *words]
    result = command("estimate", study, "--out", out, "--force", *small)
    assert (result.code, result.err) == (0, "")
    shown = command("show", out).out
    if doubt is None:
        assert "assumptions fail" not in result.out + shown
    else:
        assert f"caution: the estimate's assumptions fail: {doubt}" in result.out
        assert f"caution: the estimate's assumptions fail: {doubt}" in shown.replace("\n", " ")
