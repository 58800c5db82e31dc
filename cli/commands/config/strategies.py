"""`patchwright strategies`: how turns can be made, what each way costs, and when it pays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.exit_codes import Exit
from cli.commands.options import Folder


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(strategies_app, name="strategies")
    strategies_app.callback(invoke_without_command=True)(strategies)
    strategies_app.command("list")(list_)


strategies_app = typer.Typer(rich_markup_mode=None, help="How a task can be worked on: costs and uses.")

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def strategies(context: typer.Context, folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """How a task can be worked on: costs and uses."""
    if context.invoked_subcommand is None:
        raise typer.Exit(list_strategies(folder, as_json=as_json))


def list_(folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """List the strategies: what each does, what it costs, and when it pays."""
    raise typer.Exit(list_strategies(folder, as_json=as_json))


def list_strategies(folder: Path, *, as_json: bool) -> int:
    """Print the strategies; the one of the settings is marked. Returns the exit code. Raises UserError."""
    from agent.app_dirs import Home
    from agent.strategy.strategy_table import StrategyNote, read_strategies
    from agent.workspace_root import find_workspace_root
    from cli.settings.layers import load_settings
    from sandbox.extensions import list_foreign_extensions

    root, _ = find_workspace_root(folder, need_git=False)
    chosen = load_settings(Home.from_environment(), root, {}).session.strategy.name
    unknown = "its package says"
    notes = {
        **(own := read_strategies()),
        **{
            name: StrategyNote(summary=f"of your environment: {entry.value}", cost=unknown, pays=unknown)
            for name, entry in list_foreign_extensions("strategies").items()
            if name not in own
        },
    }
    if as_json:
        import json
        from dataclasses import asdict

        rows = [{"name": name, "chosen": name == chosen, **asdict(note)} for name, note in notes.items()]
        print(json.dumps(rows))
        return int(Exit.DONE)
    from cli.output.tables import Column, print_table

    lines, table = [], []
    for name, note in notes.items():
        lines.append(f"{name}{' (strategy.name)' if name == chosen else ''}: {note.summary}")
        lines.append(f"  costs: {note.cost}\n  pays:  {note.pays}")
        mark = "\n(strategy.name)" if name == chosen else ""
        table.append((name + mark, note.summary, note.cost, note.pays))
    columns = [
        Column(title="strategy", style=lambda text: "bold"),
        Column(title="does", wraps=True),
        Column(title="costs", wraps=True),
        Column(title="pays", wraps=True),
    ]
    print_table(columns, table, lines)
    return int(Exit.DONE)
