"""The same policy on other mailers, as near as they can be set to it.

Postfix: `postconf(5)`. sendmail: `cf/README` and the operations guide of 8.12 and later, as m4
names for `sendmail.mc`. What a mailer cannot be set to is said.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sojourn._core import MailSettings, quantity
from sojourn._internal.formats import toml_value
from sojourn._internal.units import PS_PER_S
from sojourn.mail.plan.policy import Policy

Lines: TypeAlias = list[str]

# What each calls a step's time-out. Postfix counts greeting and EHLO as one, twice.
_POSTFIX = {
    "connect": "smtp_connect_timeout",
    "hello": "smtp_helo_timeout",
    "mail": "smtp_mail_timeout",
    "rcpt": "smtp_rcpt_timeout",
    "data": "smtp_data_init_timeout",
    "block": "smtp_data_xfer_timeout",
    "dot": "smtp_data_done_timeout",
    "rset": "smtp_rset_timeout",
    "quit": "smtp_quit_timeout",
}
_SENDMAIL = {
    "connect": "confTO_CONNECT",
    "greeting": "confTO_INITIAL",
    "hello": "confTO_HELO",
    "mail": "confTO_MAIL",
    "rcpt": "confTO_RCPT",
    "data": "confTO_DATAINIT",
    "block": "confTO_DATABLOCK",
    "dot": "confTO_DATAFINAL",
    "rset": "confTO_RSET",
    "quit": "confTO_QUIT",
}


@dataclass(frozen=True)
class Wanted:
    """What another mailer is to do, times in whole seconds."""

    limits: dict[str, int]
    split: str
    together: int
    order: str
    first: dict[str, int]
    later: dict[str, int]
    again: tuple[int, int]
    idle: int
    lifetime: int
    domains: list[dict[str, Any]]

    @property
    def recipients(self) -> int:
        """The most in one envelope."""
        return min(self.together, self.limits["recipients"])

    def sessions(self, domain: dict[str, Any]) -> int:
        """The most to one of `domains`."""
        return int(domain.get("sessions", self.limits["destination"]))

    @staticmethod
    def of(policy: Policy) -> "Wanted":
        """What a policy, with every default written out but those of domains, is to others."""
        settings = MailSettings.parse(f"mail = {toml_value(policy)}", "the plan", [])
        limits = policy["limits"]
        split = policy["split"]
        first, later = ({k: _whole(s) for k, s in settings.timeouts_s(n)} for n in (0, 1))
        retry = policy["retry"]
        again = (
            (retry["every"], retry["dead"])
            if "every" in retry
            else tuple(retry[name] for name in ("first", "most"))
        )
        return Wanted(
            limits={name: value for name, value in limits.items() if isinstance(value, int)},
            split=split["kind"],
            together=1 if split["kind"] == "each" else split.get("size", limits["recipients"]),
            order=policy["order"]["kind"],
            first=first,
            later=later,
            again=(_seconds(again[0]), _seconds(again[1])),
            idle=_seconds(limits["idle"]),
            lifetime=_seconds(policy["lifetime"]),
            domains=[it for it in policy["domain"] if it.get("by", "domain") == "domain"],
        )


def postfix(wanted: Wanted) -> Lines:
    """Settings of Postfix: `main.cf`, and what goes beyond it."""
    limits = wanted.limits
    lines = [
        f"default_process_limit = {limits['sessions']}",
        f"smtp_destination_concurrency_limit = {limits['destination']}",
        f"initial_destination_concurrency = {limits['initial']}",
        f"smtp_destination_recipient_limit = {wanted.recipients}",
        f"smtp_connection_cache_time_limit = {wanted.idle}s",
        f"queue_run_delay = {wanted.again[0]}s",
        f"minimal_backoff_time = {wanted.again[0]}s",
        f"maximal_backoff_time = {wanted.again[1]}s",
        f"maximal_queue_lifetime = {wanted.lifetime}s",
        *(f"{name} = {wanted.first[step]}s" for step, name in _POSTFIX.items()),
    ]
    if wanted.first != wanted.later:
        slow = ", ".join(f"{_POSTFIX[s]} = {wanted.later[s]}s" for s in ("connect", "hello"))
        lines += [
            "smtp_fallback_relay = [127.0.0.1]:10026",
            f"# there a second instance for the rest, with its own times: {slow}, ...",
        ]
    for number, domain in enumerate(wanted.domains, 1):
        lines += _postfix_domain(f"domain{number}", domain, wanted)
    lines.append(f"# no setting: at most {limits['network']} sessions of one network")
    if wanted.order == "past-delay":
        lines.append("# no setting: good citizens first; they do not wait for others as it is")
    return lines


def sendmail(wanted: Wanted) -> Lines:
    """Settings of sendmail: macros for `sendmail.mc`, before it is run through m4."""
    limits = wanted.limits
    lines = [
        f"define(`confMAX_QUEUE_CHILDREN', `{limits['sessions']}')dnl",
        f"QUEUE_GROUP(`list', `P=/var/spool/mqueue/list*, F=f, r={wanted.recipients},"
        f" R={limits['sessions']}, I={wanted.again[0]}s')dnl",
        f"define(`confMIN_QUEUE_AGE', `{wanted.again[0]}s')dnl",
        f"define(`confMAX_QUEUE_AGE', `{wanted.again[1]}s')dnl",
        f"define(`confTO_HOSTSTATUS', `{wanted.again[0]}s')dnl",
        "define(`confHOST_STATUS_DIRECTORY', `/var/spool/hoststat')dnl",
        f"define(`confMCI_CACHE_TIMEOUT', `{wanted.idle}s')dnl",
        f"define(`confTO_QUEUERETURN', `{wanted.lifetime}s')dnl",
        f"define(`confTO_ICONNECT', `{wanted.first['connect']}s')dnl",
        *(f"define(`{name}', `{wanted.first[step]}s')dnl" for step, name in _SENDMAIL.items()),
    ]
    if wanted.first != wanted.later:
        slow = ", ".join(f"{_SENDMAIL[s]} {wanted.later[s]}s" for s in ("connect", "greeting"))
        lines.append(f"dnl a second sendmail.cf runs the queue with longer times: {slow}, ...")
    if wanted.domains:
        lines.append("FEATURE(`queuegroup')dnl")
    for number, domain in enumerate(wanted.domains, 1):
        lines += _sendmail_domain(f"domain{number}", domain, wanted)
    lines += [
        "dnl no option: sessions of one destination or network; the recipients of an envelope are",
        "dnl served one after the other",
    ]
    if wanted.order == "past-delay":
        lines.append("dnl no option: good citizens first; sort the list by the log's xdelay")
    return lines


def _postfix_domain(service: str, domain: dict[str, Any], wanted: Wanted) -> Lines:
    """A delivery agent for one domain, for which limits of the agent `smtp` do not hold.

    With a delay between its deliveries it has one session.
    """
    lines = [
        f"# master.cf: {service} unix - - n - - smtp",
        f"# transport_maps: {domain['name']} {service}:",
        f"{service}_destination_recipient_limit = {wanted.recipients}",
        f"{service}_destination_concurrency_limit = {wanted.sessions(domain)}",
    ]
    if "per_minute" in domain:
        # In whole seconds.
        delay = math.ceil(60 / domain["per_minute"])
        lines.append(f"{service}_destination_rate_delay = {delay}s")
    return lines


def _sendmail_domain(group: str, domain: dict[str, Any], wanted: Wanted) -> Lines:
    """A queue group for one domain."""
    lines = [f"dnl access map: QGRP:{domain['name']} {group}"]
    limits = f"r={wanted.recipients}, R={wanted.sessions(domain)}, I={wanted.again[0]}s"
    queue = f"P=/var/spool/mqueue/{group}*, F=f, {limits}"
    lines.append(f"QUEUE_GROUP(`{group}', `{queue}')dnl")
    if "per_minute" in domain:
        lines.append(f"dnl no option: {domain['per_minute']} transactions a minute")
    return lines


MAILERS: dict[str, Callable[[Wanted], Lines]] = {"postfix": postfix, "sendmail": sendmail}


def _seconds(time: str) -> int:
    return _whole(quantity(time) / PS_PER_S)


def _whole(seconds: float) -> int:
    return max(1, round(seconds))
