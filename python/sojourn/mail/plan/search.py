"""The search for a policy: one setting after the other.

A change is taken over if it is better for sure; one that asks less of the machine, half as many
sessions, if it is for sure hardly worse, by a twentieth of the time at most. Better is less time
until the target's share is delivered, or where that does not tell two apart, until the other shares
are, and never at the price of deliveries that are not made at all. For sure: the 95 % interval of
the difference lies beyond a hundredth of the time. The search ends when no setting's change is
taken over any more. Settings that help only together are not found; a test holds what is found
against all combinations.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn._internal.formats import toml_value
from sojourn.mail.plan import rules
from sojourn.mail.plan.policy import Policy, changed
from sojourn.mail.plan.predict import PERCENTILES, Predicted, Scenario, sooner
from sojourn.mail.plan.rules import Rule

REPLICATIONS = 5
_ROUNDS = 3
_TRIFLE = 0.01
_HARDLY = 0.05
# Of the list: so many fewer that have it are a price that no time is worth.
_FEWER = 0.001
_PARTS: Mapping[str, tuple[Any, ...]] = {
    "split": ({"kind": "by-destination"}, {"kind": "each"}),
    "timeouts": (
        {"kind": "passes", "cut": 5},
        {"kind": "passes", "cut": 10},
        {"kind": "passes", "cut": 20},
        {"kind": "postfix"},
    ),
    "retry": ({"kind": "prompt"}, {"kind": "backoff"}),
    "order": ({"kind": "past-delay"}, {"kind": "list"}),
    "checkpoint": ({"kind": "group"},),
    "limits.probes": (2, 4, 16, 64),
}
_DOMAIN = "domain"
# A rate so far below a provider's limit is not refused, though answers take different times.
_BELOW = 0.9
_NUMBERS = (1, 2, 5, 10, 20, 50, 100, 200)


@dataclass(frozen=True)
class Limits:
    """What no policy may go beyond; None where nothing is said.

    Attributes:
        sessions: in all, after what the memory allows.
        destination: of one recipient domain, and of one host.
        network: of one network.
        recipients: of one transaction.
        rules: of single domains.
    """

    sessions: int
    destination: int
    network: int | None = None
    recipients: int | None = None
    rules: tuple[Rule, ...] = ()

    def within(self, policy: Policy) -> Policy:
        """A policy that is resolved, with limits that are kept."""
        there = policy["limits"]
        most = {
            "sessions": self.sessions,
            "destination": self.destination,
            "network": self.network,
            "recipients": self.recipients,
        }
        kept = {
            f"limits.{name}": min(there[name], limit)
            for name, limit in most.items()
            if limit is not None
        }
        initial = min(there["initial"], kept["limits.destination"])
        own = rules.kept(policy["domain"], self.rules)
        return changed(policy, {**kept, "limits.initial": initial, "domain": own})


@dataclass(frozen=True)
class Step:
    """A change that was taken over.

    Attributes:
        setting: what was changed.
        value: to what.
        within_s: the target's time then.
    """

    setting: str
    value: str
    within_s: float


@dataclass
class Search:
    """A search for a policy.

    Attributes:
        scenario: what policies are tried on.
        limits: what they may ask for.
        percentile: the share whose time is to be short, in per cent.
        say: is called with what is being done.
    """

    scenario: Scenario
    limits: Limits
    percentile: int
    say: Callable[[str], None]
    _known: dict[str, Predicted] = field(default_factory=dict)

    def best(self, start: Policy) -> tuple[Policy, list[Step]]:
        """The policy that is found from another on, and how."""
        policy, steps = start, list[Step]()
        for _ in range(_ROUNDS):
            before = policy
            for setting, values in self._settings():
                for value in values:
                    policy = self._tried(policy, setting, value, steps)
            policy = self._within_providers(policy, steps)
            policy = self._fewer_sessions(policy, steps)
            if policy == before:
                break
        return policy, steps

    @property
    def tried(self) -> int:
        """How many policies were."""
        return len(self._known)

    def _settings(self) -> Iterator[tuple[str, list[Any]]]:
        """Settings, and what each may be instead."""
        for name, values in _PARTS.items():
            yield name, list(values)
        most = self.limits.destination
        yield "limits.destination", [n for n in {*_NUMBERS, most} if n <= most]
        yield "limits.initial", [n for n in _NUMBERS if n <= most]

    def _tried(self, policy: Policy, setting: str, value: Any, steps: list[Step]) -> Policy:
        """The policy with another setting, if that is better."""
        changes = {setting: value}
        if setting == "limits.destination":
            changes["limits.initial"] = min(policy["limits"]["initial"], value)
        if setting == "limits.initial" and value > policy["limits"]["destination"]:
            return policy
        other = changed(policy, changes)
        if self._verdict(other, policy) <= 0:
            return policy
        self._note(setting, toml_value(value), other, steps)
        return other

    def _within_providers(self, policy: Policy, steps: list[Step]) -> Policy:
        """The policy that stays below what providers allow, where that is better than refusals.

        A provider's minute counts recipients and a policy's counts transactions, so both are tried:
        a transaction for each recipient, and fewer transactions of as many as one may have.
        """
        together = 1 if policy["split"]["kind"] == "each" else policy["limits"]["recipients"]
        for split, most in (({"kind": "each"}, 1), (policy["split"], together)):
            below = [
                replace(rule, most=max(1, int(rule.most * _BELOW / most)))
                if rule.limit == "per_minute"
                else rule
                for rule in self.scenario.world.limits
            ]
            own = rules.kept(policy[_DOMAIN], below)
            if own == policy[_DOMAIN]:
                continue
            other = changed(policy, {"split": split, _DOMAIN: own})
            if self._verdict(other, policy) > 0:
                self._note(_DOMAIN, toml_value(own), other, steps)
                policy = other
        return policy

    def _fewer_sessions(self, policy: Policy, steps: list[Step]) -> Policy:
        """The policy with the fewest sessions, halved again and again, that do no harm."""
        fewest, least = policy, policy["limits"]["sessions"]
        while least > 1:
            least //= 2
            other = changed(policy, {"limits.sessions": least})
            if not self._harmless(other, policy):
                break
            fewest = other
        if fewest is not policy:
            sessions = fewest["limits"]["sessions"]
            self._note("limits.sessions", str(sessions), fewest, steps)
        return fewest

    def _note(self, setting: str, value: str, policy: Policy, steps: list[Step]) -> None:
        steps.append(Step(setting, value, self._predicted(policy).within_s(self.percentile)))

    def _verdict(self, new: Policy, old: Policy) -> int:
        """1 where the one is better for sure, -1 where it is worse, else 0."""
        by, than = self._predicted(new), self._predicted(old)
        if abs(by.delivered - than.delivered) > _FEWER:
            return 1 if by.delivered > than.delivered else -1
        for percentile in (self.percentile, *PERCENTILES):
            _, interval = sooner(by, than, percentile)
            if interval is not None and interval[0] > _TRIFLE:
                return 1
            if interval is not None and interval[1] < -_TRIFLE:
                return -1
        return 0

    def _harmless(self, new: Policy, old: Policy) -> bool:
        """Whether the one is for sure hardly worse."""
        by, than = self._predicted(new), self._predicted(old)
        if than.delivered - by.delivered > _FEWER:
            return False
        intervals = (sooner(by, than, percentile)[1] for percentile in PERCENTILES)
        return all(interval is not None and interval[0] >= -_HARDLY for interval in intervals)

    def _predicted(self, policy: Policy) -> Predicted:
        key = self.scenario.parsed(policy).resolved()
        if key not in self._known:
            self.say(f"policy {len(self._known) + 1}")
            self._known[key] = self.scenario.predict(policy, REPLICATIONS)
        return self._known[key]
