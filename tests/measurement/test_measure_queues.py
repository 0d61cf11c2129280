"""The kernel's queues: which discipline a study's is, what the kernel counts at it, its series."""

from socket import SOCK_DGRAM, socket

import numpy as np
import pytest

from sojourn._internal.errors import InputError
from sojourn.measurement.asked import Asked
from sojourn.measurement.counters import Counters
from sojourn.measurement.netns import Namespace
from sojourn.measurement.port_queue import PortQueue, check_disciplines, port_queue
from sojourn.store import rows
from two_servers import STUDY, needs_namespaces

pytestmark = pytest.mark.alone

PIE = {
    "kind": "pie",
    "target": "15ms",
    "update": "15ms",
    "alpha": 0.125,
    "beta": 1.25,
    "max_burst": "150ms",
    "delay": "timestamps",
}
CODEL = {"kind": "codel", "target": "5ms", "interval": "100ms"}
FQ_CODEL = {**CODEL, "kind": "fq-codel", "flows": 1024, "quantum": "1514B"}


def queue(parameters, transport="new-reno"):
    """The kernel's queue for a study's, in which 1000 packets can wait."""
    given = {"buffer": "1.5MB", "counting": "packets", "ecn": False, **parameters}
    of_queue = {f"scheme.queue.{key}": value for key, value in given.items()}
    asked = Asked({**of_queue, "scheme.transport.kind": transport}, "s.toml")
    made = port_queue(asked, 1500)
    assert [*asked.rest] == ["scheme.transport.kind"]  # nothing is left out
    return made


@pytest.mark.parametrize(
    ("parameters", "discipline"),
    [
        (CODEL, "codel limit 1001 target 5000us interval 100000us noecn"),
        ({**CODEL, "ecn": True}, "codel limit 1001 target 5000us interval 100000us ecn"),
        (
            FQ_CODEL,
            "fq_codel limit 1001 flows 1024 quantum 1514 target 5000us interval 100000us noecn"
            " memory_limit 1gb drop_batch 1",
        ),
        (
            {**PIE, "delay": "departure-rate"},
            "pie limit 1001 target 15000us tupdate 15000us alpha 2 beta 20 noecn dq_rate_estimator",
        ),
        (
            PIE,
            "pie limit 1001 target 15000us tupdate 15000us alpha 2 beta 20 noecn"
            " no_dq_rate_estimator",
        ),
    ],
)
def test_every_parameter_is_passed_on(parameters, discipline):
    assert queue(parameters) == PortQueue(1001, packets=True, discipline=discipline)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({**CODEL, "counting": "bytes"}, 'counting = "bytes", expected "packets"'),
        ({**CODEL, "target": "100ns"}, 'target = "100ns", expected whole microseconds'),
        ({**FQ_CODEL, "flows": 65_537}, "flows = 65537, expected at most 65536"),
        ({**FQ_CODEL, "quantum": "100B"}, 'quantum = "100B", expected 256B to'),
        ({**PIE, "alpha": 0.1}, "alpha = 0.1, expected sixteenths"),
        ({**PIE, "beta": 2.0625}, "beta = 2.0625, expected sixteenths, at most 2"),
        ({**PIE, "max_burst": "100ms"}, 'max_burst = "100ms", expected "150ms"'),
    ],
)
def test_what_no_kernel_has_is_refused_by_name(parameters, words):
    with pytest.raises(InputError, match=f"s.toml: scheme.queue.{words}"):
        queue(parameters)


def test_connections_without_ecn_are_no_dctcp_for_marks():
    with pytest.raises(InputError, match=r"queue\.ecn = true, expected false with dctcp"):
        queue({**CODEL, "ecn": True}, transport="dctcp")


@needs_namespaces
def test_a_discipline_that_the_kernel_lacks_is_one_message():
    check_disciplines(["pfifo limit 10"])
    with pytest.raises(InputError, match=r"needs nosuch, which this kernel lacks: .* sch_nosuch,"):
        check_disciplines(["pfifo limit 10", "nosuch"])


@needs_namespaces
@pytest.mark.parametrize("parameters", [CODEL, FQ_CODEL, PIE], ids=lambda p: p["kind"])
def test_the_kernel_takes_what_it_is_told(parameters):
    discipline = queue(parameters).discipline
    try:
        check_disciplines([discipline])
    except InputError as error:
        pytest.skip(str(error))


@needs_namespaces
def test_what_the_kernel_counts():
    namespace = Namespace()
    try:
        namespace.batch("ip", ["link set lo up"])
        namespace.batch("tc", ["qdisc add dev lo root pfifo limit 10"])
        counters = Counters(namespace, ["lo"])
        with namespace.inside(), socket(type=SOCK_DGRAM) as sender, socket(type=SOCK_DGRAM) as to:
            to.bind(("127.0.0.1", 0))
            before = counters.read()
            for _ in range(3):
                sender.sendto(bytes(58), to.getsockname())
        (was,), (now,) = before, counters.read()
        counters.close()
        with pytest.raises(InputError, match="no queues of nowhere"):
            Counters(namespace, ["nowhere"])
    finally:
        namespace.close()
    assert (now.packets - was.packets, now.drops, now.held_bytes) == (3, 0, 0)
    assert now.bytes - was.bytes == 3 * (58 + 8 + 20 + 14)


@needs_namespaces
def test_the_ports_are_looked_at_as_in_a_simulation(command, tmp_path):
    study = tmp_path / "two.toml"
    study.write_text('sample = "10ms"\n' + STUDY)
    measured, simulated = tmp_path / "k", tmp_path / "s"
    assert command("measure", "fabric", study, "--out", measured).code == 0
    assert command("run", study, "--out", simulated).code == 0
    k, s = (
        rows.read(path / "series/case0000-replication000.parquet") for path in (measured, simulated)
    )
    assert k.schema == s.schema
    waiting, port, at = (k[name].to_numpy() for name in ("waiting_bytes", "port", "at_ps"))
    assert set(port) <= {0, 1, 2}
    assert (np.diff(at) >= 0).all()
    # two windows that grow until 60 KB overflow; what is on the wire does not wait
    assert 30_000 < waiting[port == 2].max() <= 60_000
    assert waiting[port != 2].max(initial=0) < 60_000
    busy = k["busy"].to_numpy()
    assert ((busy >= 0) & (busy <= 1)).all()
