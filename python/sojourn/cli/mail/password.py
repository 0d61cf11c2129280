"""`sojourn mail password`: what a configuration knows of a password."""

import sys

import click


@click.command(short_help="Print the hash of a password.")
@click.option("--password", help="The password.  [default: ask for it]")
def password(password: str | None) -> None:
    """Print the hash of a password, for a `[[user]]` of `sojourn mail serve`.

    Without --password the command asks for it, or reads a line of standard input.

    \b
    Example:
      sojourn mail password
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
