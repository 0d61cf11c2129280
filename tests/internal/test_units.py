"""Quantities as people read and write them."""

import pytest

from sojourn._internal.errors import InputError
from sojourn._internal.units import bracketed, per_cent


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((3.0811, 3.4432), "[3.08, 3.44]"),
        ((997.2, 1020.9), "[997, 1,021]"),
        ((-0.31, 0.052), "[-0.31, 0.05]"),
        # As exactly as the width is worth, the lower end would be 0.
        ((0.21902, 20061.79), "[0.219, 20,062]"),
        ((2.0, 2.0), "[2, 2]"),
    ],
)
def test_an_interval_is_shown_as_exactly_as_it_is_known(ends, shown):
    assert bracketed(ends) == shown


@pytest.mark.parametrize(("text", "value"), [("5%", 5), (" 0.5% ", 0.5), ("0%", 0)])
def test_a_percentage(text, value):
    assert per_cent(text, "--within") == value


@pytest.mark.parametrize("text", ["5", "%", "-1%", "nan%", "100%", "five%"])
def test_what_is_no_percentage(text):
    with pytest.raises(InputError, match="expected a percentage like 5%, below 100%"):
        per_cent(text, "precision", below=100)
