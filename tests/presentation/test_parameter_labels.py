"""Words for parameters in pictures: each is a parameter of the registry."""

from sojourn._internal import parameter_labels, registry
from sojourn.presentation.axes import Labels


def test_every_label_is_of_a_parameter():
    known = {
        parameter["name"]
        for entries in registry.topics().values()
        for entry in entries
        for parameter in entry["parameters"]
    }
    assert {*parameter_labels._LABELS} - known == set()


def test_a_parameter_is_called_by_its_words():
    assert parameter_labels.label_of("scheme.transport.min_rto") == "shortest time-out"
    assert parameter_labels.label_of("workload.load") == "workload.load"
    case = {"min_rto": "10ms", "scheme": "DCTCP", "failed": 0, "load": 0.5}
    label = Labels.of([case]).case(case)
    assert label == "shortest time-out = 10ms, DCTCP, disk 0 failed, load = 0.5"
