"""Words for parameters in tables, pictures and sentences; options and files keep the names."""

_LABELS = {
    "ack_delay": "delay of ACKs",
    "clock_ppm": "clock difference [ppm]",
    "dead": "share of dead hosts",
    "delay_spread": "spread of link delays",
    "depth": "queue depth",
    "fan_in": "servers asked",
    "greylisted": "share of hosts that greylist",
    "greylisting": "duration of greylisting",
    "initial_window": "first window [packets]",
    "min_rto": "shortest time-out",
    "overhead": "time of hosts per packet",
    "payload": "payload of a packet",
    "reads": "share of reads",
    "rto": "time-out",
    "slow": "share of slow hosts",
    "slow_reply": "reply time of slow hosts",
    "threshold": "marking threshold",
    "think": "think time",
    "window_cap": "largest window [packets]",
}


def label_of(name: str) -> str:
    """The label of a parameter, by the last key of its path; the name itself if it has none."""
    return _LABELS.get(name.rpartition(".")[2], name)
