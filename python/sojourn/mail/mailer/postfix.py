"""Postfix: `main.cf`, `master.cf` and the output of `postconf`, as a policy.

Source: postconf(5) of Postfix 3.7.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sojourn.mail.mailer import postfix_maps
from sojourn.mail.mailer.postfix_advice import Advisor, keepable
from sojourn.mail.mailer.postfix_files import SMTP, Files, is_main, is_master, parsed
from sojourn.mail.mailer.postfix_settings import NOT_MODELLED, PROCESSES, SETTINGS
from sojourn.mail.mailer.setting import (
    UNLIMITED,
    Policy,
    Server,
    Setting,
    put,
    read,
    time_s,
    whole_seconds,
)

NAME = "postfix"
DEFAULTS = "the defaults of Postfix 3.7 (--mailer names yours)"
_RUN_DELAY = "queue_run_delay"
_RETRIES = ("150s", "60s")
# Limits of a destination.
_OF_DESTINATIONS = ("limits.destination", "limits.initial")


def is_its(text: str) -> bool:
    """Whether a text is of `main.cf`, `master.cf` or the output of `postconf`."""
    return is_main(text) or is_master(text)


def server(paths: Sequence[Path]) -> Server:
    """How Postfix is set.

    Raises:
        InputError: a file cannot be read, or has something else.
    """
    files = parsed(paths)
    policy = _policy(files)
    settings: Sequence[Setting] = (PROCESSES, *SETTINGS)
    if policy["split"]["kind"] == "each":
        settings = [it for it in settings if it.parts[0] not in _OF_DESTINATIONS]
    maps = postfix_maps.maps(files)
    domains, more = postfix_maps.limits(files, maps)
    if domains:
        policy["domain"] = domains
    source = ", ".join(map(str, paths)) or DEFAULTS
    return Server(
        NAME,
        source,
        policy,
        (*_not_modelled(files), *more),
        settings,
        Advisor(files, maps, settings).advised,
        {"retry": [policy["retry"] | _retry(first, files) for first in _RETRIES]},
        keepable=keepable,
    )


def _policy(files: Files) -> Policy:
    found: Policy = {
        "split": {"kind": "by-destination"},
        "order": {"kind": "list"},
        "timeouts": {"kind": "steps"},
        "retry": {"kind": "backoff"},
        # The queue file is changed in place, without a wait.
        "checkpoint": {"kind": "every", "recipients": 1},
        "limits": {"network": UNLIMITED, "probes": 1},
    }
    read(SETTINGS, files.value, found)
    limits = found["limits"]
    limits["sessions"] = files.processes(SMTP)
    if limits["recipients"] == 1:
        # The limits of a destination are then those of a recipient.
        found["split"] = {"kind": "each"}
        limits["destination"] = limits["initial"] = limits["sessions"]
    limits["initial"] = min(limits["initial"], limits["destination"])
    if files.found("smtp_skip_quit_response").text == "yes":
        put(found, "timeouts.quit", "1ms")
    found["retry"] |= _retry(found["retry"]["first"], files)
    return found


def _retry(first: str, files: Files) -> Policy:
    """The first wait, after which a recipient waits for the next run of the queue."""
    run_s = time_s(_RUN_DELAY, files.found(_RUN_DELAY), "s")
    return {"first": first, "jitter": min(1.0, run_s / whole_seconds(first))}


def _not_modelled(files: Files) -> Iterator[str]:
    for name, default in NOT_MODELLED.items():
        if (value := files.found(name)).text != default:
            yield value.said(name)
    for name in (*NOT_MODELLED, *(setting.name for setting in SETTINGS)):
        raw = files.raw(name)
        if raw is not None and files.value(name) is None:
            yield f"{raw.said(name)}: its default is taken"
    run, first = files.found(_RUN_DELAY), files.found("minimal_backoff_time")
    if time_s(_RUN_DELAY, run, "s") > time_s("minimal_backoff_time", first, "s"):
        yield f"{run.said(_RUN_DELAY)}: taken as {first.text}"
