"""`sojourn mail shaping` tells the limits of a destination, of a running server and of a file."""

import json
from pathlib import Path

from listserver import Server, config, sojourn

LIMITS = """
[[mail.domain]]
name = "big.example"
sessions = 40
per_minute = "none"
[[mail.domain]]
by = "mx"
name = "[127.0.0.77]"
per_minute = 300
"""
SLOWER = "per_minute = 200"


def shaping(domain: str, path: Path) -> list[dict[str, object]]:
    done = sojourn("mail", "shaping", domain, path, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def test_the_limits_of_a_file(tmp_path):
    path = config(tmp_path, more=LIMITS)
    (of_domain, of_host) = shaping("BIG.example", path)
    assert (of_domain["by"], of_domain["sessions"], of_domain["per_minute"]) == ("domain", 40, None)
    assert (of_host["name"], of_host["per_minute"]) == ("[127.0.0.77]", 300)
    assert "big.example" in sojourn("mail", "shaping", "big.example", path).stdout
    refused = sojourn("mail", "shaping", "b b", path)
    assert (refused.returncode, refused.stderr) == (2, "sojourn: 'b b' is no domain\n")


def test_a_reload_changes_the_limits_of_a_running_server(tmp_path):
    path = config(tmp_path, more=LIMITS)
    with Server(path) as server:
        with server.trusted() as client:
            client.sendmail("a@b", ["x@[127.0.0.77]"], b"x")
        server.await_log("status=deferred")
        assert 300 in [it["per_minute"] for it in shaping("[127.0.0.77]", path)]
        path.write_text(path.read_text("utf-8").replace("per_minute = 300", SLOWER), "utf-8")
        assert sojourn("mail", "reload", path).returncode == 0
        assert 200 in [it["per_minute"] for it in shaping("[127.0.0.77]", path)]
