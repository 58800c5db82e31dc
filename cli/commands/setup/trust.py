"""`patchwright trust`: programs that a repository runs outside the sandbox, its settings, and the user's trust."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.commands.options import Folder
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
) -> None:
    """Let a repository's own hooks and filters run at commits.

    Signing programs too; and let its `patchwright.toml` apply. All of it is shown.
    """
    if list_only and revoke:
        raise typer.BadParameter("give either --list or --revoke")
    act = show_trust if list_only else revoke_trust if revoke else grant_trust
    raise typer.Exit(act(folder))


def grant_trust(folder: Path) -> int:
    """Trust the current definitions of the repository around `folder`, and show their effects."""
    from cli.settings.settings_files import PROJECT_FILE

    root, found, settings = _find_definitions(folder)
    if not found and not settings:
        _print_exactly(f"{root}: nothing here would run outside the sandbox, so there is nothing to trust")
        return int(Exit.DONE)
    if found:
        _open_store().grant(root, found)
    if settings:
        _open_store().grant(root / PROJECT_FILE, settings)
    _print_exactly(
        f"trusted: {root}",
        *_format_definitions(found + settings),
        "Whatever of it changes has to be trusted again.",
    )
    return int(Exit.DONE)


def revoke_trust(folder: Path) -> int:
    """Revoke trust in the repository around `folder`, which may be broken or removed by now."""
    from cli.settings.settings_files import PROJECT_FILE
    from sandbox.fs.repository import find_root

    root = find_root(folder) or folder
    was = [_open_store().revoke(each) for each in (root, root / PROJECT_FILE)]
    _print_exactly(f"{'trusted no more' if any(was) else 'was not trusted'}: {root.resolve()}")
    return int(Exit.DONE)


def show_trust(folder: Path) -> int:
    """Print the programs and settings of the repository around `folder`, its trust, and other trusted ones."""
    from cli.settings.settings_files import PROJECT_FILE
    from sandbox.policy.trust import compute_digest

    root, found, settings = _find_definitions(folder)
    store = _open_store()
    parts = [
        (each, store.read_trusted_digest(place))
        for place, each in ((root, found), (root / PROJECT_FILE, settings))
        if each
    ]
    if not parts:
        word = "nothing would run outside the sandbox"
    elif all(known == compute_digest(each) for each, known in parts):
        word = "trusted"
    else:
        word = "changed since it was trusted" if any(known for _, known in parts) else "not trusted"
    _print_exactly(f"{root}: {word}", *_format_definitions(found + settings))
    others = [each for each in store.list_roots() if each not in (str(root), str(root / PROJECT_FILE))]
    if others:
        _print_exactly("also trusted:", *(f"  {each}" for each in others))
    return int(Exit.DONE)


def _find_definitions(folder: Path) -> tuple[Path, tuple[Definition, ...], tuple[Definition, ...]]:
    """Return the repository's root, the programs it would run, and the settings it would apply."""
    from agent.workspace_root import find_workspace_root
    from cli.settings.project_settings import find_settings_to_trust
    from tools.git.broker import Broker

    root, _ = find_workspace_root(folder, need_git=True, without="")
    return root, Broker(root).program_definitions, find_settings_to_trust(Home.from_environment(), root)


def _format_definitions(found: tuple[Definition, ...]) -> list[str]:
    return [f"  {each.kind} {each.name}: {each.runs}" for each in found]


def _open_store() -> TrustStore:
    from sandbox.policy.trust import TrustStore

    return TrustStore(Home.from_environment().config)


def _print_exactly(*lines: str) -> None:
    """Print lines with control characters escaped: no untrusted name may start a new line."""
    for line in lines:
        shown = sanitize_for_approval(line.encode("utf-8", "replace").decode()).replace("\n", "\\n")
        sys.stdout.write(f"{shown}\n")
