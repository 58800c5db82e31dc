"""`patchwright agents`: the agents that sessions may start, and their files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from cli.output.standard_streams import print_json
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.team.definitions.agent_catalog import AgentCatalog
    from agent.team.definitions.agent_definition import AgentDefinition


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(agents_app, name="agents")
    agents_app.callback(invoke_without_command=True)(agents)
    agents_app.command("list")(list_)
    agents_app.command()(show)
    agents_app.command()(new)
    agents_app.command()(check)


agents_app = typer.Typer(rich_markup_mode=None, help="The agents that a session hands work over to.")

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME")]


def agents(context: typer.Context, folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """The agents that a session hands work over to."""
    if context.invoked_subcommand is None:
        raise typer.Exit(list_agents(folder, as_json=as_json))


def list_(folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """List the agents: built in, yours, and those of a project that you trust."""
    raise typer.Exit(list_agents(folder, as_json=as_json))


def show(name: Name, folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """Show one agent: what it may do, and its instructions."""
    raise typer.Exit(show_agent(folder, name, as_json=as_json))


def new(
    name: Name,
    folder: Folder = Path("."),
    user: Annotated[bool, typer.Option("--user", help="For all your projects.")] = False,
) -> None:
    """Write the file of a new agent, to be filled in."""
    raise typer.Exit(create_agent_file(folder, name, for_user=user))


def check(folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """Check the agents' files. Exit 2 if one cannot be used."""
    raise typer.Exit(check_agents(folder, as_json=as_json))


def list_agents(folder: Path, *, as_json: bool) -> int:
    """Print a line for each agent. Returns the exit code."""
    catalog = _load(folder)
    if as_json:
        print_json([_describe(each) for each in catalog.agents.values()])
        return int(Exit.DONE)
    from cli.output.tables import Column, print_table

    width = max(len(name) for name in catalog.agents)
    rows = [
        [
            sanitize_text(text).replace("\n", " ")
            for text in (f"{each.name:<{width}}", each.description, str(each.source))
        ]
        for each in catalog.agents.values()
    ]
    columns = [
        Column(title="agent", style=lambda text: "bold"),
        Column(title="for", wraps=True),
        Column(title="from", wraps=True, style=lambda text: "dim"),
    ]
    print_table(columns, rows, [f"{name}  {description}  ({source})" for name, description, source in rows])
    _print_notices(catalog)
    return int(Exit.DONE)


def show_agent(folder: Path, name: str, *, as_json: bool) -> int:
    """Print one agent. Returns the exit code. Raises UserError for an unknown one."""
    from sandbox.errors import Fault, UserError

    catalog = _load(folder)
    agent = catalog.agents.get(name.lower())
    if agent is None:
        raise UserError(Fault.USAGE, f"no agent {name!r}", f"Agents: {', '.join(catalog.agents)}.")
    described = _describe(agent)
    if as_json:
        print_json(described)
        return int(Exit.DONE)
    instructions = described.pop("instructions")
    for key, value in described.items():
        if value not in ("", None, [], False):
            shown = ", ".join(value) if isinstance(value, list) else value
            print(sanitize_text(f"{key.replace('_', ' ')}: {shown}"))
    print()
    print(sanitize_text(str(instructions)))
    return int(Exit.DONE)


def create_agent_file(folder: Path, name: str, *, for_user: bool) -> int:
    """Write an agent file and print its path. Returns the exit code. Raises UserError."""
    from agent.team.definitions.agent_template import write_agent_file

    root, _ = find_workspace_root(folder, need_git=False)
    print(sanitize_text(str(write_agent_file(Home.from_environment(), None if for_user else root, name))))
    if not for_user:
        print(sanitize_text(f"When it is filled in: patchwright trust -C {str(root)!r}"), file=sys.stderr)
    return int(Exit.DONE)


def check_agents(folder: Path, *, as_json: bool) -> int:
    """Check the files of all agents, trusted or not. Returns the exit code."""
    from agent.team.definitions.agent_catalog import check_agent_files

    root, _ = find_workspace_root(folder, need_git=False)
    catalog = check_agent_files(Home.from_environment(), root)
    if as_json:
        print_json({"agents": list(catalog.agents), "bad": catalog.bad, "notices": catalog.notices})
    else:
        for line in catalog.notices:
            print(sanitize_text(line))
        number = "1 agent" if len(catalog.agents) == 1 else f"{len(catalog.agents)} agents"
        print(f"{number}, {len(catalog.bad)} bad")
    return int(Exit.USAGE if catalog.bad else Exit.DONE)


def _load(folder: Path) -> AgentCatalog:
    from agent.team.definitions.agent_catalog import load_agents

    root, _ = find_workspace_root(folder, need_git=False)
    return load_agents(Home.from_environment(), root)


def _describe(agent: AgentDefinition) -> dict[str, Any]:
    from agent.team.definitions.builtin_agents import read_instructions

    return {
        "name": agent.name,
        "description": agent.description,
        "source": agent.source,
        "tools": None if agent.tools is None else [each.written for each in agent.tools],
        "without": [each.written for each in agent.denied],
        "model": agent.model,
        "mode": agent.mode,
        "max_turns": agent.max_turns,
        "background": agent.background,
        "isolation": agent.isolation,
        "effort": agent.effort,
        "memory": agent.memory,
        "instructions": read_instructions(agent),
    }


def _print_notices(catalog: AgentCatalog) -> None:
    for line in catalog.notices:
        print(sanitize_text(f"patchwright: {line}"), file=sys.stderr)
