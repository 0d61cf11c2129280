"""The arguments of htsim_uec: each is taken, refused with its reason, or changes no result."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from sojourn._internal.errors import InputError, did_you_mean
from sojourn._internal.units import BPS_PER_GBPS, BPS_PER_MBPS, PS_PER_US
from sojourn.htsim.lines import whole
from sojourn.htsim.matrix import MESSAGES

OPTION = "--htsim"
"""What messages call the place of these arguments."""

PROGRAM = "htsim_uec"
_LONGEST = 10_000
_MOST_US = 1_000_000_000
_MOST_MBPS = 100_000_000


@dataclass
class Arguments:
    """What htsim_uec was asked for, its defaults filled in; None where it decides by the fabric.

    Speeds are in bits a second, times in picoseconds unless a name says otherwise, sizes in
    packets or, where a name says so, in bytes. `notes` say which arguments change no result.
    """

    matrix: str = ""
    topology: str | None = None
    nodes: int | None = None
    tiers: int = 3
    speed: int = 100 * BPS_PER_GBPS
    hop_latency: int = PS_PER_US
    switch_latency: int = 0
    failed: int = 0
    packet_bytes: int = 4150
    queue: int | None = None
    queue_products: int | None = None
    ecn: tuple[int, int] | None = None
    trims: bool = True
    sender_control: bool = True
    receiver_control: bool = False
    oversubscribed: bool = False
    never_oversubscribed: bool = False
    window: int = 0
    paths: int = 64
    spraying: str = "mixed"
    ack_every_bytes: int = 16_384
    target: int | None = None
    quick_adapt_gate: int = 3
    seed: int = 13
    end_us: int = 1000
    given: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


_Set = Callable[[Arguments, "_Words"], None]


@dataclass
class _Words:
    """The words behind an argument."""

    name: str
    left: list[str]

    def refused(self, what: str) -> InputError:
        return refused(self.name, what)

    def next(self) -> str:
        if not self.left:
            raise self.refused("expected a value behind it")
        return self.left.pop(0)

    def number(self, least: int, most: int) -> int:
        given = self.next()
        found = whole(given)
        if found is None or not least <= found <= most:
            raise self.refused(f"{given!r}, expected a whole number from {least:,} to {most:,}")
        return found

    def scaled(self, by: int, most: float, unit: str, *, least: float = 0) -> int:
        """A number that may have decimals, times `by`, rounded."""
        given = self.next()
        try:
            found = float(given) if given.isascii() else -1.0
        except ValueError:
            found = -1.0
        if not (isfinite(found) and least <= found <= most):
            raise self.refused(f"{given!r}, expected {unit} from {least:g} to {most:,}")
        return round(found * by)

    def one_of(self, names: Mapping[str, str]) -> str:
        """One of some names, refused where there is a reason beside it."""
        given = self.next()
        if given not in names:
            raise self.refused(f"{given!r}{did_you_mean(given, names)}")
        if names[given]:
            raise self.refused(f"{given}: {names[given]}")
        return given


def refused(name: str, what: str) -> InputError:
    """The error about an argument."""
    return InputError(f"{OPTION}: {name}: {what}")


def read(text: str) -> Arguments:
    """The arguments of a command line, with or without the name of the program before them.

    Raises:
        InputError: one is unknown, wrong, or asks for what cannot be simulated.
    """
    if len(text) > _LONGEST:
        raise InputError(f"{OPTION}: expected at most {_LONGEST:,} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{OPTION}: {str(error).lower()}, expected a command line") from None
    if words and words[0].rpartition("/")[2] == PROGRAM:
        del words[0]
    found = Arguments()
    while words:
        name = words.pop(0)
        if name not in _KNOWN:
            raise InputError(f"{OPTION}: unknown {name!r}{_near(name)}")
        _KNOWN[name](found, _Words(name, words))
        found.given.add(name)
    if not found.matrix:
        raise InputError(f"{OPTION}: no -tm, expected a connection matrix")
    return found


def _near(name: str) -> str:
    return did_you_mean(name, _KNOWN, otherwise=f", expected an argument of {PROGRAM}")


def _no_effect(found: Arguments, words: _Words) -> None:
    if words.name not in found.given:
        found.notes.append(f"{words.name} has no effect on results")


def _no_effect_of_value(found: Arguments, words: _Words) -> None:
    words.next()
    _no_effect(found, words)


def _refuse(reason: str) -> _Set:
    def act(_: Arguments, words: _Words) -> None:
        raise words.refused(reason)

    return act


def _only(names: Mapping[str, str]) -> _Set:
    """An argument of which only the default can be simulated."""
    return lambda _, words: (words.one_of(names), None)[1]


def _number(name: str, least: int, most: int) -> _Set:
    return lambda found, words: setattr(found, name, words.number(least, most))


def _microseconds(name: str) -> _Set:
    def act(found: Arguments, words: _Words) -> None:
        setattr(found, name, words.scaled(PS_PER_US, _MOST_US, "microseconds"))

    return act


def _text(name: str) -> _Set:
    return lambda found, words: setattr(found, name, words.next())


def _control(*, sender: bool | None = None, receiver: bool | None = None) -> _Set:
    def act(found: Arguments, words: _Words) -> None:
        if sender is not None:
            found.sender_control = sender
        if receiver is not None:
            found.receiver_control = receiver
        if words.name != "-receiver_cc":  # all others switch it off again
            found.oversubscribed = False

    return act


def _algorithm(found: Arguments, words: _Words) -> None:
    other = "expected nscc; DCTCP over other queues is the scheme DCTCP"
    words.one_of({"nscc": "", "dctcp": other, "constant": "a constant window is no part of UET"})
    found.sender_control = True


def _speed(found: Arguments, words: _Words) -> None:
    found.speed = words.scaled(BPS_PER_MBPS, _MOST_MBPS, "megabits a second", least=1)


def _ecn(found: Arguments, words: _Words) -> None:
    low, high = (words.number(0, 10**6) for _ in range(2))
    if low > high:
        raise words.refused(f"{low} {high}, expected the lower threshold first")
    found.ecn = low, high


def _paths(found: Arguments, words: _Words) -> None:
    found.paths = words.number(1, 1 << 15)
    if found.paths & (found.paths - 1):
        raise words.refused(
            f"{found.paths}, expected a power of two, as htsim_uec assumes without a check"
        )


def _spraying(found: Arguments, words: _Words) -> None:
    names = dict.fromkeys(("mixed", "bitmap", "reps", "oblivious"), "")
    found.spraying = words.one_of({**names, "reps_legacy": "expected reps, which replaced it"})


def _no_trims(found: Arguments, _: _Words) -> None:
    found.trims = False


def _oversubscribed(found: Arguments, _: _Words) -> None:
    found.oversubscribed = True


def _never_oversubscribed(found: Arguments, _: _Words) -> None:
    found.oversubscribed, found.never_oversubscribed = False, True


_FIXED = "expected none: the constants of receivers' oversubscription control are fixed"
_ADAPTIVE = "switches that choose by queues are not simulated with UET, expected ecmp_host"
_OTHER_QUEUE = "expected composite, the queue of UET"
_OTHER_HOST = "expected fair_prio: flows in turn, and control packets first"

_KNOWN: Mapping[str, _Set] = {
    "-tm": _text("matrix"),
    "-topo": _text("topology"),
    "-nodes": _number("nodes", 2, 1 << 16),
    "-tiers": _number("tiers", 2, 3),
    "-linkspeed": _speed,
    "-hop_latency": _microseconds("hop_latency"),
    "-switch_latency": _microseconds("switch_latency"),
    "-failed": _number("failed", 0, 10**6),
    "-mtu": _number("packet_bytes", 65, 9000),
    "-q": _number("queue", 1, 10**6),
    "-queue_size_bdp_factor": _number("queue_products", 0, 10**4),
    "-ecn": _ecn,
    "-disable_trim": _no_trims,
    "-sender_cc_only": _control(sender=True, receiver=False),
    "-receiver_cc_only": _control(sender=False, receiver=True),
    "-sender_cc": _control(sender=True),
    "-receiver_cc": _control(receiver=True),
    "-sender_cc_algo": _algorithm,
    "-oversubscribed_cc": _oversubscribed,
    "-force_disable_oversubscribed_cc": _never_oversubscribed,
    "-cwnd": _number("window", 0, 10**6),
    "-paths": _paths,
    "-load_balancing_algo": _spraying,
    "-sack_threshold": _number("ack_every_bytes", 0, 2**31 - 1),
    "-target_q_delay": _microseconds("target"),
    "-qa_gate": _number("quick_adapt_gate", 0, 16),
    "-seed": _number("seed", 0, 2**31 - 1),
    "-end": _number("end_us", 0, _MOST_US),
    # Only the default can be simulated.
    "-strat": _only(
        {
            "ecmp_host": "",
            **dict.fromkeys(
                ("rr_ecmp", "ecmp_host_ecn", "reactive_ecn", "ecmp_ar", "ecmp_host_ar", "ecmp_rr"),
                _ADAPTIVE,
            ),
        }
    ),
    "-queue_type": _only(
        {
            "composite": "",
            **dict.fromkeys(("composite_ecn", "aeolus", "aeolus_ecn"), _OTHER_QUEUE),
        }
    ),
    "-host_queue_type": _only({"fair_prio": "", **dict.fromkeys(("swift", "prio"), _OTHER_HOST)}),
    "-planes": _only({"1": "", **{str(n): "a host has one link here" for n in range(2, 9)}}),
    "-trimsize": _only({"64": ""}),
    # Not simulated.
    "-conn_reuse": _refuse(MESSAGES),
    "-pcie": _refuse("hosts' buses are not simulated"),
    "-sleek": _refuse("losses are found by trims and time-outs, SLEEK is not simulated"),
    "-enable_accurate_base_rtt": _refuse("all flows begin with the fabric's longest round trip"),
    "-disable_base_rtt_update_on_nack": _refuse("a NACK counts as a sample of the round trip"),
    "-Ai": _refuse(_FIXED),
    "-Md": _refuse(_FIXED),
    "-alpha": _refuse(_FIXED),
    # Of no effect: what is logged, and how switches choose that this does not simulate.
    "-o": _no_effect_of_value,
    "-log": _no_effect_of_value,
    "-logtime": _no_effect_of_value,
    "-logtime_us": _no_effect_of_value,
    "-debug": _no_effect,
    "-ar_sticky_delta": _no_effect_of_value,
    "-ar_granularity": _no_effect_of_value,
    "-ar_method": _no_effect_of_value,
}

NAMES = tuple(_KNOWN)
"""All arguments, those of no effect and those that are refused too."""
