"""What a plan is asked for, and what it is then made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn._internal.errors import InputError
from sojourn.mail.fit import Fitted, learn
from sojourn.mail.mailer import Server
from sojourn.mail.plan import forget, own, sessions_within, world
from sojourn.mail.plan.logged import Explained, Logged
from sojourn.mail.plan.policy import resolved
from sojourn.mail.plan.predict import Scenario
from sojourn.mail.plan.rules import Rule
from sojourn.mail.plan.search import Limits

# What a plan may ask for where nothing is said, if there is not more now.
_MOST = {"sessions": 1000, "destination": 20}
_SIZE = "4KB"
_AS_LOGGED = "as-logged"
# Of the model that `sojourn mail fit` compares with its log.
_SEED, _REPLICATIONS = 1, 10


@dataclass(frozen=True)
class Request:
    """What was asked for; None where nothing was said.

    Attributes:
        addresses: the list's subscribers.
        burst: `messages`, `every` and `size`.
        most: limits as `Limits` has them.
        rules: limits of single domains.
        memory_bytes: of the server.
        machine: a study's `[machine]`.
        config: our own server's file of settings, if it has one.
        folder: where files go.
        seed: of all chance.
    """

    addresses: Sequence[str] | None
    burst: Mapping[str, object]
    most: Mapping[str, int | None]
    rules: tuple[Rule, ...]
    memory_bytes: int | None
    machine: Mapping[str, object]
    config: Path | None
    folder: Path
    seed: int


@dataclass(frozen=True)
class Prepared:
    """What a plan is made of.

    Attributes:
        scenario: what policies are tried on.
        limits: what they may ask for.
        explained: the log next to the model of it; None where there is no log.
    """

    scenario: Scenario
    limits: Limits
    explained: Explained | None


def prepared(
    request: Request, source: str, log: Logged | None, server: Server, replications: int
) -> Prepared:
    """The internet, the messages and the limits of a plan; and whether the model explains the log.

    Args:
        request: what was asked for.
        source: the internet's file or name, if there is no log.
        log: the log.
        server: the mailer.
        replications: of the model of the log.

    Raises:
        InputError: the internet cannot be read, or the mailer cannot keep what was asked for.
        StudyError: the settings or the internet's file are none.
    """
    _check(request, server)
    forget(request.folder, request.config)
    if log is None:
        internet = (
            world.preset(source, request.addresses)
            if source in world.presets()
            else world.from_file(Path(source), request.addresses, request.folder)
        )
        scenario = Scenario(
            internet, request.folder, _burst(request, 1, _SIZE), request.machine, request.seed
        )
        return Prepared(scenario, _limits(request, scenario, server), None)
    fitted = learn(log.tables, log.names)
    own_burst = request.addresses is None and not any(request.burst.values())
    folder = request.folder if own_burst else request.folder / _AS_LOGGED
    scenario = _logged_scenario(log, fitted, folder, request.machine, request.seed)
    found = _explained(log, fitted, server, scenario, replications)
    if not own_burst:
        internet = world.learnt(fitted, request.addresses, request.folder)
        burst = _burst(request, 1, f"{log.size()}B")
        scenario = replace(scenario, world=internet, folder=request.folder, burst=burst)
    return Prepared(scenario, _limits(request, scenario, server), found)


def _check(request: Request, server: Server) -> None:
    """Refuse what the mailer has no setting for.

    Raises:
        InputError: it has none for an option.
    """
    for name, most in request.most.items():
        if most is not None and not server.has(f"limits.{name}"):
            raise InputError(f"--{name} {most}: {server.mailer} has no such limit")
    for rule in request.rules:
        if rule.kept_by(server) is None:
            raise InputError(
                f"--rule {rule.domain}: {server.mailer} has no setting for {rule.limit} ="
                f" {rule.most}"
            )
    if request.memory_bytes is not None and server.mailer != own.NAME:
        raise InputError(f"--memory: the memory of a session of {server.mailer} is not known")


def as_logged(log: Logged, fitted: Fitted, server: Server, folder: Path) -> Explained:
    """A log next to the model of it, in the internet that was learnt from it.

    Args:
        log: the log.
        fitted: the internet.
        server: the mailer.
        folder: for the model's files.
    """
    scenario = _logged_scenario(log, fitted, folder, {}, _SEED)
    return _explained(log, fitted, server, scenario, _REPLICATIONS)


def _logged_scenario(
    log: Logged, fitted: Fitted, folder: Path, machine: Mapping[str, object], seed: int
) -> Scenario:
    internet = world.learnt(fitted, None, folder)
    return Scenario(internet, folder, log.burst(folder), machine, seed)


def _explained(
    log: Logged, fitted: Fitted, server: Server, scenario: Scenario, replications: int
) -> Explained:
    policy = resolved(scenario.parsed(server.policy).resolved())
    return Explained(log, fitted, server, scenario.predict(policy, replications))


def _burst(request: Request, messages: int, size: str) -> dict[str, object]:
    asked = request.burst
    return {
        "messages": asked["messages"] or messages,
        "arrivals": {"kind": "regular", "every": asked["every"] or "0s"},
        "size": asked["size"] or size,
    }


def _limits(request: Request, scenario: Scenario, server: Server) -> Limits:
    """The limits that were asked for; where nothing was said, what there is now is allowed too."""
    there = resolved(scenario.parsed(server.policy).resolved())["limits"]
    most = {name: request.most[name] or max(number, there[name]) for name, number in _MOST.items()}
    if request.memory_bytes is not None:
        messages = int(str(scenario.burst["messages"]))
        fit_in = sessions_within(request.memory_bytes, scenario.world.subscribers, messages)
        most["sessions"] = min(most["sessions"], fit_in)
    return Limits(
        most["sessions"],
        most["destination"],
        request.most["network"],
        request.most["recipients"],
        tuple(kept for rule in request.rules if (kept := rule.kept_by(server)) is not None),
    )
