"""The page of a report, from its template, style and script."""

import json
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sojourn._core import build_info
from sojourn.presentation import style
from sojourn.reporting.sections import Section


def html(title: str, sections: Sequence[Section]) -> str:
    """The whole page; nothing in it comes from elsewhere or asks for anything."""
    own, shared = files("sojourn.reporting"), files("sojourn.presentation")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    drawn = [[chart.to_dict() for chart in section.charts] for section in sections]
    page = environment.from_string(own.joinpath("page.html").read_text(encoding="utf-8"))
    return page.render(
        title=title,
        sections=sections,
        version=build_info()["version"],
        styles=[_as_is(shared, "uplot/uPlot.min.css"), _as_is(shared, "page.css")],
        scripts=[_as_is(shared, "uplot/uPlot.iife.min.js"), _as_is(own, "page.js")],
        data=_embedded({"charts": drawn, "colours": style.COLOURS}),
    )


def _as_is(own: Traversable, name: str) -> Markup:
    """A file of the package, into the page as it stands."""
    return Markup(own.joinpath(name).read_text(encoding="utf-8"))  # noqa: S704 - no user's text


def _embedded(value: object) -> Markup:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - escaped in the line above
