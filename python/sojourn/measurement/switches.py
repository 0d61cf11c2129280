"""Switches of the kernel's TCP by name: what is put over what a study asks for, and what was set.

Source: Documentation/networking/ip-sysctl.rst.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn._internal.errors import MeasurementError, did_you_mean
from sojourn.measurement.plan import CONTROLS, TIMESTAMPS, Plan

_NET = Path("/proc/sys/net")
_CONTROL, _TIMESTAMPS = "control", "timestamps"


@dataclass(frozen=True)
class _Switch:
    """A setting under /proc/sys/net, and its value where it is on, as Linux ships it."""

    setting: str
    on: int


_SWITCHES = {
    "probes": _Switch("ipv4/tcp_early_retrans", 3),
    "rack": _Switch("ipv4/tcp_recovery", 1),
    "f_rto": _Switch("ipv4/tcp_frto", 2),
    _TIMESTAMPS: _Switch("ipv4/tcp_timestamps", 1),
    "sack": _Switch("ipv4/tcp_sack", 1),
}
_VALUES = ("on", "off")


def read(given: Sequence[str]) -> dict[str, str]:
    """Switches as they are written, NAME=VALUE each.

    Raises:
        MeasurementError: there is no such switch or value, or this kernel lacks it.
    """
    found = {}
    for pair in given:
        name, _, value = (part.strip() for part in pair.partition("="))
        if name != _CONTROL and name not in _SWITCHES:
            nearest = did_you_mean(name, [*_SWITCHES, _CONTROL])
            raise MeasurementError(f"--kernel {pair}: no switch {name!r}{nearest}")
        if name == _CONTROL:
            _check_control(pair, value)
        elif value not in _VALUES:
            raise MeasurementError(f"--kernel {pair}: expected {name}=on or {name}=off")
        elif not (_NET / _SWITCHES[name].setting).exists():
            setting = _SWITCHES[name].setting.replace("/", ".")
            raise MeasurementError(f"--kernel {pair}: this kernel has no net.{setting}")
        found[name] = value
    return found


def _check_control(pair: str, value: str) -> None:
    """Refuse a congestion control that this kernel lacks."""
    available = CONTROLS.read_text(encoding="ascii").split()
    if value not in available:
        raise MeasurementError(
            f"--kernel {pair}: expected one that this kernel has: {', '.join(available)}"
        )


def put_over(plan: Plan, given: Mapping[str, str]) -> Plan:
    """A plan with switches in place of what the study asks for.

    With timestamps a packet has 12 bytes more of header, and as much payload as before.
    """
    own = {_SWITCHES[name].setting: value for name, value in given.items() if name in _SWITCHES}
    on = {switch.setting: switch.on for switch in _SWITCHES.values()}
    sysctls = {
        **plan.sysctls,
        **{setting: on[setting] if value == "on" else 0 for setting, value in own.items()},
    }
    setting = _SWITCHES[_TIMESTAMPS].setting
    longer = bool(sysctls[setting]) - bool(plan.sysctls[setting])
    return replace(
        plan,
        congestion=given.get(_CONTROL, plan.congestion),
        sysctls=sysctls,
        mtu=plan.mtu + longer * TIMESTAMPS,
    )


def stated(plan: Plan) -> str:
    """What a plan sets, in the words of `read`."""
    states = {
        name: "on" if plan.sysctls[switch.setting] else "off" for name, switch in _SWITCHES.items()
    }
    return " ".join(
        f"{name}={value}" for name, value in {_CONTROL: plan.congestion, **states}.items()
    )
