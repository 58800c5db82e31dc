"""`patchwright trust`: what a repository would run outside the sandbox or set, and the user's word on it."""

from __future__ import annotations

import sys
from pathlib import Path

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.settings.project_settings import find_settings_to_trust
from cli.settings.settings_files import PROJECT_FILE
from sandbox.policy.trust import Definition, TrustStore, compute_digest
from sandbox.sanitize import sanitize_for_approval


def grant_trust(folder: Path) -> int:
    """Trust what the repository around `folder` defines now, and show what that turns on."""
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
    """Trust the repository around `folder` no more; it may be broken by now, or gone."""
    from sandbox.fs.repository import find_root

    root = find_root(folder) or folder
    was = [_open_store().revoke(each) for each in (root, root / PROJECT_FILE)]
    _print_exactly(f"{'trusted no more' if any(was) else 'was not trusted'}: {root.resolve()}")
    return int(Exit.DONE)


def show_trust(folder: Path) -> int:
    """What the repository around `folder` would run or set, whether that is trusted, and which others are."""
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
    """The repository's root, what it would run, and what it would set."""
    from agent.workspace_root import find_workspace_root
    from tools.git.broker import Broker

    root, _ = find_workspace_root(folder, need_git=True, without="")
    return root, Broker(root).program_definitions, find_settings_to_trust(Home.from_environment(), root)


def _format_definitions(found: tuple[Definition, ...]) -> list[str]:
    return [f"  {each.kind} {each.name}: {each.runs}" for each in found]


def _open_store() -> TrustStore:
    return TrustStore(Home.from_environment().config)


def _print_exactly(*lines: str) -> None:
    """Exactly, and line by line: no name of a stranger's may end a line and begin another."""
    for line in lines:
        shown = sanitize_for_approval(line.encode("utf-8", "replace").decode()).replace("\n", "\\n")
        sys.stdout.write(f"{shown}\n")
