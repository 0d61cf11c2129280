"""Arguments of htsim_uec: what is taken, what is refused and why."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from refusals import expect_one_line
from sojourn._internal.errors import InputError
from sojourn.htsim import arguments

MATRIX = "-tm x.cm"


def read(words):
    return arguments.read(f"{MATRIX} {words}")


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        ("-topo y.topo -nodes 32", {"topology": "y.topo", "nodes": 32}),
        ("-linkspeed 400000", {"speed": 400 * 10**9}),
        ("-linkspeed 0.5e3", {"speed": 500 * 10**6}),
        (
            "-hop_latency 0.5 -switch_latency .1",
            {"hop_latency": 500_000, "switch_latency": 100_000},
        ),
        ("-q 100 -cwnd 50 -ecn 20 80", {"queue": 100, "window": 50, "ecn": (20, 80)}),
        ("-q 100 -q 50", {"queue": 50}),
        ("-queue_size_bdp_factor 3 -disable_trim", {"queue_products": 3, "trims": False}),
        ("-load_balancing_algo reps -paths 128", {"spraying": "reps", "paths": 128}),
        ("-sack_threshold 4000 -qa_gate 2", {"ack_every_bytes": 4000, "quick_adapt_gate": 2}),
        ("-target_q_delay 6 -end 3000 -seed 7", {"target": 6_000_000, "end_us": 3000, "seed": 7}),
        ("-tiers 2 -failed 3 -mtu 4096", {"tiers": 2, "failed": 3, "packet_bytes": 4096}),
        ("-strat ecmp_host -queue_type composite -host_queue_type fair_prio -planes 1", {}),
        ("-sender_cc_algo nscc -trimsize 64", {}),
    ],
)
def test_what_is_taken(words, taken):
    found = read(words)
    assert {name: getattr(found, name) for name in taken} == taken
    assert found.notes == []


@pytest.mark.parametrize(
    ("words", "sender", "receiver"),
    [
        ("", True, False),
        ("-sender_cc_only", True, False),
        ("-receiver_cc_only", False, True),
        ("-receiver_cc", True, True),
        ("-sender_cc -receiver_cc", True, True),
        ("-receiver_cc_only -sender_cc", True, True),
        ("-receiver_cc_only -sender_cc_algo nscc", True, True),
        ("-receiver_cc -sender_cc_only", True, False),
    ],
)
def test_who_controls(words, sender, receiver):
    found = read(words)
    assert (found.sender_control, found.receiver_control) == (sender, receiver)


def test_a_command_line_may_begin_with_the_program():
    assert arguments.read("./build/htsim_uec -tm 'a b.cm'").matrix == "a b.cm"


def test_what_changes_no_result_is_said_once():
    found = read("-log nic -log sink -o out.dat -debug -logtime 0.1 -ar_method pqb")
    assert found.notes == [
        f"{name} has no effect on results"
        for name in ("-log", "-o", "-debug", "-logtime", "-ar_method")
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-path 3", "unknown '-path', did you mean '-paths'?"),
        ("-xyzzy", "unknown '-xyzzy', expected an argument of htsim_uec"),
        ("-q", "-q: expected a value behind it"),
        ("-q 1.5", "-q: '1.5', expected a whole number from 1 to"),
        ("-q ٣", "-q: '٣', expected a whole number"),
        ("-end -1", "-end: '-1', expected a whole number from 0"),
        ("-linkspeed nan", "-linkspeed: 'nan', expected megabits a second"),
        ("-hop_latency 1e99", "-hop_latency: '1e99', expected microseconds"),
        ("-ecn 0.2 0.8", "-ecn: '0.2', expected a whole number"),
        ("-ecn 9 8", "-ecn: 9 8, expected the lower threshold first"),
        ("-paths 100", "-paths: 100, expected a power of two"),
        ("-load_balancing_algo rep", "-load_balancing_algo: 'rep', did you mean 'reps'?"),
        ("-load_balancing_algo reps_legacy", "reps_legacy: expected reps"),
        ("-sender_cc_algo dctcp", "dctcp: expected nscc; DCTCP over other queues"),
        ("-sender_cc_algo constant", "a constant window is no part of UET"),
        ("-queue_type aeolus", "aeolus: expected composite"),
        ("-host_queue_type swift", "swift: expected fair_prio"),
        ("-strat ecmp_ar", "ecmp_ar: switches that choose by queues are not simulated"),
        ("-planes 2", "-planes: 2: a host has one link here"),
        ("-trimsize 128", "-trimsize: '128'"),
        ("-conn_reuse", "-conn_reuse: messages on one connection are not simulated yet"),
        ("-pcie 1.1", "-pcie: hosts' buses are not simulated"),
        ("-sleek", "-sleek: losses are found by trims and time-outs"),
        ("-enable_accurate_base_rtt", "all flows begin with the fabric's longest round trip"),
        ("-disable_base_rtt_update_on_nack", "a NACK counts as a sample"),
        ("-Ai 1", "-Ai: expected none"),
        ("'", "no closing quotation, expected a command line"),
        ("x" * 20_000, "expected at most 10,000 characters"),
    ],
)
def test_what_is_refused(words, message):
    with pytest.raises(InputError) as refused:
        read(words)
    assert str(refused.value).startswith("--htsim: ")
    assert message in str(refused.value)


def test_a_matrix_is_needed():
    with pytest.raises(InputError, match="no -tm, expected a connection matrix"):
        arguments.read("-end 3")


WORDS = st.one_of(
    st.sampled_from(arguments.NAMES),
    st.integers(-3, 10**12).map(str),
    st.sampled_from(["nscc", "reps", "ecmp_host", "0.5", "1e3", "inf", "'", "x.cm"]),
    st.text(max_size=6),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(words=st.lists(WORDS, max_size=12))
@example(words=["-tm"])
@example(words=["-tm", ""])
def test_any_words_are_read_or_refused_in_one_line(words):
    try:
        found = arguments.read(" ".join(words))
    except InputError as error:
        expect_one_line(error)
    else:
        assert found.matrix
