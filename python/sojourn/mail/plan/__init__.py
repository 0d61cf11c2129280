"""How a list server should be set for a list, when all then have a message, and what remains.

A plan is made in the simulator: the engine that delivers for real, in an internet learnt from logs.
What it says of times is as good as that internet: `sojourn.mail.fit` says what is not learnt.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn._internal.errors import InputError
from sojourn._internal.files import write_text
from sojourn.analysis.statistics import Interval
from sojourn.mail.mailer import Advice, Server
from sojourn.mail.plan import own
from sojourn.mail.plan.causes import Cause, explain
from sojourn.mail.plan.logged import Explained
from sojourn.mail.plan.policy import Policy, resolved, settings
from sojourn.mail.plan.predict import Predicted, Scenario
from sojourn.mail.plan.search import Limits, Search, Step

# Of the server with Python around it: its peak, measured at 2,000 subscribers on 400 domains, 4,000
# on as many, with 50 to 2,000 sessions, 1 and 20 messages of 4 KB, without TLS, rounded up.
_BASE_BYTES = 50 * 10**6
_SUBSCRIBER_BYTES = 6000
_DELIVERY_BYTES = 150
_SESSION_BYTES = 5000
_STUDY, _SETTINGS = "study.toml", "settings.toml"


@dataclass(frozen=True)
class Side:
    """A policy, what it does, and what then holds delivery back.

    `of_one` is between which times 95 of 100 mailings reach a percentile, in seconds.
    """

    policy: Policy
    predicted: Predicted
    of_one: Mapping[int, Interval]
    causes: list[Cause]

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "policy": self.policy,
            "predicted": self.predicted.to_dict(),
            "one_mailing": {f"p{percentile}_s": ends for percentile, ends in self.of_one.items()},
            "causes": [cause.to_dict() for cause in self.causes],
        }


@dataclass(frozen=True)
class Planned:
    """A plan.

    Attributes:
        scenario: what it was made for.
        server: the mailer whose settings are those of `now`.
        percentile: the share whose time was to be short, in per cent.
        now: the present policy, as it is; without its limits kept.
        explained: the log next to the model of it; None where there is no log.
        plan: the policy that was found.
        steps: how it was.
        tried: how many policies were.
        advice: what changes, in the mailer's own words.
        settings: a file of settings with it for our own server; None for another mailer.
    """

    scenario: Scenario
    server: Server
    percentile: int
    explained: Explained | None
    now: Side
    plan: Side
    steps: list[Step]
    tried: int
    advice: list[Advice]
    settings: str | None

    def write(self) -> dict[str, str]:
        """Write the settings, and the study that predicts their times; the files by what they are.

        Raises:
            OSError: they cannot be written.
        """
        folder = self.scenario.folder
        folder.mkdir(parents=True, exist_ok=True)
        found = {"study": folder / _STUDY}
        replications = len(self.plan.predicted.delays_s)
        if self.settings is not None:
            found = {"settings": folder / _SETTINGS, **found}
            write_text(found["settings"], self.settings)
        study = self.scenario.study(self.plan.policy, replications=replications)
        write_text(found["study"], study)
        return {what: str(path) for what, path in found.items()}

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "subscribers": self.scenario.world.subscribers,
            "unknown_domains": self.scenario.world.unknown_domains,
            "notes": list(self.scenario.world.notes),
            "percentile": self.percentile,
            "tried": self.tried,
            "now": self.now.to_dict(),
            "plan": self.plan.to_dict(),
            "mailer": self.server.mailer,
            "settings": self.server.source,
            "not_modelled": self.server.not_modelled,
            "as_logged": self.explained and self.explained.to_dict(),
            "steps": [vars(step) for step in self.steps],
            "advice": [vars(advice) for advice in self.advice],
        }


def forget(folder: Path, config: Path | None) -> None:
    """Remove a former plan, which is none for an internet that replaces its own.

    Args:
        folder: where it lies.
        config: the present settings, which stay even if they are a former plan's.
    """
    for path in (folder / _STUDY, folder / _SETTINGS):
        if config is None or path.resolve() != config.resolve():
            path.unlink(missing_ok=True)


def sessions_within(memory_bytes: int, subscribers: int, messages: int) -> int:
    """How many sessions a list server may have in so much memory, as it was measured.

    Raises:
        InputError: it needs more without any.
    """
    held = _BASE_BYTES + subscribers * (_SUBSCRIBER_BYTES + messages * _DELIVERY_BYTES)
    sessions = (memory_bytes - held) // _SESSION_BYTES
    if sessions < 1:
        raise InputError(
            f"--memory: {memory_bytes:,} bytes, expected at least the {held + _SESSION_BYTES:,}"
            " that a server with one session takes"
        )
    return sessions


def plan(
    scenario: Scenario,
    limits: Limits,
    server: Server,
    *,
    config: Path | None = None,
    explained: Explained | None = None,
    percentile: int,
    replications: int,
    say: Callable[[str], None],
) -> Planned:
    """Search a policy for a list, predict what it does, and say what remains.

    Args:
        scenario: the internet, the messages and the machine.
        limits: what the policy may ask for.
        server: the mailer, as it is set now.
        config: our own server's file of settings, if it has one.
        explained: the log next to the model of it, where there is a log.
        percentile: the share whose time is to be short, in per cent.
        replications: of what is then predicted and explained.
        say: is called with what is being done.

    Raises:
        InputError: the settings cannot be read.
        StudyError: they are none, or the internet's file is none.
    """
    present = resolved(scenario.parsed(server.policy).resolved())
    search = Search(scenario, limits, percentile, say, server)
    start = limits.within(present)
    best, steps = search.best(start)
    best, steps = search.without_idle_steps(best, start, steps)
    best = resolved(scenario.parsed(best).resolved())
    sides = []
    for name, policy in (("now", present), ("plan", best)):
        say(f"what holds back: {name}")
        causes = explain(scenario, policy, replications)
        say(f"one mailing: {name}")
        predicted = scenario.predict(policy, replications)
        sides.append(Side(policy, predicted, scenario.of_one(policy, predicted), causes))
    return Planned(
        scenario=scenario,
        server=server,
        percentile=percentile,
        explained=explained,
        now=sides[0],
        plan=sides[1],
        steps=steps,
        tried=search.tried,
        advice=[*server.advise(present, best, scenario.world.providers)],
        settings=settings(best, config) if server.mailer == own.NAME else None,
    )
