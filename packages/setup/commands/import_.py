"""`patchwright import`: take over what was set up for another coding agent."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from packages.setup.importing.import_plan import ImportPlan


class Agent(StrEnum):
    """Agents whose files are understood."""

    claude = "claude"
    codex = "codex"
    aider = "aider"
    gemini = "gemini"
    cursor = "cursor"
    copilot = "copilot"
    opencode = "opencode"
    goose = "goose"
    crush = "crush"
    qwen = "qwen"
    kimi = "kimi"
    vibe = "vibe"
    amp = "amp"
    mcp = "mcp"


_OWN_MODULES = frozenset((Agent.claude, Agent.codex, Agent.aider, Agent.gemini, Agent.mcp))
"""Agents with a reader of their own; the others are read by a table."""

_NAMES = ", ".join(each for each in Agent if each is not Agent.mcp)


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command("import")(import_)


def import_(
    agent: Annotated[
        Agent,
        typer.Argument(metavar="AGENT", help=f"{_NAMES}, or mcp.", show_choices=False),
    ],
    folder: Folder = Path("."),
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON; writes only with --yes.")] = False,
) -> None:
    """Take over what you set up for another agent.

    Settings, permissions, servers, commands, agents, skills and hooks; shown before they are written. `mcp` takes the
    servers of this project's .mcp.json.
    """
    raise typer.Exit(import_from(agent, folder, yes=yes, as_json=as_json))


def import_from(agent: Agent, folder: Path, *, yes: bool, as_json: bool) -> int:
    """Show what can be taken over from an agent, and write it if the user says so. Returns the exit code."""
    from packages.setup.importing.import_plan import describe_plan, write_plan

    root, _ = find_workspace_root(folder, need_git=False)
    home = Home.from_environment()
    plan = read_plan(agent, root)
    lines = list(describe_plan(plan, home))
    new = [each for each in lines if each.startswith(("setting ", "file "))]
    if as_json:
        import json

        print(json.dumps({"settings": plan.settings, "files": list(plan.files), "left": plan.left}))
    else:
        for line in lines:
            print(sanitize_text(line).replace("\n", " "))
    if not new:
        print(f"nothing new of {agent} to take over", file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    if not yes and (as_json or not _ask()):
        if not as_json:
            print(f"nothing was written; patchwright import {agent} --yes writes it", file=sys.stderr)
        return int(Exit.DONE)
    write_plan(plan, home)
    print(sanitize_text(f"written to {home.config}"), file=sys.stderr)
    return int(Exit.DONE)


def read_plan(agent: Agent, root: Path) -> ImportPlan:
    """Return what can be taken over from an agent."""
    from importlib import import_module

    if agent not in _OWN_MODULES:
        from packages.setup.importing.peers.peer_import import read_peer

        return read_peer(agent, root)
    module = import_module(f"packages.setup.importing.{agent}_import")
    found: ImportPlan = getattr(module, f"read_{agent}")(root)
    return found


def _ask() -> bool:
    """Return whether the user wants it written; nobody is asked where there is no terminal."""
    if not sys.stdin.isatty():
        return False
    return typer.confirm("Write this?", default=False)
