"""`sojourn mail test`: the paper's mailtest."""

import click

from sojourn.cli import options, output


@click.command(short_help="Measure how long a message takes to a host.")
@click.argument("host")
@click.option("--to", "recipient", required=True, help="Address that gets the messages.")
@click.option("--from", "sender", default="", help="Sender of the envelope.  [default: none, <>]")
@click.option("--messages", type=click.IntRange(1, 10_000), default=20, show_default=True)
@click.option("--size", default="500B", show_default=True, help="Size of a message's text.")
@click.option("--tls", is_flag=True, help="Use TLS (STARTTLS) with any certificate.")
@click.option(
    "--timeout",
    type=options.Time("1ms", "1h"),
    default="30s",
    show_default=True,
    help="How long to wait for a reply.",
)
@output.as_json
def test(
    *,
    host: str,
    recipient: str,
    sender: str,
    messages: int,
    size: str,
    tls: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Measure how long a message takes to a HOST[:PORT], and how many fit into an hour.

    The command uses a new connection per message and one connection for all, with and without
    pipelining. The messages are real. They go only to the address of --to.

    \b
    Example:
      sojourn mail test mx.example.org --to you@example.org
    """
    from sojourn._internal.terminal import doing, print_lines, print_table
    from sojourn._internal.units import number
    from sojourn.mail import probe

    name, port = probe.address(host)
    probing = probe.Probe(
        host=name,
        port=port,
        recipient=probe.mailbox("--to", recipient),
        sender=probe.mailbox("--from", sender) if sender else "",
        size=options.size("--size", size),
        tls=tls,
        timeout_s=timeout,
    )
    with doing() as say:
        measured = list(probe.measure(probing, messages, say))
    if as_json:
        ways = measured
        output.document({"host": name, "port": port, "tls": tls, "ways": ways})
        return
    lines = []
    for one in measured:
        row = one.to_dict()
        lines.append(
            [
                one.connection,
                "yes" if one.pipelining else "no",
                *(number(float(str(row[key]))) for key in ("mean_ms", "p50_ms", "p90_ms")),
                number(one.per_hour),
            ]
        )
    heads = ["connection", "pipelining", "mean [ms]", "p50 [ms]", "p90 [ms]", "messages an hour"]
    print_table([lines], heads, title=f"{name}:{port}, {messages} messages each way", numbers=4)
    if not any(one.pipelining for one in measured):
        print_lines([f"  {name} offers no pipelining"])
