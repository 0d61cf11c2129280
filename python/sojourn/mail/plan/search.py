"""The search for a policy: one setting after the other.

A change is taken over if it is better for sure; one that asks less of the machine, half as many
sessions, if it is for sure hardly worse, by a twentieth of the time at most. Better is less time
until the target's share is delivered, or where that does not tell two apart, until the other shares
are, and never at the price of deliveries that are not made at all. For sure: the 95 % interval of
the difference lies beyond a hundredth of the time. The search ends when no setting's change is
taken over any more. Settings that help only together are not found; a test holds what is found
against all combinations.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn._internal.formats import toml_value
from sojourn.mail.mailer import Server, get
from sojourn.mail.plan import own, rules
from sojourn.mail.plan.policy import Policy, changed
from sojourn.mail.plan.predict import PERCENTILES, Predicted, Scenario, sooner
from sojourn.mail.plan.rules import RATE, Rule

REPLICATIONS = 5
_ROUNDS = 3
_TRIFLE = 0.01
_HARDLY = 0.05
# Of the list: so many fewer that have it are a price that no time is worth.
_FEWER = 0.001
_DOMAIN, _SPLIT = "domain", "split"
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
        server: the mailer whose settings are searched.
    """

    scenario: Scenario
    limits: Limits
    percentile: int
    say: Callable[[str], None]
    server: Server = field(default_factory=lambda: own.server(None))
    _known: dict[str, Predicted] = field(default_factory=dict)

    def best(self, start: Policy) -> tuple[Policy, list[Step]]:
        """The policy that is found from another on, and how."""
        policy, steps = start, list[Step]()
        for _ in range(_ROUNDS):
            before = policy
            for setting, values in self._settings():
                for changes in values:
                    policy = self._tried(policy, setting, changes, steps)
            policy = self._within_providers(policy, steps)
            policy = self._fewer_sessions(policy, steps)
            if policy == before:
                break
        return policy, steps

    @property
    def tried(self) -> int:
        """How many policies were."""
        return len(self._known)

    def without_idle_steps(
        self, best: Policy, start: Policy, steps: list[Step]
    ) -> tuple[Policy, list[Step]]:
        """The policy without the changes whose gain is within the interval of one mailing.

        A change stays if without it alone a percentile would lie above that interval.
        """
        ends = self.scenario.of_one(best, self._predicted(best))
        parts = {setting: [*changes[0]] for setting, changes in self._settings()}
        parts[_DOMAIN] = [_DOMAIN]
        kept = best
        for setting in dict.fromkeys(step.setting for step in reversed(steps)):
            without = _reverted(kept, start, parts[setting])
            slower = self._predicted(without)
            fewer = self._predicted(kept).delivered - slower.delivered > _FEWER
            if not fewer and all(slower.within_s(it) <= ends[it][1] for it in PERCENTILES):
                kept = without
                steps = [step for step in steps if step.setting != setting]
        return kept, steps

    def _settings(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Settings, and the changes of each that are tried."""
        yield from self.server.tries()
        most = self.limits.destination
        numbers = {
            "limits.sessions": [self.limits.sessions],
            "limits.destination": [n for n in {*_NUMBERS, most} if n <= most],
            "limits.initial": [n for n in _NUMBERS if n <= most],
        }
        for name, values in numbers.items():
            if self.server.has(name):
                yield name, [{name: value} for value in values]

    def _tried(
        self, policy: Policy, setting: str, changes: dict[str, Any], steps: list[Step]
    ) -> Policy:
        """The policy with another setting, if that is better."""
        value = changes[setting]
        if setting == "limits.destination":
            changes = {**changes, "limits.initial": min(policy["limits"]["initial"], value)}
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
        together = 1 if policy[_SPLIT]["kind"] == "each" else policy["limits"]["recipients"]
        each = [({"kind": "each"}, 1)] if _SPLIT in self.server.more else []
        for split, most in (*each, (policy[_SPLIT], together)):
            kept = rules.kept(policy[_DOMAIN], [*self._below(most)])
            if kept == policy[_DOMAIN]:
                continue
            other = changed(policy, {_SPLIT: split, _DOMAIN: kept})
            if self._verdict(other, policy) > 0:
                self._note(_DOMAIN, toml_value(kept), other, steps)
                if split != policy[_SPLIT]:
                    self._note(_SPLIT, toml_value(split), other, steps)
                policy = other
        return policy

    def _below(self, recipients: int) -> Iterator[Rule]:
        """The limits of providers that the mailer can keep, rates a little lower."""
        for rule in self.scenario.world.limits:
            most = max(1, int(rule.most * _BELOW / recipients)) if rule.limit == RATE else rule.most
            kept = replace(rule, most=most).kept_by(self.server)
            if kept is not None:
                yield kept

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


def _reverted(policy: Policy, start: Policy, parts: Sequence[str]) -> Policy:
    """A policy with these parts as they were at the start."""
    old = changed(policy, {part: get(start, part) for part in parts})
    limits = old["limits"]
    return changed(old, {"limits.initial": min(limits["initial"], limits["destination"])})
