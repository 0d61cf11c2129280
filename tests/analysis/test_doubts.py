"""What figures say against the numbers of cases: models name them, and analysis knows none."""

import re
from pathlib import Path

import pytest

from conftest import Made, make_run
from sojourn._internal import vocabulary

PACKAGE = Path(vocabulary.__file__).parent.parent
REFERENCE = PACKAGE.parent.parent / "docs/reference/run-directory.md"


def names():
    """The figures that models doubt numbers by."""
    known = vocabulary.doubts()
    return [
        *(own.total for own in [*known.cautions, *known.stations]),
        *known.offered,
        vocabulary.loop_depth(),
    ]


@pytest.mark.parametrize("caution", vocabulary.doubts().cautions, ids=lambda own: own.total)
def test_each_figure_brings_its_caution(tmp_path, caution):
    value = "these words" if caution.from_ is None else caution.from_
    less = {} if caution.from_ is None else {caution.total: caution.from_ * (1 - 1e-9)}
    made = [
        Made({"x": 1}, [1, 2], figures={caution.total: value}),
        Made({"x": 2}, [1, 2], figures=less),
    ]
    said = make_run(tmp_path / "r", made).summary().cautions
    shown = "these words" if caution.from_ is None else "100%"
    assert caution.text.replace("{}", shown).replace("{cases}", " (x 1)") in said


@pytest.mark.parametrize("station", vocabulary.doubts().stations, ids=lambda own: own.total)
def test_each_station_can_be_busy_all_the_time(tmp_path, station):
    def busy(share, **figures):
        path = tmp_path / f"{share}{len(figures)}"
        made = Made({}, [1, 2], figures={station.total: share, **figures})
        return any(
            "is busy all the time" in said for said in make_run(path, [made]).summary().cautions
        )

    assert busy(station.from_)
    assert not busy(station.from_ - 0.01)
    assert not busy(station.from_, **{vocabulary.loop_depth(): 4})


def test_the_names_stand_in_the_model_alone():
    written = re.compile(f"[\"']({'|'.join(map(re.escape, names()))})[\"']")
    above = [PACKAGE / "analysis", PACKAGE / "presentation", PACKAGE / "cli"]
    found = [
        f"{path.name}: {name}"
        for path in sorted(one for folder in above for one in folder.rglob("*.py"))
        for name in written.findall(path.read_text())
    ]
    # How long a run has to be is told by the queues' own figures, which no model owns.
    assert found == ["run_length.py: queue_utilisation_offered"]


def test_users_can_read_what_each_figure_is():
    page = REFERENCE.read_text()
    assert [name for name in names() if f"`{name}`" not in page] == []
