"""`sojourn mail`: the list server. Each verb is a file of this package."""

import click

from sojourn.cli import output
from sojourn.cli.mail import (
    batch,
    deliver,
    demo,
    fit,
    internet,
    keys,
    late,
    listing,
    password,
    plan,
    queue,
    serve,
    spool,
    stats,
    test,
    trace,
    watch,
)


@click.group(cls=output.Commands)
def mail() -> None:
    """Deliver list mail for real: fast, durable, polite."""


for verb in (
    deliver.deliver,
    demo.demo,
    internet.internet,
    serve.serve,
    queue.queue,
    serve.reload,
    serve.shaping,
    listing.list_,
    keys.keys,
    password.password,
    spool.spool,
    stats.stats,
    batch.batch,
    watch.watch,
    late.late,
    trace.trace,
    test.test,
    fit.fit,
    plan.plan,
):
    mail.add_command(verb)
