"""The live page of `sojourn mail serve`: one document that follows a running server.

It holds everything it needs and asks nobody but the server, whose `/events` it draws: times in
milliseconds since 1970, durations in seconds (crates/list-server/server/src/http/live/state.rs).
"""

import socket
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sojourn._core import build_info


def page() -> str:
    """The document."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_file("mail/live/page.html")).render(
        host=socket.gethostname(),
        version=build_info()["version"],
        styles=[
            _file("report/uplot/uPlot.min.css"),
            _file("report/page.css"),
            _file("mail/live/page.css"),
        ],
        scripts=[
            _file("report/uplot/uPlot.iife.min.js"),
            _file("mail/live/page.js"),
        ],
    )


def _file(name: str) -> Markup:
    """A file of our own, into the page as it stands."""
    # not by the name of its package: that of reports would bring all that draws with it
    text = files("sojourn").joinpath(name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - no user's text
