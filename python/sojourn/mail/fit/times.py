"""How far hosts are, how long they think, and how long their name servers take.

A log does not tell a distance from a slow host. Of the times of connections and of transactions the
model makes a distance and a time of answers that give the same sums, for a server with PIPELINING.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf

import numpy as np
import numpy.typing as npt

from sojourn.analysis.statistics import Values
from sojourn.mail.fit.seen import SETUP, Seen

# Round trips and answers in a transaction with PIPELINING.
_SENDING = (2, 2)
# Slots were scarce if sessions began while so steady a number was busy: the variance over the
# mean, by the quartiles of a normal law. Of sessions that do not wait for each other it is 1.
_STEADY, _QUARTILES = 0.3, 1.349
# Or if more than this share of the sessions began while as many were busy as ever,
_AT_THE_LIMIT = 0.25
# and of these sessions more than this share began so soon after another one ended.
_IN_ITS_PLACE, _RIGHT_AFTER_US = 0.9, 3000
# Where slots were scarce, a session did not wait for one if it began while fewer than this share of
# the most were busy.
_SLOTS_LEFT = 0.5
# By how much times may differ that are taken for one: a share, and microseconds.
_ALIKE, _ALIKE_US = 0.05, 3000
# Of the waits before sessions, in per cent, those that are longer than what names alone take.
_NEARLY_ALL = 5
# So few sessions say nothing of a limit.
_FEWEST_STEADY = 20


def distances(setups: Values, sendings: Values, wholes: Values) -> tuple[float, float, float]:
    """The round trip, the median answer and the spread of answers, of log-normal ones.

    Two means are two equations with two unknowns. No session is set up and nothing sent in less
    than the round trips that it takes. Answers of a transaction are independent, so that their
    variances add up. Where only wholes are known, of set-up and transaction together, answers take
    no time.
    """
    trips, answers = _SENDING
    if not sendings.size:
        return float(wholes.mean()) / (SETUP[0] + trips), 0.0, 0.0
    sending = float(sendings.mean())
    setup = float(setups.mean()) if setups.size else sending
    round_trip, _ = np.linalg.solve([SETUP, _SENDING], [setup, sending])
    least = min(sendings.min() / trips, setups.min(initial=np.inf) / SETUP[0])
    round_trip = float(np.clip(round_trip, 0, least))
    mean = (setup + sending - (SETUP[0] + trips) * round_trip) / (SETUP[1] + answers)
    several = sendings.size > 1  # one alone says nothing of how they vary
    deviation = float(sendings.std(ddof=1)) / np.sqrt(answers) if several else 0.0
    if mean <= 0:
        return round_trip, 0.0, 0.0
    spread = float(np.sqrt(np.log1p((deviation / mean) ** 2)))
    return round_trip, mean / float(np.exp(spread**2 / 2)), spread


def outages(tries: Iterable[tuple[int, bool]], until_us: int) -> tuple[float, float | None]:
    """The share of the time out, and the mean length of that; nothing where it always answered.

    An outage lasts from the first try without an answer to the first with one. What has not ended
    counts as the rest does, which is what an exponential law makes likeliest.
    """
    began_us: int | None = None
    first_us: int | None = None
    out_us, ended, begun = 0, 0, 0
    for at_us, answered in sorted(tries):
        first_us = at_us if first_us is None else first_us
        if answered and began_us is not None:
            out_us += at_us - began_us
            ended += 1
            began_us = None
        elif not answered and began_us is None:
            began_us = at_us
            begun += 1
    if first_us is None or not begun:
        return 0.0, None
    out_us += until_us - began_us if began_us is not None else 0
    if began_us is not None and ended == 0 and began_us == first_us:
        return 1.0, None
    observed = max(until_us - first_us, 1)
    return min(out_us / observed, 0.99), out_us / max(ended, 1)


def lookups(seen: Mapping[str, Seen], all_seen: Seen) -> dict[str, float]:
    """How long each domain's name servers take.

    The log gives one time before a session begins: the lookup and the wait for a slot together.
    Where slots were scarce, sessions began as others ended, with about as many busy as ever; then
    only a session that began while far fewer were busy tells its lookup alone. A domain without
    such a session gets a lookup as short as nearly all others': the simulation adds the wait.
    """
    busy_us = np.array(all_seen.busy, dtype=np.int64).reshape(-1, 3)
    starts, ends, quits = np.sort(busy_us, axis=0).T

    def beside(at_us: int, until: npt.NDArray[np.int64] = ends) -> int:
        began, ended = np.searchsorted(starts, at_us), np.searchsorted(until, at_us)
        return int(began - ended)

    def in_its_place(at_us: int) -> bool:
        place = int(np.searchsorted(ends, at_us, side="right"))
        return place > 0 and at_us - int(ends[place - 1]) < _RIGHT_AFTER_US

    busy = [(beside(at_us), at_us) for at_us, _ in all_seen.queued]
    most = max((number for number, _ in busy), default=0)
    at_the_limit = [in_its_place(at_us) for number, at_us in busy if number >= most - 1]
    many = len(at_the_limit) > _AT_THE_LIMIT * len(busy)
    in_places = many and sum(at_the_limit) > _IN_ITS_PLACE * len(at_the_limit)
    steady = _steady([beside(at_us, quits) for _, at_us in busy])
    few = _SLOTS_LEFT * most if in_places or steady else inf
    waits = [wait for _, wait in all_seen.queued]
    short = float(np.percentile(waits, _NEARLY_ALL)) if waits else 0.0

    def least(one: Seen) -> float:
        at_once = [wait for at_us, wait in one.queued if beside(at_us) < few]
        return min(at_once, default=short)

    return _alike({name: least(one) for name, one in seen.items()})


def _steady(busy: Sequence[int]) -> bool:
    """Whether sessions began while about as many were busy, as it is where one waits for another.

    Those of a burst without a limit begin while 0, 1, 2, ... are busy, those of a steady stream of
    messages while a number is that varies as a Poisson one.
    """
    if len(busy) < _FEWEST_STEADY:
        return False
    low, middle, high = np.percentile(busy, (25, 50, 75))
    return bool(middle >= 2 and ((high - low) / _QUARTILES) ** 2 < _STEADY * middle)


def _alike(times_us: Mapping[str, float]) -> dict[str, float]:
    """The same, where those that differ by 3 ms or 5 % are one time, the least of them.

    The answers of one server differ by as much. A slot goes to the domain whose lookup ends first;
    lookups that take the same time end in the order in which they began, which is the list's. A
    measured difference of a tenth of a millisecond would put them into another order.
    """
    found: dict[str, float] = {}
    first = -inf
    for name, time_us in sorted(times_us.items(), key=lambda item: item[1]):
        if time_us - first > max(_ALIKE * first, _ALIKE_US):
            first = time_us
        found[name] = first
    return found
