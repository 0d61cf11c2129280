"""`sojourn bench`: what a unit of work costs."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from sojourn._internal.errors import InputError
from sojourn.cli import output


@click.command(short_help="Measure the CPU time of a unit of work.")
@click.argument("model")
@click.option("--case", metavar="NAME", help="Run only this benchmark.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Number of runs; the fastest counts.",
)
@click.option(
    "--instructions/--no-instructions",
    default=True,
    show_default=True,
    help="Count instructions, if valgrind is installed.",
)
@click.option(
    "--beside",
    is_flag=True,
    help="Run the same in ns-3, SimPy or Ciw too, if installed; needs the repository.",
)
@output.as_json
def bench(
    *, model: str, case: str | None, repeat: int, instructions: bool, beside: bool, as_json: bool
) -> None:
    """Measure the CPU time of a unit of work in a MODEL.

    A unit is a packet-hop in the fabric, a request in the array, or a delivery of mail. Mail is
    simulated, and then sent in real time into a small internet on this machine, which takes
    minutes.

    \b
    Example:
      sojourn bench fabric --case k6-droptail
    """
    from sojourn._internal.terminal import doing
    from sojourn.benchmarks import engine, user_classes
    from sojourn.benchmarks.mail import loads as rehearsals

    loads = rehearsals.chosen(model, case)
    chosen = {} if case in loads else engine.studies(model, case, besides=rehearsals.LOADS)
    with doing() as say:
        costs = [
            engine.measure(
                model,
                name,
                study,
                repeat=repeat,
                instructions=instructions,
                live_flows=user_classes.live_flows(name, case),
                say=say,
            )
            for name, study in chosen.items()
        ]
        if beside:
            costs += _peers().measure(
                model, chosen, say=say, warn=lambda text: click.echo(text, err=True)
            )
        sent = rehearsals.measure(loads, say=say)
    if as_json:
        output.document([*costs, *sent])
        return
    if costs:
        engine.show(costs)
    if sent:
        rehearsals.show(sent)


def _peers() -> Any:
    """The package `benches/peers`, other people's simulators, which is in the repository alone."""
    folder = Path(__file__).parents[3] / "benches"
    if not (folder / "peers").is_dir():
        raise InputError(
            "--beside: ns-3, SimPy and Ciw are compared by programs in sojourn's repository, in"
            " benches/peers, which this package does not have; expected a checkout of it"
        )
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return import_module("peers")
