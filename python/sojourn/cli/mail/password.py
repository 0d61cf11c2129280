"""`sojourn mail password`: what a configuration knows of a password."""

import sys

import click


@click.command(short_help="Print the hash of a password.")
@click.option("--password", help="The password; asked for when it is not given here.")
def password(password: str | None) -> None:
    """Print the hash of a password, for a `[[user]]` of `sojourn mail serve`.

    Without --password it is asked for, or is a line of standard input.
    """
    from sojourn._internal.errors import InputError
    from sojourn._mail import mail_password

    if password is None and sys.stdin.isatty():
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    elif password is None:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise InputError("password: expected --password, or a line of standard input")
    click.echo(mail_password(password))
