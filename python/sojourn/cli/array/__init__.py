"""`sojourn array`: what to do with disk arrays beside simulating them."""

import click

from sojourn.cli import common
from sojourn.cli.array import plan


@click.group(cls=common.Commands)
def array() -> None:
    """Choose an array."""


array.add_command(plan.plan)
