"""BBR, built in and as a class; what a class has of deliveries, recoveries and its own timer."""

from pathlib import Path

import pytest

from random_fabrics import EXAMPLES, NEEDS_NUMBA, columns
from sojourn._core import CaseFailed, Study
from sojourn._internal.errors import InputError
from sojourn.control.loading import load
from sojourn.execution import inputs

# 20 MB over 100 Mb/s take 1,652 ms on the wire, the longer of two flows twice that.
STUDY = """
title = "bbr"
completion = "sender"
drain = "20s"
hosts = {{ overhead = 0.0 }}
workload = {{ kind = "csv", file = "{folder}/flows.csv" }}
[topology]
kind = "single-switch"
hosts = 4
rate = "1Gbps"
uplink = "100Mbps"
delay = "2ms"
[scheme]
name = "{name}"
balance = "ecmp"
queue = {{ kind = "drop-tail", buffer = "{buffer}" }}
{transport}
"""
BY_TIME = 'rack = true, tail_loss_probe = true, f_rto = true, timeout_rule = "linux"'
CLASS = """
[scheme.transport]
kind = "python"
file = "{file}"
compiled = {compiled}
tcp = {{ paced = {paced}, {tcp} }}
"""
SOLO = "0,3,20000000,0s\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "flows.csv").write_text(f"src,dst,size_bytes,arrival\n{SOLO}")
    return tmp_path


def built_in(folder: Path, name: str, buffer: str) -> Study:
    text = STUDY.format(folder=folder, name=name, buffer=buffer, transport="")
    return inputs.study(text, str(folder / "study.toml"), [])


def of_class(folder: Path, file: Path, *, compiled: bool, buffer: str, paced: bool = True) -> Study:
    words = {True: "true", False: "false"}
    transport = CLASS.format(file=file, compiled=words[compiled], paced=words[paced], tcp=BY_TIME)
    text = STUDY.format(folder=folder, name="mine", buffer=buffer, transport=transport)
    return inputs.study(text, str(folder / "study.toml"), [])


def finished_ms(study: Study) -> list[float]:
    found = columns(study)["sojourn_ps"]
    ends = [int.from_bytes(found[at : at + 8], "little") for at in range(0, len(found), 8)]
    return [end / 1e9 for end in ends]


@pytest.mark.parametrize("buffer", ["20KB", "100KB", "500KB"])
def test_a_flow_alone_has_the_link(folder: Path, buffer: str) -> None:
    """Whatever the buffer: BBR does not listen to losses. CUBIC takes 1,785 ms with 20 KB."""
    (took,) = finished_ms(built_in(folder, "Linux BBR", buffer))
    assert 1652 < took < 1.04 * 1652


def test_two_flows_share(folder: Path) -> None:
    """The later one has at least a third of the link while both send, and nothing is left idle."""
    (folder / "flows.csv").write_text(f"src,dst,size_bytes,arrival\n{SOLO}1,3,20000000,0.3s\n")
    took = finished_ms(built_in(folder, "Linux BBR", "500KB"))
    assert max(took[0], 300 + took[1]) < 1.04 * 2 * 1652
    assert took[1] < 3 * 1652


def test_the_example_goes_as_the_one_built_in(folder: Path) -> None:
    """Its filter is coarser and its cycle begins elsewhere: within 5 %."""
    for buffer in ("20KB", "500KB"):
        (took,) = finished_ms(of_class(folder, EXAMPLES / "bbr.py", compiled=False, buffer=buffer))
        (known,) = finished_ms(built_in(folder, "Linux BBR", buffer))
        assert took == pytest.approx(known, rel=0.05)


@NEEDS_NUMBA
def test_the_example_compiled_gives_the_same_rows(folder: Path) -> None:
    (folder / "flows.csv").write_text(f"src,dst,size_bytes,arrival\n{SOLO}1,3,20000000,0.3s\n")
    plain, compiled = (
        columns(of_class(folder, EXAMPLES / "bbr.py", compiled=compiled, buffer="100KB"))
        for compiled in (False, True)
    )
    assert plain == compiled


TICKING = """
from sojourn.control import Ack, Control, Flow, ms


class Ticking(Control):
    late: int = 0
    _ticks: int = 0

    def start(self, flow: Flow) -> None:
        self.timer = 5 * ms

    def acked(self, ack: Ack) -> None:
        if self._ticks == 100 and ack.delivered > 0:
            self.cwnd = 1.0 * ack.delivered // ack.delivered

    def timer_ran_out(self, now: int) -> None:
        self._ticks += 1
        if now != self._ticks * 5 * ms or self.timer != 0:
            raise ValueError("not at its time")
        self.cwnd = 50.0
        self.timer = now + 5 * ms - self.late
"""


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=NEEDS_NUMBA)])
def test_a_timer_runs_out_at_its_time(folder: Path, compiled: bool) -> None:
    """Each 5 ms from the start on, with ACKs and losses between, until the flow ends."""
    (folder / "mine.py").write_text(TICKING)
    study = of_class(folder, folder / "mine.py", compiled=compiled, buffer="100KB", paced=False)
    (took,) = finished_ms(study)
    assert took > 1652


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=NEEDS_NUMBA)])
@pytest.mark.parametrize(
    ("late", "said"),
    [
        ("5 * ms", "left timer = 5ms at 5ms, expected 0 or a time after that, by at most"),
        ("11 * ms", "left timer = -1000000000, expected whole picoseconds, at least 0"),
    ],
)
def test_a_timer_that_is_over_is_refused(
    folder: Path,
    late: str,
    said: str,
    compiled: bool,
) -> None:
    (folder / "mine.py").write_text(TICKING.replace("- self.late", f"- {late}"))
    study = of_class(folder, folder / "mine.py", compiled=compiled, buffer="100KB", paced=False)
    with pytest.raises(CaseFailed) as raised:
        columns(study)
    assert said in str(raised.value)


def test_a_timer_that_nothing_hears_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TICKING.replace("timer_ran_out", "tick"))
    with pytest.raises(InputError, match=r"mine.py:10: nothing hears this timer: write Ticking\."):
        load(str(file))
