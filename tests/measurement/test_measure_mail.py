"""`sojourn measure mail`: rows out of a log, by hand."""

import numpy as np
import pytest

from sojourn.store import rows
from sojourn.store.run_directory import RunDirectory

pytestmark = pytest.mark.alone

LOG = """\
2026-11-21T09:00:00.000Z mx postfix/cleanup[9]: A0000000A1: message-id=<1@lists.example>
2026-11-21T09:00:00.000Z mx postfix/qmgr[2]: A0000000A1: from=<o@lists.example>, size=900, nrcpt=3 (queue active)
2026-11-21T09:00:02.000Z mx postfix/smtp[7]: A0000000A1: to=<ann@near.example>, relay=mx.near.example[192.0.2.1]:25, delay=2, delays=0.1/0.2/0.7/1, dsn=2.0.0, status=sent (250 ok)
2026-11-21T09:00:04.000Z mx postfix/smtp[7]: A0000000A1: to=<bob@near.example>, relay=mx.near.example[192.0.2.1]:25, delay=4, delays=0.1/0.2/0.7/3, dsn=2.0.0, status=sent (250 ok)
2026-11-21T09:00:05.000Z mx postfix/smtp[8]: A0000000A1: to=<dan@far.example>, relay=none, delay=5, delays=0/0/5/0, dsn=4.4.1, status=deferred (connect to mx.far.example[192.0.2.2]:25: Connection timed out)
2026-11-21T09:00:30.000Z mx postfix/smtp[8]: A0000000A1: to=<dan@far.example>, relay=mx.far.example[192.0.2.2]:25, delay=30, delays=29/0/0.5/0.5, dsn=2.0.0, status=sent (250 ok)
2026-11-21T09:01:10.000Z mx postfix/smtp[8]: B0000000B2: to=<dan@far.example>, relay=mx.far.example[192.0.2.2]:25, delay=10, delays=9/0/0.5/0.5, dsn=2.0.0, status=sent (250 ok)
2026-11-21T09:01:11.000Z mx postfix/smtp[8]: B0000000B2: to=<eve@gone.example>, relay=none, delay=11, delays=0/0/11/0, dsn=4.4.1, status=deferred (Connection timed out)
"""  # noqa: E501
STUDY = """\
model = "mail"
internet = "office"
list = { messages = 2, arrivals = "regular" }
"""
S = 10**12


def measured(command, folder):
    (folder / "mail.log").write_text(LOG)
    (folder / "study.toml").write_text(STUDY)
    files = (folder / "mail.log", folder / "study.toml", "--out", folder / "run")
    return command("measure", "mail", *files)


def test_by_hand(command, tmp_path):
    result = measured(command, tmp_path)
    assert result.code == 0, result.err
    directory = RunDirectory(tmp_path / "run")
    table = rows.read(directory.rows(0, 0)).to_pydict()
    kinds = ["delivery"] * 5 + ["message-50", "message-95", "message-99", "message"] * 2
    assert table["kind"] == kinds
    assert table["arrived_ps"] == [t * S for t in [0] * 3 + [60] * 2 + [0] * 4 + [60] * 4]
    # Of three copies half is two; the second message has one that waits.
    sojourn = [2, 4, 30, 10, None, 4, 30, 30, 30, 10, None, None, None]
    assert table["sojourn_ps"] == [None if s is None else s * S for s in sojourn]
    # The quickest at near took 2 s, at far 10 s, and anywhere 2 s.
    assert [t // S for t in table["ideal_ps"]] == [2, 2, 10, 10, 2, 2, 10, 10, 10, 2, 10, 10, 10]
    assert table["attempts"][:5] == [1, 1, 1, 1, 0]
    assert table["domain"] == [2, 2, 0, 0, 1] + [None] * 8
    assert table["sending_ps"][:5] == [S, 3 * S, S // 2, S // 2, None]
    assert table["outcome"][:5] == ["delivered"] * 4 + ["waiting"]
    figures = directory.ledger()
    (record,) = figures
    assert (record.figures["deliveries"], record.figures["unfinished"]) == (4, 1)


def test_it_is_compared_with_what_is_simulated(command, tmp_path):
    measured(command, tmp_path)
    study = tmp_path / "study.toml"
    command("run", study, "--out", tmp_path / "simulated", "--replications", 2)
    result = command(
        "compare", tmp_path / "run", tmp_path / "simulated", "--warmup", "0s", "--json"
    )
    found = {(one["kind"], one["metric"]): one for one in result.document["comparisons"]}
    delay = found["delivery", "sojourn_ps"]
    assert delay["a"]["n"] == 4
    assert delay["a"]["p50"] == np.percentile([2, 4, 10, 30], 50) * S


@pytest.mark.parametrize(
    ("study", "said"),
    [
        ('model = "array"', "expected"),
        (STUDY + "[sweep]\nlist.size = ['1KB', '2KB']\n", "2 cases, expected one"),
        (STUDY + 'sample = "60s"\n', 'sample = "60s", expected "none"'),
    ],
)
def test_what_it_cannot_be_beside_is_refused(command, tmp_path, study, said):
    (tmp_path / "mail.log").write_text(LOG)
    (tmp_path / "study.toml").write_text(study)
    result = command("measure", "mail", tmp_path / "mail.log", tmp_path / "study.toml")
    assert result.code == 2
    assert said in result.err


def test_what_is_refused_leaves_no_run_behind(command, tmp_path):
    (tmp_path / "mail.log").write_text(LOG)
    (tmp_path / "study.toml").write_text(STUDY)
    out = tmp_path / "m"
    words = ("measure", "mail", tmp_path / "m.log", tmp_path / "study.toml", "--out", out)
    assert command(*words).code == 2
    assert not out.exists()
    out.mkdir()
    assert command(*words).code == 2
    assert not list(out.iterdir())
