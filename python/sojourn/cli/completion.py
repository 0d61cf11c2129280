"""`sojourn completion`: scripts with which shells complete words."""

import os

import click
from click.shell_completion import get_completion_class, shell_complete

from sojourn.cli.options import OneOf

VARIABLE = "_SOJOURN_COMPLETE"


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=OneOf(["bash", "fish", "zsh"]))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print a completion script for a SHELL: bash, fish or zsh.

    It completes commands, options, topics, parameters and bundled studies.

    \b
    Example, in ~/.bashrc:
      eval "$(sojourn completion bash)"
    """
    click.echo(script(context.find_root().command, shell))


def script(commands: click.Command, shell: str) -> str:
    """Return the script with which a shell completes words of the commands.

    Raises:
        ValueError: click does not support that shell.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(f"{shell}: expected bash, fish or zsh")
    return kind(commands, {}, "sojourn", VARIABLE).source()


def complete(commands: click.Command) -> bool:
    """Answer a shell that asks for completions, and return whether one asked."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return False
    shell_complete(commands, {}, "sojourn", VARIABLE, asked)
    return True
