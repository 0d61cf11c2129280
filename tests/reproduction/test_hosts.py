"""The map of the history's claims over kinds of hosts, on a small part of its plane."""

import importlib.util
import json
import sys
from dataclasses import replace

import pytest

from sojourn.reproduction import papers

BRIEF = ("run.replications = 1", "list.messages = 2", "list.warmup = 0")


@pytest.fixture
def hosts(monkeypatch):
    """The script with two points, and runs of two messages."""
    place = papers.ROOT / "sendmail" / "hosts.py"
    spec = importlib.util.spec_from_file_location("hosts", place)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "hosts", module)
    spec.loader.exec_module(module)
    (paper,) = papers.find("sendmail")
    runs = {run: replace(paper.runs[run], quick=BRIEF) for run in module.RUNS}
    brief = replace(paper, runs={**paper.runs, **runs})
    monkeypatch.setattr(module, "SLOW", [0.1, 0.9])
    monkeypatch.setattr(module, "REPLIES", ["4s"])
    monkeypatch.setattr(papers, "find", lambda _: [brief])
    return module


def test_claims_are_judged_at_each_point_and_not_again(hosts, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    hosts.main()
    first = capsys.readouterr().out
    out = tmp_path / "out/sendmail-map-hosts"
    assert sorted(path.name for path in out.iterdir()) == ["map.png", "points.json"]
    stored = json.loads((out / "points.json").read_text())
    assert [*stored] == ["0.1, 4s", "0.9, 4s"]
    slow, slower = ([one["measured"] for one in point["claims"]] for point in stored.values())
    assert slow != slower
    assert "of 13 claims hold at" in first
    monkeypatch.delattr(hosts, "reproduce")
    hosts.main()
    assert capsys.readouterr().out == first
    with pytest.raises(NameError, match="reproduce"):
        hosts.main("twenty")
