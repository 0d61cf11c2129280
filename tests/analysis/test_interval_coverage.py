"""A minute of `make coverage`: how often intervals hold the truth, on a few of its systems."""

from concurrent.futures import ProcessPoolExecutor

import pytest

from interval_cells import CELLS, FOLDER, write_services
from interval_coverage import Truths, tried


@pytest.fixture(scope="module")
def pool():
    write_services()
    assert FOLDER.joinpath("exponential.csv").exists()
    with ProcessPoolExecutor() as workers:
        yield workers


@pytest.mark.share
@pytest.mark.parametrize(
    ("label", "seeds", "printed"),
    [
        ("M/M/1 0.5, 5,000", 300, {"mean", "p50", "p95"}),
        ("M/M/1 0.8, 20,000", 200, {"mean", "p50", "p95"}),
        ("M/M/1 0.95, 20,000", 100, set()),
        ("M/M/1 0.8, 5 x 5,000", 60, {"mean", "p50", "p95"}),
        ("M/M/1 1.02, unstable, 50,000", 50, set()),
        ("two racks, DCTCP 0.5, 2,000", 6, set()),
    ],
)
def test_intervals_hold_the_truth(pool, label, seeds, printed):
    (cell,) = (cell for cell in CELLS if cell.label == label)
    found = [*tried(cell, range(1, seeds + 1), pool, Truths(pool))]
    assert [one.line() for one in found if one.faults()] == []
    # The model prints always or never; of packets, and of an unstable queue, it has no say.
    by_model = {one.number for one in found if one.rule == "model" and one.printed == seeds}
    assert by_model == printed
