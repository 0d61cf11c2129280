"""What is known without simulation, as it stands under a table."""

from sojourn.analysis import lines
from sojourn.ledger import Ledger, Record
from sojourn.summary import Estimate


def record(case, axes, **figures):
    return Record(case, 0, 10, 1.0, 1.0, 0, 0, axes, {}, figures)


def estimate(case, mean, ci95=None):
    return Estimate(case, "request", "all", "sojourn_ps", 9, 0, 0, mean, ci95, "t", {}, {}, mean)


def test_what_is_said_of_cases():
    ledger = Ledger(
        [
            record(0, {"x": 1}, analysis="A", exact_mean_sojourn_ps=2e9),
            record(1, {"x": 2}, analysis="B", least_mean_sojourn_ps=3e9, most_mean_sojourn_ps=4e9),
            record(2, {"x": 3}, analysis="B", least_mean_sojourn_ps=3e9),
            record(3, {"x": 4}, analysis="why"),
            record(4, {"x": 5}, analysis="why"),
            record(5, {"x": 6}),
        ]
    )
    estimates = [estimate({"x": 1}, 2.1e9, (1.9e9, 2.3e9)), estimate({"x": 2}, 3.5e9)]
    assert lines(ledger, estimates) == (
        "mean sojourn of x 1: exactly 2 ms; simulated 2.1 ± 0.2 ms",
        "known by: A",
        "mean sojourn of x 2: between 3 and 4 ms; simulated 3.5 ms",
        "mean sojourn of x 3: at least 3 ms",
        "known by: B",
        "why (2 cases)",
    )


def test_the_only_case_needs_no_name():
    ledger = Ledger(
        [
            record(
                0,
                {},
                analysis="A",
                least_mean_sojourn_ps=1e9,
                most_mean_sojourn_ps=3e9,
                about_mean_sojourn_ps=2e9,
                scaled_mean_sojourn_ps=2.1e9,
            )
        ]
    )
    assert lines(ledger, [estimate({}, 2e9, (1e9, 3e9))]) == (
        "mean sojourn: between 1 and 3 ms, about 2, scaled from two disks 2.1; simulated 2 ± 1 ms",
        "known by: A",
    )
    # grouped otherwise, nothing simulated stands beside
    assert "simulated" not in lines(ledger, [estimate({"op": "read"}, 2e9)])[0]


def test_a_fabric_has_none():
    assert lines(Ledger([record(0, {}, hops=1)]), []) == ()
