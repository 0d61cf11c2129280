"""What a timeline says below its picture."""

import numpy as np
import pytest

from sojourn.presentation import timeline


@pytest.mark.parametrize(("labels", "said"), [(12, ""), (14, "without 2 others")])
def test_a_timeline_says_how_many_labels_it_leaves_out(labels, said):
    spans = {f"label {number}": np.zeros((1, 2)) for number in range(labels)}
    note = timeline._note([({}, timeline._Iteration(1.0, 1.0, spans))])
    assert note.endswith(said)
    assert ("others" in note) == bool(said)
