"""`sojourn mail stats`: the paper's mailstat."""

from typing import Any

import click

from sojourn.cli import common
from sojourn.cli.mail import logs

_TOP = 20
_PERCENTILES = (50.0, 90.0, 99.0)


@click.command(short_help="Count what was delivered and what was not.")
@logs.reads
@click.option("--by", multiple=True, type=common.OneOf(["hour", "age", "domain"]), help="Tables.")
@click.option("--top", type=click.IntRange(0), default=_TOP, show_default=True, help="Domains.")
@click.option("--percentiles", metavar="50,90,99", help="In per cent.  [default: 50,90,99]")
@common.as_json
def stats(
    *, by: tuple[str, ...], top: int, percentiles: str | None, as_json: bool, **asked: Any
) -> None:
    """Count what was delivered and what was not, in the LOG... of a mail server.

    By hour, by the age of the message, by the recipient's domain. A log is a file, packed or not,
    or - for standard input.
    """
    from sojourn._internal.formats import json_text
    from sojourn.analysis.metric_summary import check_percentiles
    from sojourn.maillog.stats import stats as count
    from sojourn.presentation import mailstat_table as show

    wanted = common.percentiles(percentiles) or _PERCENTILES
    check_percentiles(wanted)
    found = count(logs.reading(**asked))
    if as_json:
        click.echo(json_text(found.to_dict(wanted, top)))
    else:
        show.show(found, by or ("hour",), wanted, top)
