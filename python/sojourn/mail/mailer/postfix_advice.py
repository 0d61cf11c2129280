"""Changes of a policy as lines of Postfix's files.

Source: postconf(5), master(5) and transport(5) of Postfix 3.7.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.mail.mailer.effects import Advice, advice
from sojourn.mail.mailer.postfix_files import MAIN, MASTER, SMTP, Files, Service
from sojourn.mail.mailer.postfix_maps import Maps
from sojourn.mail.mailer.postfix_settings import PROCESSES
from sojourn.mail.mailer.setting import (
    Policy,
    Providers,
    Setting,
    Share,
    changed_shares,
    differing,
    time_s,
    whole_seconds,
)

_MINUTE_S = 60
_NEW_MAP = "hash:/etc/postfix/transport"
_SHELL, _SOME_MAP = "a shell", "the file of transport_maps"
_RUN_DELAY = "queue_run_delay"


def keepable(per_minute: int) -> int | None:
    """The highest rate a minute that a delay in whole seconds keeps; None above one a second."""
    if per_minute > _MINUTE_S:
        return None
    return max(rate for rate in range(1, per_minute + 1) if _MINUTE_S % rate == 0)


@dataclass(frozen=True)
class Advisor:
    """What changes of a policy are in some files.

    Attributes:
        files: what the files say.
        maps: what its transport maps say.
        settings: the settings that may change.
    """

    files: Files
    maps: Maps
    settings: Sequence[Setting]

    def advised(self, now: Policy, plan: Policy, providers: Providers) -> Iterator[Advice]:
        """The lines that make one policy of another."""
        services = dict(self.files.services)
        changes = [*self._changes(now, plan)]
        # A line of master.cf has all its changes.
        for _, name, text, _ in changes:
            owner = self._owner(name)
            if name == PROCESSES.name:
                services[SMTP] = services[SMTP].with_processes(int(text))
            elif owner is not None:
                services[owner] = services[owner].with_override(name, text)
        for part, name, text, lower in changes:
            owner = self._owner(name)
            file, line = (MAIN, f"{name} = {text}") if owner is None else (MASTER, services[owner])
            yield advice(part, file, str(line), lower=lower)
        for share in changed_shares(now, plan, providers):
            yield from self._transport(services[SMTP], share, plan["limits"])

    def _owner(self, name: str) -> str | None:
        """The service in whose line a setting is; None where it is in main.cf."""
        if name == PROCESSES.name:
            return SMTP
        owner = self.files.owner(name)
        return None if owner is None else owner.name

    def _changes(self, now: Policy, plan: Policy) -> Iterator[tuple[str, str, str, bool | None]]:
        """The part, the name and the value of each change, and whether that is lower."""
        for setting, value, lower in differing(self.settings, now, plan):
            yield setting.parts[0], setting.name, setting.text(value), lower
        retry = plan["retry"]
        if retry != now["retry"]:
            # The part of a wait that is random is the time between two runs of the queue.
            run_s = max(1, round(retry["jitter"] * whole_seconds(retry["first"])))
            if run_s < time_s(_RUN_DELAY, self.files.found(_RUN_DELAY), "s"):
                yield "retry", _RUN_DELAY, f"{run_s}s", True

    def _transport(
        self, smtp: Service, share: Share, limits: Mapping[str, Any]
    ) -> Iterator[Advice]:
        """A delivery agent for some domains, for which limits of the agent `smtp` do not hold."""
        files, maps = self.files, self.maps
        sessions = share.limits.get("sessions", limits["destination"])
        rate = keepable(share.limits["per_minute"]) if "per_minute" in share.limits else None
        if rate is None and "sessions" not in share.limits:
            return
        name = self._name(share)
        there = files.services.get(name)
        line = (there or smtp.called(name)).with_processes(sessions)
        if there is None or there.fields != line.fields:
            yield advice("domain", MASTER, str(line))
        to_map = [domain for domain in share.domains if maps.transport(domain) != name]
        if to_map:
            mapped = (f"{domain} {name}:{maps.next_host(domain)}" for domain in to_map)
            kind, _, path = _NEW_MAP.partition(":")
            if maps.is_set:
                kind, path = maps.kind, maps.path or _SOME_MAP
            yield advice("domain", path, *mapped)
            if kind not in ("", "texthash"):
                yield advice("domain", _SHELL, f"postmap {kind}:{path}")
        wanted = {
            f"{name}_destination_recipient_limit": str(limits["recipients"]),
            f"{name}_destination_concurrency_limit": str(sessions),
        }
        initial = f"{name}_initial_destination_concurrency"
        if files.found(initial).text != str(limits["initial"]) and sessions > limits["initial"]:
            wanted[initial] = str(limits["initial"])
        if rate is not None:
            # A delay for each destination would be one for each recipient where the limit is one.
            wanted[f"{name}_transport_rate_delay"] = f"{_MINUTE_S // rate}s"
        changed = [
            f"{name} = {text}" for name, text in wanted.items() if files.found(name).text != text
        ]
        if to_map and not maps.is_set:
            changed.insert(0, f"transport_maps = {_NEW_MAP}")
        if changed:
            yield advice("domain", MAIN, *changed)

    def _name(self, share: Share) -> str:
        """The transport that these domains have to themselves, or a name for a new one."""
        own = self.maps.transport(share.domains[0])
        known = self.files.services.get(own)
        alone = self.maps.domains(own) == set(share.domains)
        if own != SMTP and known is not None and known.program == SMTP and alone:
            return own
        more = (f"{share.name}_{nth}" for nth in itertools.count(2))
        names = itertools.chain([share.name], more)
        return next(name for name in names if name not in self.files.services)
