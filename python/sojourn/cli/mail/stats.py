"""`sojourn mail stats`: the paper's mailstat."""

from typing import Any

import click

from sojourn.cli import log_options, options, output

_TOP = 20
_PERCENTILES = (50.0, 90.0, 99.0)


@click.command(short_help="Count deliveries and failures.")
@log_options.reads
@click.option(
    "--by", multiple=True, type=options.OneOf(["hour", "age", "domain"]), help="Tables to print."
)
@click.option(
    "--top",
    type=click.IntRange(0),
    default=_TOP,
    show_default=True,
    help="Number of domains to print.",
)
@click.option("--percentiles", metavar="50,90,99", help="Percentiles to show.  [default: 50,90,99]")
@output.as_json
def stats(
    *, by: tuple[str, ...], top: int, percentiles: str | None, as_json: bool, **asked: Any
) -> None:
    """Count deliveries and failures in the LOG... of a mail server.

    The tables are by hour, by the age of the message, and by the recipient's domain. LOG... are
    files, compressed or not, or - for standard input.

    \b
    Example:
      sojourn mail stats /var/log/mail.log* --by domain
    """
    from sojourn.analysis.metric_summary import check_percentiles
    from sojourn.maillog.stats import stats as count
    from sojourn.presentation import mailstat_table as show

    wanted = options.percentiles(percentiles) or _PERCENTILES
    check_percentiles(wanted)
    found = count(log_options.reading(**asked))
    output.emit(
        found.to_dict(wanted, top),
        lambda: show.show(found, by or ("hour",), wanted, top),
        as_json=as_json,
    )
