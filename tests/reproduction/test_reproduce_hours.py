"""Hours of a simulated list server: what a time series counts, and the tables made of it."""

from datetime import datetime

import numpy as np
import pytest

import sojourn
from conftest import Made, make_run
from sojourn._internal.errors import InputError
from sojourn.maillog.stats import Ended
from sojourn.reporting.series import series
from sojourn.reproduction import papers
from sojourn.reproduction.results import Result
from sojourn.store import rows
from sojourn.store.ledger import Record

SENDMAIL = papers.script(papers.ROOT / "sendmail")
counted, hours, table = (SENDMAIL[name] for name in ("counted", "hours", "table"))
HOUR_PS = 3600 * 10**12
COLUMNS = ("delivered_hosts", "delivered", "deferred_hosts", "deferred", "bounced_hosts", "bounced")
STUDY = """\
title = "an afternoon"
model = "mail"
sample = "20min"
internet = { kind = "internet", subscribers = 200, domains = 120, down = 0.2, unknown = 0.05 }
list = { messages = 30, arrivals = { kind = "poisson", rate = "6/h" }, drain = "2h" }
"""


@pytest.fixture
def run(tmp_path):
    """Two replications, of each of which three half hours were counted."""
    made = make_run(tmp_path / "run", [Made({}, [1.0], replication=it) for it in range(2)])
    for replication in range(2):
        path = made.directory.beside("series", 0, replication)
        path.parent.mkdir(exist_ok=True)
        counts = {name: np.array([1, 10, 100]) * (1 + n) for n, name in enumerate(COLUMNS)}
        at = np.array([1, 2, 3]) * HOUR_PS // 2
        rows.write(rows.table_of(0, replication, {"at_ps": at, **counts}), path)
    return made


def test_looks_are_summed_by_the_hour_that_they_end(run):
    first, second, third = counted(run, next(iter(run.ledger)), 0, 3)
    assert first == Ended(11, 22, 33, 44, 55, 66)
    assert second == Ended(100, 200, 300, 400, 500, 600)
    assert third == Ended(0, 0, 0, 0, 0, 0)


def test_the_table_is_that_of_mailstat(run):
    midnight = datetime(1997, 2, 22)  # noqa: DTZ001 - of a clock without a zone
    assert list(table(run, midnight, (0, 2))) == [
        "mailstat: Sat Feb 22 00:00 to 01:59 1997, simulated",
        "                        failed             deliveries",
        "MMM DD HH     mhosts/recipient       mhosts/recipient",
        "=== == ==  ========= =========    ========= =========",
        "Feb 22 00         88/      110           11/       22",
        "Feb 22 01        800/     1000          100/      200",
        "Totals           888/     1110          111/      222",
    ]


def test_hours_are_a_ratio_over_all_replications(run):
    result = Result("day", run, "load")
    measured = hours({"day": result}, "day", ["deferred_hosts"], ["delivered_hosts"], (0, 1))
    (point,) = measured.points
    assert point.value == 3
    assert point.ci95 == pytest.approx((3, 3))
    assert point.where == "day: 2 replications"


def test_a_run_that_was_not_looked_at(tmp_path):
    run = make_run(tmp_path / "run", [Made({}, [1.0])])
    with pytest.raises(InputError, match=r"series.*no such file"):
        counted(run, next(iter(run.ledger)), 0, 1)


def test_what_is_counted_is_what_happened(command, tmp_path):
    """Hour by hour as many deliveries as rows end in it, and in all what the ledger says."""
    (tmp_path / "study.toml").write_text(STUDY)
    assert command("run", tmp_path / "study.toml", "--out", tmp_path / "run").code == 0
    run = sojourn.load(tmp_path / "run")
    (record,) = run.ledger
    assert isinstance(record, Record)
    found = counted(run, record, 0, 24)
    total = Ended.sum(found)
    assert total.delivered_recipients == record.figures["deliveries"]
    assert total.bounced_recipients == record.figures["failed"] > 0
    assert total.deferred_recipients > 0
    assert total.delivered_hosts < total.delivered_recipients
    delivered = run.rows.filter(run.rows["kind"].to_numpy() == "delivery")
    ends = delivered["finished_ps"].to_numpy()
    ends = ends[~np.isnan(ends.astype(float))].astype(np.int64)
    by_hour = np.bincount(ends // HOUR_PS, minlength=24)
    assert [own.delivered_recipients for own in found] == by_hour.tolist()
    (chart,) = series(run)
    assert (chart.x_label, chart.y_label) == ("time [h]", "recipients")
    assert [line.label for line in chart.lines] == ["delivered", "deferred", "bounced"]
    assert sum(chart.lines[0].y) == total.delivered_recipients
