"""`patchwright config`, `schema` and `completion`: settings, published JSON schemas, shell completion."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_json, sanitize_text

if TYPE_CHECKING:
    from cli.settings.setting_sources import SettingRow


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
        raise typer.Exit(print_settings(folder, as_json=as_json))


def get(key: Key, folder: Folder = Path(".")) -> None:
    """Print the value of one setting."""
    raise typer.Exit(print_setting(folder, key))


def set_(
    key: Key,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help='A TOML value; a bare word is text: \'["a", "b"]\'.')
    ],
) -> None:
    """Set a value in your settings file; comments in it stay."""
    raise typer.Exit(set_setting(key, value))


def unset(key: Key) -> None:
    """Remove a setting from your settings file."""
    raise typer.Exit(remove_setting(key))


def path() -> None:
    """Print where your settings file is."""
    raise typer.Exit(print_path())


def keys() -> None:
    """List the actions for [terminal.keys], and their keys."""
    raise typer.Exit(print_key_actions())


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


def print_settings(folder: Path, *, as_json: bool) -> int:
    """Print all settings, those that differ from the defaults last, where they are seen."""
    rows = _load_rows(folder)
    if as_json:
        import json

        for row in rows:
            fields = {"key": row.key, "value": row.value, "source": row.source}
            print(sanitize_json(json.dumps(fields, ensure_ascii=False, default=str)))
        return 0
    widest = max(len(row.key) for row in rows)
    for row in sorted(rows, key=lambda row: row.source != "built-in"):
        source = "" if row.source == "built-in" else f"  # {row.source}"
        print(sanitize_text(f"{row.key:<{widest}} = {row.formatted_value}{source}"))
    return 0


def print_setting(folder: Path, key: str) -> int:
    """Print one value, strings without quotes."""
    row = next((row for row in _load_rows(folder) if row.key == key), None)
    if row is None:
        raise UserError(Fault.CONFIGURATION, f"unknown setting {key!r}", "All of them: patchwright config")
    print(sanitize_text(row.value if isinstance(row.value, str) else row.formatted_value))
    return 0


def set_setting(key: str, value: str) -> int:
    """Write a setting to the user's file."""
    from cli.settings.setting_sources import store_setting

    place = store_setting(Home.from_environment(), key, value)
    print(sanitize_text(f"{key} is set in {place}"), file=sys.stderr)
    return 0


def remove_setting(key: str) -> int:
    """Remove a setting from the user's file."""
    from cli.settings.setting_sources import unset_setting

    place = unset_setting(Home.from_environment(), key)
    print(sanitize_text(f"{key} is no longer set in {place}"), file=sys.stderr)
    return 0


def print_path() -> int:
    """Print the path of the user's file, existing or not."""
    from cli.settings.settings_files import FILE

    print(sanitize_text(str(Home.from_environment().config / FILE)))
    return 0


def print_key_actions() -> int:
    """Print one row per action that a key can be bound to."""
    from cli.output.tables import Column, print_table
    from cli.settings.key_actions import ACTIONS, MEANING

    rows = [(action, ", ".join(bound), MEANING[action]) for action, bound in ACTIONS.items()]
    columns = [Column(title="action"), Column(title="keys"), Column(title="does", wraps=True)]
    print_table(columns, rows, [f"{action:<10} {keys:<22} {meaning}" for action, keys, meaning in rows])
    return 0


def _load_rows(folder: Path) -> list[SettingRow]:
    from cli.settings.setting_sources import explain_settings

    return explain_settings(Home.from_environment(), find_workspace_root(folder, need_git=False)[0])
