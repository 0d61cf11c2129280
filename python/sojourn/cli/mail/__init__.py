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
    """Deliver mail to lists, read the logs of mail servers, and plan their settings."""


mail.add_section("Read logs", [stats.stats, batch.batch, watch.watch, late.late, trace.trace])
mail.add_section("Plan settings", [plan.plan, fit.fit, test.test])
mail.add_section("Send one message", [deliver.deliver, demo.demo, internet.internet])
mail.add_section(
    "Run a list server",
    [
        *(serve.serve, serve.reload, serve.shaping, queue.queue, listing.list_),
        *(keys.keys, password.password, spool.spool),
    ],
)
