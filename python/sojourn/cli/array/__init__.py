"""`sojourn array`: what to do with disk arrays beside simulating them."""

import click

from sojourn.cli import output
from sojourn.cli.array import fit, plan


@click.group(cls=output.Commands)
def array() -> None:
    """Learn a disk from a measurement; choose an array."""


array.add_command(fit.fit)
array.add_command(plan.plan)
