"""`patchwright config`, `schema` and `completion`: settings, published JSON schemas, shell completion."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import Folder


class Shell(StrEnum):
    """Shells with a completion script."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


class SchemaOf(StrEnum):
    """Subjects of the published JSON schemas."""

    events = "events"
    result = "result"
    input = "input"
    settings = "settings"


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    group = typer.Typer(rich_markup_mode=None, help="Show the settings, and set them.")
    group.callback(invoke_without_command=True)(show)
    group.command("get")(get)
    group.command("set")(set_)
    group.command("unset")(unset)
    group.command("path")(path)
    group.command("keys")(keys)
    app.add_typer(group, name="config")
    app.command()(completion)
    app.command()(schema)


AsJson = Annotated[bool, typer.Option("--json", help="As JSON lines.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="A setting, with dots: tests.command.")]


def show(context: typer.Context, folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """Show each setting, its value, and where that comes from."""
    if context.invoked_subcommand is None:
        from cli.commands.config import config_output

        raise typer.Exit(config_output.print_settings(folder, as_json=as_json))


def get(key: Key, folder: Folder = Path(".")) -> None:
    """Print the value of one setting."""
    from cli.commands.config import config_output

    raise typer.Exit(config_output.print_setting(folder, key))


def set_(
    key: Key,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help='As in TOML; a bare word is text: \'["a", "b"]\'.')
    ],
) -> None:
    """Set one in your settings file; comments in it stay."""
    from cli.commands.config import config_output

    raise typer.Exit(config_output.set_setting(key, value))


def unset(key: Key) -> None:
    """Take one out of your settings file."""
    from cli.commands.config import config_output

    raise typer.Exit(config_output.remove_setting(key))


def path() -> None:
    """Print where your settings file is."""
    from cli.commands.config import config_output

    raise typer.Exit(config_output.print_path())


def keys() -> None:
    """List the actions for [terminal.keys], and their keys."""
    from cli.commands.config import config_output

    raise typer.Exit(config_output.print_key_actions())


def schema(
    what: Annotated[
        SchemaOf, typer.Argument(metavar="WHAT", help="events, result, input or settings.")
    ] = SchemaOf.events,
) -> None:
    """Print the JSON schema of output, input or settings.

    Of the output or input of `run`, or of the settings file.
    """
    import json

    from cli.output.json_schemas import SCHEMAS

    print(json.dumps(SCHEMAS[what.value](), indent=2))
    raise typer.Exit


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script that makes a shell complete `patchwright`.

    Its first lines say how to install it.
    """
    from cli.shell_completion import build_completion_script

    print(build_completion_script(shell.value), end="")
    raise typer.Exit
