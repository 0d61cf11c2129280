"""`sojourn completion`: the shell finishes words."""

import os

import click
from click.shell_completion import get_completion_class, shell_complete

from sojourn.cli.options import OneOf

VARIABLE = "_SOJOURN_COMPLETE"


@click.command(short_help="Print what makes a shell finish words.")
@click.argument("shell", type=OneOf(["bash", "fish", "zsh"]))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print what makes a SHELL finish words.

    In ~/.bashrc: eval "$(sojourn completion bash)"
    """
    click.echo(script(context.find_root().command, shell))


def script(commands: click.Command, shell: str) -> str:
    """What a shell reads to complete the words of the commands.

    Raises:
        ValueError: click completes nothing in that shell.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(f"{shell}: expected bash, fish or zsh")
    return kind(commands, {}, "sojourn", VARIABLE).source()


def complete(commands: click.Command) -> bool:
    """Answer the shell, if it was it that called, and say whether it was."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return False
    shell_complete(commands, {}, "sojourn", VARIABLE, asked)
    return True
