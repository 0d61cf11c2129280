"""`sojourn reproduce`: a paper's figures and claims."""

from pathlib import Path

import click

from sojourn._internal import ending
from sojourn.cli import options, output


@click.command(short_help="Reproduce a paper: its studies, figures and claims.")
@click.argument("paper", default="all")
@click.option(
    "--figure", "figures", metavar="ID", multiple=True, help="Only this figure; may be repeated."
)
@click.option("--reading", metavar="NAME", help="Use another reading of what the text leaves open.")
@click.option(
    "--readings",
    type=click.Choice(["all"]),
    help="Every claim under every reading, with quick runs, and with those of out/PAPER-full.",
)
@click.option(
    "--full", is_flag=True, help="Simulate all flows, loads and replications, which takes hours."
)
@click.option("--so-far", is_flag=True, help="Run nothing; judge the finished cases.")
@options.out("[default: out/PAPER[-READING][-full]]")
@output.quiet
@output.as_json
@click.pass_context
@ending.soon
def reproduce(
    context: click.Context,
    *,
    paper: str,
    figures: tuple[str, ...],
    reading: str | None,
    readings: str | None,
    full: bool,
    so_far: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the studies of a PAPER, draw its figures, and say which of its claims hold.

    Without a PAPER, or with `all`, reproduce all papers, one after the other.

    \b
    Example:
      sojourn reproduce zoned-raid
    """
    from sojourn._internal.errors import InputError
    from sojourn.reproduction import papers
    from sojourn.reproduction import reproduce as reproduce_one
    from sojourn.reproduction.show import show as print_claims

    if readings:
        if figures or reading or full or so_far:
            raise InputError("--readings: expected no --figure, --reading, --full or --so-far")
        _matrices(context, paper, out or Path("out"), as_json=as_json)
        return
    found = [one.under(reading) for one in papers.find(paper)]
    if figures and len(found) > 1:
        raise InputError("--figure: expected one PAPER, whose figure it is")
    chosen = [one.chosen(figures, reading) for one in found]
    done = []
    for one, wanted in zip(found, chosen, strict=True):
        kind = [one.name, *([reading] if reading else []), *(["full"] if full else [])]
        place = out or Path("out", "-".join(kind))
        if out and paper == papers.ALL:
            place = out / one.name
        if so_far and len(found) > 1 and not place.exists():
            continue
        done.append(
            reproduce_one(
                one, wanted, place, full=full, command=output.command(context), so_far=so_far
            )
        )
        if as_json:
            for path in (*done[-1].tables, *done[-1].pictures):
                click.echo(f"wrote {path}", err=True)
        else:
            print_claims(done[-1])
    if not done:
        raise InputError(f"{out or 'out'}: no paper begun there that could be judged")
    verdicts = [verdict for reproduction in done for verdict in reproduction.verdicts]
    if as_json:
        output.document(verdicts)
    if not all(verdict.holds for verdict in verdicts if verdict.is_applicable):
        context.exit(output.FAILED)


def _matrices(context: click.Context, paper: str, out: Path, *, as_json: bool) -> None:
    from sojourn.reproduction import papers
    from sojourn.reproduction.readings import matrix, show

    done = []
    for one in papers.find(paper):
        done.append(matrix(one, out, command=output.command(context)))
        if not as_json:
            show(done[-1])
    if as_json:
        output.document([row for found in done for row in found.to_list()])
    if not all(row.possible for found in done for row in found.rows):
        context.exit(output.FAILED)
