"""Four controllers as classes, plain and compiled, beside ours: the same rows and windows.

A row holds a hash of window and ssthresh after every ACK outside of a recovery: rows alone do not
notice a cube root that is wrong by 1e-9.
"""

import pytest

from random_fabrics import (
    BUILT_IN,
    CLASSES,
    EXAMPLES,
    PLAIN,
    WAYS,
    Fabric,
    columns,
    described,
    fabrics,
)
from share import share

FABRICS = share(200)


@pytest.mark.share
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("how", WAYS)
def test_a_class_does_what_is_built_in(kind, how):
    retransmits = False
    for fabric in fabrics(FABRICS):
        expected = columns(fabric.study(kind, BUILT_IN))
        assert columns(fabric.study(kind, how)) == expected, described(fabric)
        retransmits |= any(expected["retransmits"])
    assert retransmits, "losses are among it"


def test_a_digest_finds_out_a_cube_root_that_rows_do_not(tmp_path):
    text = (EXAMPLES / "cubic.py").read_text()
    wrong = text.replace("cbrt(", "(1.0 + 1e-9) * cbrt(")
    assert text != wrong
    (tmp_path / "cubic.py").write_text(wrong)
    differ = [_differing(fabric, tmp_path) for fabric in fabrics(40)]
    assert ["window_digest"] in differ, "the rows are the same, and the windows are not"


def _differing(fabric: Fabric, folder) -> list[str]:
    """The columns in which a wrong class differs from CUBIC."""
    right = columns(fabric.study("cubic", PLAIN))
    wrong = columns(fabric.study("cubic", PLAIN, folder=folder))
    return [name for name, column in right.items() if column != wrong[name]]
