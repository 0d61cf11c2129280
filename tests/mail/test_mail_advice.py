"""Debian's Postfix in the small internet takes as long as predicted, before and after advice."""

import re
import smtplib
from pathlib import Path

import numpy as np
import pytest

from conftest import Result
from postfix import SMTP, Postfix, postfix
from smallnet import Net, small_internet

pytestmark = pytest.mark.alone

DOMAINS = 10
EACH = 8
PERCENTILES = (50, 95)
# Domains from 800 to 1,100 ms away, so that starting a process is short against a delivery.
WORLD = "".join(
    f"[[domain]]\nname = 'd{i}.example'\nsubscribers = {EACH}\n"
    f"host = [{{ round_trip = '{800 + 100 * (i % 4)}ms' }}]\n"
    for i in range(DOMAINS)
)
_DELAY = re.compile(r" delay=([\d.]+),.* status=sent")
# The mailing list's host has two delivery processes, as its operator once set it.
FEW = SMTP.replace("- - smtp", "- 2 smtp")


def delivered(folder: Path, net: Net, settings: str, smtp: str) -> tuple[Postfix, list[float]]:
    """Deliver a message to all subscribers; when half of them and 95 % have it, in seconds."""
    port = net.internet.smtp_port
    folder.mkdir()
    routes = "".join(f"d{i}.example smtp:[127.64.{i}.1]:{port}\n" for i in range(DOMAINS))
    (folder / "transport").write_text(routes, "utf-8")
    settings = f"transport_maps = texthash:{folder}/transport\n{settings}"
    with postfix(folder / "postfix", settings, smtp=smtp) as real:
        with smtplib.SMTP("127.0.0.1", real.port) as client:
            client.sendmail("owner@real.example", net.subscribers, "Subject: x\r\n\r\nHello.\r\n")
        real.wait_for("status=sent", len(net.subscribers))
        delays = [float(found[1]) for found in _DELAY.finditer(real.log)]
    assert len(delays) == len(net.subscribers)
    return real, [*np.percentile(delays, PERCENTILES, method="inverted_cdf")]


def test_postfix_is_as_quick_as_predicted_before_and_after(command, tmp_path):
    """Within 15 %, at 50 % and 95 %. A busy machine delays a delivery: the best of three counts."""
    with small_internet(tmp_path, WORLD) as net:
        real, before = delivered(tmp_path / "before", net, "", FEW)
        done: Result = command(
            *("mail", "plan", real.folder / "log", "--mailer", real.folder / "config", "--json"),
            *("--replications", 3, "--out", tmp_path / "plan"),
        )
        assert done.code == 0, (done.err, done.out)
        plan = done.document
        assert plan["as_logged"]["explained"], plan["as_logged"]
        for percentile, time_s in zip(PERCENTILES, before, strict=True):
            said = plan["now"]["predicted"][f"p{percentile}_s"]["value"]
            assert said == pytest.approx(time_s, rel=0.15), percentile
        lines = {one["file"]: [*one["lines"]] for one in plan["advice"]}
        assert [one["part"] for one in plan["advice"]] == ["limits.sessions"], plan["advice"]
        (smtp,) = lines["master.cf"]
        assert re.fullmatch(r"smtp unix - - n - \d+ smtp", smtp)
        settings = "".join(f"{line}\n" for line in lines.get("main.cf", []))
        said = [plan["plan"]["predicted"][f"p{it}_s"]["value"] for it in PERCENTILES]
        soonest = [np.inf, np.inf]
        for nth in range(3):
            _, after = delivered(tmp_path / f"after{nth}", net, settings, smtp)
            soonest = np.minimum(soonest, after)
            if soonest == pytest.approx(said, rel=0.15):
                break
        assert soonest == pytest.approx(said, rel=0.15)
        assert (soonest < 0.5 * np.array(before)).all()
