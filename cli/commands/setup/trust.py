"""`patchwright trust`: programs that a repository runs outside the sandbox, its settings, and the user's trust."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.commands.options import Folder
from sandbox.errors import UserError
from sandbox.sanitize import sanitize_for_approval

if TYPE_CHECKING:
    from sandbox.policy.trust import Definition, TrustStore


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(trust)


def trust(
    folder: Folder = Path("."),
    list_only: Annotated[bool, typer.Option("--list", help="List what is trusted; change nothing.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke its trust.")] = False,
    requirements: Annotated[
        Path | None,
        typer.Option(
            "--requirements", metavar="FILE", help="Only the commands of this file of requirements."
        ),
    ] = None,
) -> None:
    """Let a repository's own hooks and filters run at commits.

    Signing programs too. Let its settings, rules, agents, skills, commands, agent hooks and lessons apply. All
    is shown.
    """
    if list_only and revoke:
        raise typer.BadParameter("give either --list or --revoke")
    if requirements is not None:
        raise typer.Exit(
            trust_requirements(folder, requirements, grants=not list_only and not revoke, revokes=revoke)
        )
    act = show_trust if list_only else revoke_trust if revoke else grant_trust
    raise typer.Exit(act(folder))


def grant_trust(folder: Path) -> int:
    """Trust the current definitions of the repository around `folder`, and show their effects."""
    root, parts, broken = _find_definitions(folder)
    for place in [each for each, found in parts.items() if not found and each != root]:
        _open_store().revoke(place)  # a file that is gone
    if not any(parts.values()) and not broken:
        _print_exactly(f"{root}: nothing here would run outside the sandbox, so there is nothing to trust")
        return int(Exit.DONE)
    for place, found in parts.items():
        if found:
            _open_store().grant(place, found)
    if any(parts.values()):
        _print_exactly(
            f"trusted: {root}",
            *_format_definitions(parts),
            "Whatever of it changes has to be trusted again.",
        )
    if broken:  # the rest is trusted; this cannot be
        raise broken[0]
    return int(Exit.DONE)


def trust_requirements(folder: Path, path: Path, *, grants: bool, revokes: bool) -> int:
    """Show the commands of a file of requirements in the workspace, and grant or revoke trust in them."""
    from agent.workspace_root import find_workspace_root
    from sandbox.extensions import load_extension

    root, _ = find_workspace_root(folder, need_git=False)
    file = load_extension("checks", "requirement_file")(path, root)
    place, found, store = root / file.name, file.list_definitions(), _open_store()
    if not found:
        _print_exactly(f"{path}: nothing in it is run that needs trust")
        return int(Exit.DONE)
    if grants:
        store.grant(place, found)
    elif revokes:
        store.revoke(place)
    word = "trusted" if store.create_check(place)(found) else "not trusted"
    _print_exactly(f"{word}: {place}", *_format_definitions({place: found}))
    return int(Exit.DONE)


def revoke_trust(folder: Path) -> int:
    """Revoke trust in the repository around `folder`, which may be broken or removed by now."""
    from sandbox.fs.repository import find_root

    root = find_root(folder) or folder
    was = [_open_store().revoke(each) for each in _list_places(root)]
    _print_exactly(f"{'trusted no more' if any(was) else 'was not trusted'}: {root.resolve()}")
    return int(Exit.DONE)


def show_trust(folder: Path) -> int:
    """Print the programs and settings of the repository around `folder`, its trust, and other trusted ones."""
    from sandbox.policy.trust import compute_digest

    root, definitions, broken = _find_definitions(folder)
    store = _open_store()
    parts = [(each, store.read_trusted_digest(place)) for place, each in definitions.items() if each]
    if not parts:
        word = "nothing would run outside the sandbox"
    elif all(known == compute_digest(each) for each, known in parts):
        word = "trusted"
    else:
        word = "changed since it was trusted" if any(known for _, known in parts) else "not trusted"
    _print_exactly(f"{root}: {word}", *_format_definitions(definitions))
    _print_exactly(*(f"  not trusted: {error.message}" for error in broken))
    others = [each for each in store.list_roots() if each not in map(str, _list_places(root))]
    if others:
        _print_exactly("also trusted:", *(f"  {each}" for each in others))
    return int(Exit.DONE)


def _find_definitions(folder: Path) -> tuple[Path, Mapping[Path, tuple[Definition, ...]], list[UserError]]:
    """Return the repository's root, by place what it would run, apply or let sessions start, and errors of files.

    A file that cannot be read cannot be trusted; the others can.
    """
    from agent.extension.commands.command_catalog import find_commands_to_trust
    from agent.extension.hooks.hook_catalog import find_hooks_to_trust
    from agent.extension.skills.skill_catalog import find_skills_to_trust
    from agent.team.definitions.agent_catalog import find_agents_to_trust
    from agent.workspace_root import find_workspace_root
    from cli.settings.project_servers import find_servers_to_trust
    from cli.settings.project_settings import find_settings_to_trust
    from cli.settings.settings_files import PROJECT_FILE
    from cli.settings.user_rules import find_rules_to_trust
    from sandbox.extensions import load_extension
    from tools.git.broker import Broker

    root, _ = find_workspace_root(folder, need_git=True, without="")
    finders: tuple[Callable[[Path], tuple[Definition, ...]], ...] = (
        lambda root: Broker(root).program_definitions,
        partial(find_settings_to_trust, Home.from_environment()),
        find_servers_to_trust,
        find_rules_to_trust,
        find_agents_to_trust,
        find_skills_to_trust,
        find_commands_to_trust,
        find_hooks_to_trust,
        load_extension("memory", "shared_to_trust"),
    )
    found: dict[Path, tuple[Definition, ...]] = {}
    broken: list[UserError] = []
    for place, find in zip(_list_places(root), finders, strict=True):
        try:
            found[place] = find(root)
        except UserError as error:
            if place in (root, root / PROJECT_FILE):
                raise  # git itself, and the settings that a run needs
            broken.append(error)
    return root, found, broken


def _list_places(root: Path) -> tuple[Path, ...]:
    """Return the places under which a repository's programs, settings, rules and files for agents are trusted."""
    from agent.extension.extension_files import COMMANDS_TRUST, HOOKS_TRUST, SHARED_LESSONS, SKILLS_TRUST
    from agent.team.definitions.agent_catalog import TRUST_PLACE
    from cli.settings.settings_files import PROJECT_FILE, RULES_FILE, SERVER_FILE

    more = (SKILLS_TRUST, COMMANDS_TRUST, HOOKS_TRUST, SHARED_LESSONS)
    places = (PROJECT_FILE, SERVER_FILE, RULES_FILE, TRUST_PLACE, *more)
    return root, *(root / each for each in places)


def _format_definitions(parts: Mapping[Path, tuple[Definition, ...]]) -> list[str]:
    return [f"  {each.kind} {each.name}: {each.runs}" for found in parts.values() for each in found]


def _open_store() -> TrustStore:
    from sandbox.policy.trust import TrustStore

    return TrustStore(Home.from_environment().config)


def _print_exactly(*lines: str) -> None:
    """Print lines with control characters escaped: no untrusted name may start a new line."""
    for line in lines:
        shown = sanitize_for_approval(line.encode("utf-8", "replace").decode()).replace("\n", "\\n")
        sys.stdout.write(f"{shown}\n")
