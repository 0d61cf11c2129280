"""Connection matrices: connections, triggers, and what is wrong with them."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from refusals import expect_one_line
from sojourn._internal.errors import InputError
from sojourn.htsim import lines, matrix, waiting

TWO = "Nodes 16\nConnections 2\n0->13 id 1 start 0 size 2000000\n13->0 start 5.7 size 1\n"


def ordered(found):
    """What waits for what, and the order of a study."""
    waits = waiting.waits(found)
    return waits, waiting.study_order(found, waits)


@pytest.fixture
def read(tmp_path):
    def of(text):
        path = tmp_path / "x.cm"
        path.write_text(text)
        return matrix.read(path)

    return of


def with_triggers(*lines_, triggers):
    connections = [line for line in lines_ if "->" in line]
    head = f"Nodes 16\nConnections {len(connections)}\nTriggers {triggers}\n"
    return head + "".join(f"{line}\n" for line in lines_)


def test_connections(read):
    found = read(TWO)
    assert found.nodes == 16
    told = [(c.line.number, c.src, c.dst, c.size, c.id, c.start_us) for c in found.connections]
    assert told == [(3, 0, 13, 2_000_000, 1, 0), (4, 13, 0, 1, None, 5)]
    assert found.notes == ["start times are cut to whole microseconds, as htsim_uec does"]
    assert waiting.study_order(found, waiting.waits(found)) == [0, 1]


def test_comments_and_priorities(read):
    found = read(f"# a matrix\n\n{TWO.replace('id 1', 'prio 2 id 1')}# the end\n")
    assert len(found.connections) == 2
    assert "the priorities of connections (prio) are ignored, as in htsim_uec" in found.notes


def test_a_sender_that_knows_starts_the_next_flow(read):
    found = read(
        with_triggers(
            "0->13 start 0 size 9 send_done_trigger 1",
            "0->5 trigger 1 size 9",
            "0->6 trigger 1 size 9",
            "trigger id 1 oneshot",
            triggers=1,
        )
    )
    waits = waiting.waits(found)
    assert waits == [[], [0], [0]]
    assert found.notes == []


def test_a_receiver_starts_a_flow_of_its_own(read):
    found = read(
        with_triggers(
            "0->13 start 3 size 9 recv_done_trigger 1",
            "13->5 trigger 1 size 9 recv_done_trigger 2",
            "5->6 trigger 2 size 9",
            "trigger id 1 multishot",
            "trigger id 2 oneshot",
            triggers=2,
        )
    )
    waits = waiting.waits(found)
    assert waits == [[], [0], [1]]
    assert waiting.earliest(found, waits) == [3, 3, 3]
    assert found.notes == ["recv_done_trigger starts connections here; htsim_uec never starts them"]


def test_a_barrier_of_one_host(read):
    found = read(
        with_triggers(
            "0->1 start 0 size 9 recv_done_trigger 1",
            "2->1 start 4 size 9 recv_done_trigger 1",
            "1->3 start 1 size 9 send_done_trigger 1",
            "1->5 trigger 1 size 9",
            "trigger id 1 barrier count 3",
            triggers=1,
        )
    )
    waits = waiting.waits(found)
    assert waits[3] == [0, 1, 2]
    # Flows come by arrival, and those that wait behind.
    assert waiting.study_order(found, waits) == [0, 2, 1, 3]


ONE = "0->13 start 0 size 9 send_done_trigger 1"
NEXT = "0->5 trigger 1 size 9"


@pytest.mark.parametrize(
    ("connections", "trigger", "message"),
    [
        (
            [ONE, "1->5 trigger 1 size 9"],
            "oneshot",
            "line 5: 1->5 waits for 0->13 of line 4, whose",
        ),
        ([ONE, NEXT], "barrier count 2", "trigger 1 has count 2, expected 1"),
        ([ONE, ONE, NEXT], "oneshot", "trigger 1 is activated 2 times, expected once"),
        ([ONE, NEXT, NEXT], "multishot", "is activated 1 times for 2 connections"),
        (["0->1 start 0 size 9", NEXT], "oneshot", "is activated by no connection"),
        ([ONE], "", "trigger 1, expected one of oneshot, multishot, barrier"),
        ([ONE], "barrier", "trigger 1, expected a count for a barrier"),
        ([ONE], "oneshot count 2", "trigger 1, expected a count for a barrier, and for no other"),
        ([ONE], "oneshot twice", "unknown 'twice'"),
        (
            [ONE.replace("trigger 1", "trigger 2")],
            "oneshot",
            "trigger 2, expected a line such as trigger id 2",
        ),
        (
            ["0->5 trigger 1 size 9 send_done_trigger 1"],
            "oneshot",
            "lines 4: they wait for each other",
        ),
    ],
)
def test_triggers_that_mean_nothing_here(read, connections, trigger, message):
    text = with_triggers(*connections, f"trigger id 1 {trigger}", triggers=1)
    with pytest.raises(InputError) as refused:
        ordered(read(text))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Nodes 16\n", "", "line 2: expected a line such as Nodes 16 above the connections"),
        ("Nodes 16", "Nodes 1", "line 3: host 13, expected one from 0 to 0"),
        ("Nodes 16", "Nodes x", "line 1: Nodes 'x', expected a whole number"),
        ("Nodes 16", "Nodes", "line 1: 'Nodes', expected a whole number behind it"),
        ("Nodes 16", "Nodes 16\nNodes 16", "line 2: Nodes again"),
        ("Nodes 16", "Node 16", "line 1: 'Node', expected a connection such as 1->2"),
        ("Connections 2", "Connections 3", "Connections 3, but there are 2"),
        ("Connections 2\n", "", "Connections 0, but there are 2"),
        ("Connections 2", "Connections 2\nFailures 1", "Failures 1, but there are 0"),
        ("Connections 2", "failure switch_type TOR", "failure, expected none: htsim_uec itself"),
        ("0->13", "0->16", "line 3: host 16, expected one from 0 to 15"),
        ("0->13", "13->13", "line 3: 13->13, expected two different hosts"),
        ("0->13", "0->1->2", "'0->1->2', expected a connection such as 1->2"),
        ("0->13", "a->b", "'a->b', expected a connection such as 1->2"),
        ("size 2000000", "", "no size, expected one"),
        ("size 2000000", "size 0", "size '0', expected a whole number from 1"),
        ("size 2000000", "size 2000000 size 3", "size again"),
        ("size 2000000", "sizes 3", "unknown 'sizes', did you mean 'size'?"),
        ("size 2000000", "size", "'size', expected a whole number behind it"),
        ("start 0 ", "", "expected either a start or a trigger"),
        ("start 0", "start 0 trigger 1", "expected either a start or a trigger"),
        ("start 0", "start -1", "start '-1', expected microseconds"),
        ("id 1", "id 0", "id '0', expected a whole number from 1"),
        ("13->0", "13->0 id 1", "id 1, which line 3 has, expected another"),
        ("id 1", "id 1 msg", "msg: messages on one connection are not simulated yet"),
        ("13->0 start 5.7 size 1\n", "13->0 start 5.7 size 1\nNodes 3\n", "Nodes again"),
        (TWO, "", "no such number of nodes, expected a line Nodes N"),
        (TWO, "Nodes 4\n", "no connections, expected at least one"),
    ],
)
def test_what_is_refused(read, old, new, message):
    with pytest.raises(InputError) as refused:
        read(TWO.replace(old, new, 1))
    assert message in str(refused.value)
    assert "x.cm: " in str(refused.value)


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"cannot read the connection matrix.*No such file"):
        matrix.read(tmp_path / "no.cm")
    (tmp_path / "x.cm").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        matrix.read(tmp_path / "x.cm")
    monkeypatch.setattr(lines, "LARGEST_FILE", 10)
    (tmp_path / "x.cm").write_text(TWO)
    with pytest.raises(InputError, match="over 10 bytes, that is no connection matrix"):
        matrix.read(tmp_path / "x.cm")


WORDS = st.one_of(
    st.sampled_from(
        ["id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio", "msg"]
    ),
    st.sampled_from(["0->1", "1->2", "2->0", "->", "Nodes", "Connections", "count", "barrier"]),
    st.integers(-2, 10**18).map(str),
    st.text(max_size=5),
)


@st.composite
def damaged(draw):
    """A matrix some of whose words are others."""
    text = with_triggers(
        "0->1 id 7 start 0 size 9 send_done_trigger 1",
        "0->2 trigger 1 size 9",
        "trigger id 1 oneshot",
        triggers=1,
    )
    rows = [line.split() for line in text.splitlines()]
    for _ in range(draw(st.integers(1, 4))):
        row = draw(st.sampled_from(rows))
        place = draw(st.integers(0, len(row)))
        row[place : place + draw(st.integers(0, 2))] = draw(st.lists(WORDS, max_size=2))
    return "\n".join(map(" ".join, rows))


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(text=st.one_of(damaged(), st.text(max_size=100)))
@example(text="")
@example(text="\x00")
def test_any_text_is_read_or_refused_in_one_line(text, tmp_path):
    path = tmp_path / "x.cm"
    path.write_text(text, encoding="utf-8")
    try:
        found = matrix.read(path)
        waits, order = ordered(found)
    except InputError as error:
        expect_one_line(error)
        return
    assert sorted(order) == [*range(len(found.connections))]
    behind = {place: number for number, place in enumerate(order)}
    for place in order:
        assert all(behind[other] < behind[place] for other in waits[place])
