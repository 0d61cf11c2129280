"""`sojourn mail password`: what a configuration knows of a password."""

import click


@click.command()
@click.password_option(help="The password; asked for when it is not given here.")
def password(password: str) -> None:
    """Print the hash of a password, for a `[[user]]` of `sojourn mail serve`."""
    from sojourn._core import mail_password

    click.echo(mail_password(password))
