"""What a mail server did, by its log, in the rows that the simulator writes."""

import numpy as np
import numpy.typing as npt

from sojourn._core import Study
from sojourn._internal.errors import MeasurementError
from sojourn.execution.execute import Task
from sojourn.execution.results import keep
from sojourn.maillog.copies import DELIVERED, Copy, copies
from sojourn.maillog.reading import Reading, attempts
from sojourn.measurement.cases import measure_cases
from sojourn.store.ledger import Record, Value
from sojourn.store.rows import Column
from sojourn.store.run_directory import RunDirectory

_SHARES = (50, 95, 99)
_KINDS = ["delivery", *(f"message-{share}" for share in _SHARES), "message"]
_OUTCOMES = ["delivered", "failed", "waiting"]
_PARTS = ("before", "queued", "setup", "sending")
_PS_PER_US = 10**6
_IDEAL = "ideal: the quickest delivery at the same domain"
_NONE = -1

Ints = npt.NDArray[np.int64]


def measure(
    study: Study, source: str, reading: Reading, directory: RunDirectory, *, command: str
) -> int:
    """Put what logs say of deliveries into a run directory.

    A copy is a row: accepted when the log says so, or else when its first attempt says how old it
    is; with an end when it was delivered. Copies of which there is no line yet have no row. A
    message has rows, as in a simulation, when 50, 95, 99 % of its copies were delivered, and when
    all copies had come to their end.

    Args:
        study: of mail, one case: what was delivered, as it is simulated.
        source: its file, for messages.
        reading: the logs.
        directory: where to.
        command: for `meta.json`.

    Returns:
        How many cases were measured.

    Raises:
        MeasurementError: a log cannot be read, or has no delivery; the study is of something else.
    """
    if study.model != "mail":
        raise MeasurementError(f'{source}: model = "{study.model}", expected "mail"')
    if len(study.cases()) > 1:
        raise MeasurementError(
            f"{source}: {len(study.cases())} cases, expected one: a log is of one"
        )
    sample = study.cases()[0].parameters["sample"]
    if sample != "none":
        raise MeasurementError(
            f'{source}: sample = "{sample}", expected "none": logs tell of deliveries'
        )

    def one(task: Task) -> Record:
        columns, figures = _columns(_copies(reading))
        return keep(directory, task.case, task.replication, columns, figures, wall_s=0.0, cpu_s=0.0)

    names = ", ".join(str(name) for name in reading.names)
    return measure_cases(study, directory, command=command, measured=names, one=one)


def _copies(reading: Reading) -> list[Copy]:
    found = copies(attempts(reading))
    if not any(copy.outcome == DELIVERED for copy in found):
        raise MeasurementError(f"{', '.join(reading.names)}: nothing delivered")
    return found


def _columns(copies: list[Copy]) -> tuple[dict[str, Column], dict[str, Value]]:
    began = min(copy.accepted for copy in copies)
    messages = {name: n for n, name in enumerate(dict.fromkeys(copy.message for copy in copies))}
    domains = {name: n for n, name in enumerate(sorted({copy.domain for copy in copies}))}
    of = np.array([messages[copy.message] for copy in copies])
    domain = np.array([domains[copy.domain] for copy in copies])
    arrived = np.array([copy.accepted - began for copy in copies])
    finished = np.array([c.finished - began if c.outcome == 0 else _NONE for c in copies])
    sizes = np.array([copy.size for copy in copies])
    ends = np.concatenate([_ends(finished[of == n], copies, n, of) for n in messages.values()])
    firsts = np.array([int(np.argmax(of == n)) for n in messages.values()])
    joins = np.repeat(firsts, len(_SHARES) + 1)
    kinds = np.concatenate(
        [np.zeros(len(copies)), np.tile(np.arange(1, len(_KINDS)), len(messages))]
    )
    arrived, finished = (np.concatenate(p) for p in ((arrived, arrived[joins]), (finished, ends)))
    sojourn = np.where(finished < 0, _NONE, np.maximum(finished - arrived, 1))
    quickest = _quickest(sojourn[: len(copies)], domain)
    of_messages = [_at_shares(np.sort(quickest[of == n])) for n in messages.values()]
    ideal = np.concatenate([quickest, *of_messages])
    none = np.full(joins.size, _NONE)
    outcomes = np.concatenate([[c.outcome for c in copies], np.where(ends < 0, 2, 0)])
    parts = np.array([copy.parts for copy in copies]).T
    columns: dict[str, Column] = {
        "job": np.arange(arrived.size),
        "kind": (kinds.astype(np.uint8), _KINDS),
        "size_bytes": np.concatenate([sizes, sizes[joins]]),
        "arrived_ps": arrived * _PS_PER_US,
        "finished_ps": np.where(finished < 0, _NONE, finished * _PS_PER_US),
        "sojourn_ps": np.where(sojourn < 0, _NONE, sojourn * _PS_PER_US),
        "ideal_ps": ideal * _PS_PER_US,
        "slowdown": np.where(sojourn < 0, np.nan, sojourn / ideal),
        "message": np.concatenate([of, of[joins]]),
        "domain": np.concatenate([domain, none]),
        "attempts": np.concatenate([[copy.attempts for copy in copies], none]),
        **{
            f"{name}_ps": np.concatenate([np.where(part < 0, _NONE, part * _PS_PER_US), none])
            for name, part in zip(_PARTS, parts, strict=True)
        },
        "outcome": (outcomes.astype(np.uint8), _OUTCOMES),
    }
    figures: dict[str, Value] = {
        "messages": len(messages),
        "deliveries": int((outcomes[: len(copies)] == 0).sum()),
        "failed": int((outcomes[: len(copies)] == 1).sum()),
        "unfinished": int((outcomes[: len(copies)] == 2).sum()),
        "attempts": sum(copy.attempts for copy in copies),
        "measured_ps": int(finished.max()) * _PS_PER_US,
        "ideal": _IDEAL,
    }
    return columns, figures


def _ends(finished: Ints, copies: list[Copy], message: int, of: Ints) -> Ints:
    """When a message had reached each share of its copies, and when all had come to an end."""
    never = np.iinfo(np.int64).max
    reached = _at_shares(np.sort(np.where(finished < 0, never, finished)))
    ended = all(copies[n].outcome != 2 for n in np.flatnonzero(of == message))
    reached[-1] = finished.max() if ended else never
    return np.where(reached == never, _NONE, reached)


def _at_shares(ascending: Ints) -> Ints:
    """The values that 50, 95, 99 and 100 % of all do not exceed."""
    return ascending[[-(-ascending.size * share // 100) - 1 for share in (*_SHARES, 100)]]


def _quickest(sojourn: Ints, domain: Ints) -> Ints:
    """For each copy the least time of one at the same domain; of all where none was delivered."""
    done = sojourn >= 0
    least = np.full(int(domain.max()) + 1, sojourn[done].min())
    own = np.full(least.size, np.iinfo(np.int64).max)
    np.minimum.at(own, domain[done], sojourn[done])
    known = own < np.iinfo(np.int64).max
    least[known] = own[known]
    return least[domain]
