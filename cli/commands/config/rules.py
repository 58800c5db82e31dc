"""`patchwright rules`: the user's rules, and what they would have blocked in a past session."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
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
    from agent.rules.rule_kinds import UserRule
    from agent.rules.session_check import Finding


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(rules_app, name="rules")
    rules_app.callback(invoke_without_command=True)(rules)
    rules_app.command()(check)


rules_app = typer.Typer(rich_markup_mode=None, help="List and check your rules for the agent.")

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def rules(context: typer.Context, folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """List and check your rules for the agent."""
    if context.invoked_subcommand is None:
        raise typer.Exit(list_rules(folder, as_json=as_json))


def check(
    folder: Folder = Path("."),
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="A past session to hold them against.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that the rules can be kept together.

    With --session: list the actions that they would have blocked. Exit 5 if there are any.
    """
    raise typer.Exit(check_rules_here(folder, session, as_json=as_json))


def list_rules(folder: Path, *, as_json: bool) -> int:
    """Print each rule. Returns the exit code. Raises UserError if one is wrong, or if two contradict each other."""
    found, _ = _load_rules(folder)
    if as_json:
        print_json([_describe_rule(rule) for rule in found])
    elif not found:
        print("no rules (how to write some: docs/rules.md)")
    for rule in () if as_json else found:
        described = _describe_rule(rule)
        print(
            sanitize_text(f"{rule.name}  ({described['kind']}, {described['level']}, {described['source']})")
        )
        print(sanitize_text(f"  {described['text']}"))
    return int(Exit.DONE)


def check_rules_here(folder: Path, session: str | None, *, as_json: bool) -> int:
    """Check the rules, and a past session against them. Returns the exit code. Raises UserError."""
    from tools.core.text import format_count

    rules, root = _load_rules(folder)
    found = _check_session(root, session, rules) if session else []
    blocked = [each for each in found if each.is_blocked]
    if as_json:
        print_json({"rules": len(rules), "session": session, "findings": [asdict(each) for each in found]})
    elif session:
        for each in found:
            print(sanitize_text(f"{each.event}  {each.action}  {each.rule} ({each.level}): {each.reason}"))
        print(f"{format_count(len(blocked), 'action')} would have been blocked")
    else:
        print(f"{format_count(len(rules), 'rule')}, no contradiction")
    return int(Exit.DENIED if blocked else Exit.DONE)


def _load_rules(folder: Path) -> tuple[Sequence[UserRule], Path]:
    """Return the rules here, and the workspace. Those that are not used are announced on standard error."""
    from agent.rules.rule_kinds import select_known
    from cli.settings.layers import load_settings

    root, _ = find_workspace_root(folder, need_git=False)
    settings = load_settings(Home.from_environment(), root, {})
    for notice in settings.notices:
        print(sanitize_text(f"patchwright: {notice}"), file=sys.stderr)
    return select_known(settings.session.rules), root


def _check_session(root: Path, session: str, rules: Sequence[UserRule]) -> list[Finding]:
    from agent.rules.session_check import check_session
    from cli.commands.sessions.replay import read_branch
    from sandbox.snapshots.workspace_snapshots import Snapshots
    from tools.builtin_tools import load_accepted_tools, load_default_tools
    from tools.core.call_aliases import translate_call
    from tools.core.registry import Toolbox

    home = Home.from_environment()
    events = read_branch(home, root, session)
    store = home.get_project_folder(root) / "snapshots"
    toolbox = Toolbox(load_default_tools(), load_accepted_tools())
    return check_session(
        events,
        rules,
        root,
        Snapshots(root, store) if store.is_dir() else None,
        lambda action: translate_call(action, toolbox),
    )


def _describe_rule(rule: UserRule) -> dict[str, Any]:
    from agent.rules.rule_kinds import format_rule, get_level

    return {
        "name": rule.name,
        "kind": rule.kind,
        "level": get_level(rule),
        "text": format_rule(rule),
        "message": rule.message,
        "source": rule.source.strip("'\""),
    }
