"""How far a run is: in a log every ten seconds, in a notebook below its cell."""

import sys
from types import SimpleNamespace

import pytest

from sojourn._internal import terminal
from sojourn.execution import progress
from sojourn.execution.execute import Status
from waiting import until

STATUS = Status(cases=4, cases_done=1, jobs=4000, jobs_done=1500, simulated_ps=2 * 10**12, left_s=9)
LINE = "1/4 cases, 1,500 flows, simulated 2 s, left 0:00:09"


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)


def test_a_log_has_a_line_every_ten_seconds(monkeypatch, capsys):
    now = SimpleNamespace(s=0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now.s)
    with progress.reporter("flows") as observe:
        for now.s in (1, 9.9, 10, 19, 25, 34.9, 36):
            observe(STATUS)
    out, err = capsys.readouterr()
    assert (out, err.splitlines()) == ("", [LINE] * 3)


def test_a_notebook_has_a_line_below_its_cell_that_goes_away(monkeypatch):
    shown = []
    handle = SimpleNamespace(update=lambda bundle, raw: shown.append((bundle["text/plain"], raw)))
    display = SimpleNamespace(display=lambda *_, **__: handle)
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress.reporter("flows") as observe:
        observe(STATUS)
    assert shown == [(LINE, True), ("", True)]


def test_an_interactive_shell_is_no_notebook(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=object))
    with progress.reporter("flows") as observe:
        observe(STATUS)
    assert capsys.readouterr().err == ""


def test_work_without_counts_says_in_a_log_what_it_does(monkeypatch):
    written = []
    monkeypatch.setattr(terminal, "LOGGED_EVERY_S", 0.01)
    log = SimpleNamespace(write=written.append, flush=lambda: None, isatty=lambda: False)
    monkeypatch.setattr(sys, "stderr", log)
    with terminal.doing() as say:
        say("measuring case 0")
        until(lambda: any(written))
        say("measuring case 1")
        until(lambda: any("case 1" in line for line in written))
    done = len(written)
    assert next(filter(None, written)) == "measuring case 0, 0:00:00 so far\n"
    assert len(written) == done, "nothing is said after the end"
