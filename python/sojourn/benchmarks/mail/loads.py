"""`sojourn bench mail`: how soon all recipients have it, and what a delivery costs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from sojourn._internal.terminal import print_table
from sojourn._internal.units import NS_PER_S, number
from sojourn._internal.vocabulary import models
from sojourn.benchmarks.engine import Cost
from sojourn.benchmarks.mail.outcome import Busiest, Outcome
from sojourn.benchmarks.mail.process import SENDER
from sojourn.benchmarks.mail.stage import Moment, Script, play


@dataclass(frozen=True)
class Load:
    """What is sent into which of the package's worlds, and what its figures may be at most.

    Attributes:
        world: which.
        messages: how many at once, each to all subscribers.
        overrides: what is laid over the world.
        bars: figures of a `MailCost`, and their bars.
        like: another load, of whose figures these may be so many times as much.
        verp: whether the return path names the recipient: a transaction for each.
        hands_over: as of a `Script`.
        signed_like: another load without signatures, whose processor time for a delivery may be
            exceeded by so many times what a signature alone costs.
    """

    world: str
    messages: int
    overrides: tuple[tuple[str, str], ...] = ()
    bars: tuple[tuple[str, float], ...] = ()
    like: tuple[str, tuple[str, ...], float] | None = None
    verp: bool = False
    hands_over: str = "engine"
    signed_like: tuple[str, float] | None = None


# What the list server is to reach on two cores. A Postfix tuned for lists, with a relay to fall
# back on, needed 1.9, 30, 89; 33, 120; 17 s, 0.8 ms and 1.4 GB in such worlds.
_EVERYWHERE = (("ns_per_unit", 250_000.0), ("peak_mb", 150.0), ("lost", 0.0), ("twice", 0.0))
# Where all hosts take BDAT, or none does.
_BDAT, _DATA = ((("drawn.chunking", share),) for share in ("1.0", "0.0"))
LOADS = {
    "one-message": Load(
        "list",
        1,
        bars=(("reachable_50_s", 1.2), ("prompt_95_s", 15.0), ("reachable_95_s", 70.0)),
    ),
    "twenty-messages": Load("list", 20, bars=(("fast_95_s", 12.0), ("reachable_95_s", 80.0))),
    "twenty-messages-10-down": Load(
        "list",
        20,
        (("drawn.unreachable", "0.1"),),
        like=("twenty-messages", ("fast_95_s", "reachable_95_s"), 1.1),
    ),
    **{
        f"{name}-bdat{kind}": Load(
            "list",
            messages,
            _BDAT,
            like=(f"{name}-bdat", ("prompt_95_s", "ns_per_unit"), 1.5) if verp else None,
            verp=verp,
        )
        for name, messages in (("one-message", 1), ("five-messages", 5), ("twenty-messages", 20))
        for kind, verp in (("", False), ("-verp", True))
    },
    # What it costs where a fifth of the hosts take one text a round trip, or all: no bar is theirs.
    "twenty-messages-verp": Load("list", 20, verp=True),
    "twenty-messages-data-verp": Load("list", 20, _DATA, verp=True),
    "clean": Load("clean", 20, bars=(("reachable_all_s", 8.0),)),
    "clean-list": Load("clean", 20, hands_over="list"),
    "clean-signed": Load("clean", 20, hands_over="signed list", signed_like=("clean-list", 1.2)),
}


@dataclass(frozen=True)
class Bar:
    """A figure, the most that it may be, and whether it holds."""

    figure: str
    most: float
    measured: float
    holds: bool

    def cells(self) -> list[str]:
        """For a table."""
        holds = "yes" if self.holds else "no"
        return [self.figure, holds, number(self.measured), number(self.most)]


@dataclass(frozen=True)
class MailCost(Cost):
    """The cost of deliveries, and when they were made; the contract's JSON object and more.

    Times are seconds from the first message's submission until so many per cent of a group have it,
    the groups of `outcome.GROUPS`; None where fewer have. `internet_cpu_s` is the small internet's
    own processor time, which `cpu_s` does not hold; `busiest` the host that took over most;
    `signature_ns` what a signature alone costs, None where copies are not signed.
    """

    reachable_50_s: float
    fast_95_s: float
    prompt_95_s: float
    reachable_95_s: float
    reachable_99_s: float
    reachable_all_s: float
    delivered: int
    deferred: int
    failed: int
    lost: int
    twice: int
    internet_cpu_s: float
    busiest: Busiest
    signature_ns: float | None = None
    bars: tuple[Bar, ...] = ()


def chosen(model: str, case: str | None) -> dict[str, Load]:
    """The loads of a model, all of them or the one of that name: none but mail has any."""
    return {name: load for name, load in LOADS.items() if model == "mail" and case in (None, name)}


def measure(loads: Mapping[str, Load], *, say: Callable[[str], None]) -> list[MailCost]:
    """Play loads, and hold them against their bars.

    Args:
        loads: which.
        say: is called with what is being done.

    Raises:
        InputError: a process ended.
    """
    costs: dict[str, MailCost] = {}
    for name, load in loads.items():

        def watch(moment: Moment, name: str = name) -> None:
            say(f"{name}: {moment.taken:,} taken over after {moment.since_s:.0f} s")

        outcome = play(script(load), watch)
        if outcome.interrupted:
            raise KeyboardInterrupt
        found = cost(name, outcome)
        costs[name] = replace(found, bars=judged(found, load, costs))
    return list(costs.values())


def judged(found: MailCost, load: Load, others: Mapping[str, MailCost]) -> tuple[Bar, ...]:
    """The bars of a load, and whether they hold; without those that follow from a load unplayed."""
    bars = [*load.bars, *_EVERYWHERE]
    if load.like and load.like[0] in others:
        other = others[load.like[0]]
        bars += [(figure, getattr(other, figure) * load.like[2]) for figure in load.like[1]]
    if load.signed_like and load.signed_like[0] in others and found.signature_ns is not None:
        name, times = load.signed_like
        bars += [("ns_per_unit", others[name].ns_per_unit + times * found.signature_ns)]
    measured = ((figure, most, getattr(found, figure)) for figure, most in bars)
    return tuple(Bar(figure, most, value, holds=value <= most) for figure, most, value in measured)


def script(load: Load) -> Script:
    """What is played for a load."""
    world = files("sojourn.benchmarks.mail").joinpath("worlds", f"{load.world}.toml")
    text = world.read_text(encoding="utf-8")
    server = Script.server + (f'verp = ["{SENDER}"]\n' if load.verp else "")
    return Script(
        text,
        load.world,
        load.overrides,
        load.messages,
        server=server,
        hands_over=load.hands_over,
    )


def cost(name: str, outcome: Outcome) -> MailCost:
    """What an outcome cost."""
    units = outcome.delivered
    return MailCost(
        case=name,
        unit=next(iter(models()["mail"].work)),
        units=units,
        cpu_s=outcome.cpu_s,
        per_cpu_s=units / outcome.cpu_s,
        ns_per_unit=outcome.cpu_s / max(units, 1) * NS_PER_S,
        instructions_per_unit=None,
        peak_mb=outcome.peak_bytes / 1e6,
        reachable_50_s=outcome.until_s("reachable", 0.5),
        fast_95_s=outcome.until_s("fast", 0.95),
        prompt_95_s=outcome.until_s("prompt", 0.95),
        reachable_95_s=outcome.until_s("reachable", 0.95),
        reachable_99_s=outcome.until_s("reachable", 0.99),
        reachable_all_s=outcome.until_s("reachable", 1),
        delivered=units,
        deferred=outcome.deferred,
        failed=len(outcome.failed),
        lost=len(outcome.lost),
        twice=outcome.twice,
        internet_cpu_s=outcome.internet_cpu_s,
        busiest=outcome.busiest,
        signature_ns=outcome.signature_ns,
    )


def show(costs: Sequence[MailCost]) -> None:
    """Print a line a load, and a line a bar."""
    columns: dict[str, Callable[[MailCost], float]] = {
        "deliveries": lambda it: it.delivered,
        "50 % [s]": lambda it: it.reachable_50_s,
        "fast 95 % [s]": lambda it: it.fast_95_s,
        "prompt 95 % [s]": lambda it: it.prompt_95_s,
        "reachable 95 % [s]": lambda it: it.reachable_95_s,
        "all [s]": lambda it: it.reachable_all_s,
        "deferred": lambda it: it.deferred,
        "failed": lambda it: it.failed,
        "CPU [ms/delivery]": lambda it: it.ns_per_unit / 1e6,
        "peak [MB]": lambda it: it.peak_mb,
        "internet's CPU [s]": lambda it: it.internet_cpu_s,
        "busiest host's deliveries": lambda it: it.busiest.deliveries,
        "sessions": lambda it: it.busiest.sessions,
        "transactions": lambda it: it.busiest.transactions,
        "round trips": lambda it: it.busiest.round_trips,
    }
    lines = [[cost.case, *(number(of(cost)) for of in columns.values())] for cost in costs]
    print_table([lines], ["case", *columns], numbers=len(columns))
    bars = [[[cost.case, *bar.cells()] for bar in cost.bars] for cost in costs]
    print_table(bars, ["case", "figure", "holds", "measured", "at most"], numbers=2)
