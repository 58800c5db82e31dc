"""`patchwright trust`: what a repository would run outside the sandbox or set, and the user's word on it."""

from __future__ import annotations

import sys
from pathlib import Path

from agent.home import Home
from agent.outcome import Exit
from cli.settings.files import PROJECT_FILE
from cli.settings.project import to_trust
from sandbox.inert import sanitize_for_approval
from sandbox.trust import Definition, TrustStore, compute_digest


def grant(folder: Path) -> int:
    """Trust what the repository around `folder` defines now, and show what that turns on."""
    root, found, settings = _defined(folder)
    if not found and not settings:
        _say(f"{root}: nothing here would run outside the sandbox, so there is nothing to trust")
        return int(Exit.DONE)
    if found:
        _store().grant(root, found)
    if settings:
        _store().grant(root / PROJECT_FILE, settings)
    _say(f"trusted: {root}", *_lines(found + settings), "Whatever of it changes has to be trusted again.")
    return int(Exit.DONE)


def revoke(folder: Path) -> int:
    """Trust the repository around `folder` no more; it may be broken by now, or gone."""
    from sandbox.repository import find_root

    root = find_root(folder) or folder
    was = [_store().revoke(each) for each in (root, root / PROJECT_FILE)]
    _say(f"{'trusted no more' if any(was) else 'was not trusted'}: {root.resolve()}")
    return int(Exit.DONE)


def show(folder: Path) -> int:
    """What the repository around `folder` would run or set, whether that is trusted, and which others are."""
    root, found, settings = _defined(folder)
    store = _store()
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
    _say(f"{root}: {word}", *_lines(found + settings))
    others = [each for each in store.list_roots() if each not in (str(root), str(root / PROJECT_FILE))]
    if others:
        _say("also trusted:", *(f"  {each}" for each in others))
    return int(Exit.DONE)


def _defined(folder: Path) -> tuple[Path, tuple[Definition, ...], tuple[Definition, ...]]:
    """The repository's root, what it would run, and what it would set."""
    from agent.locate import find_workspace_root
    from tools.git.broker import Broker

    root, _ = find_workspace_root(folder, need_git=True, without="")
    return root, Broker(root).program_definitions, to_trust(Home.from_environment(), root)


def _lines(found: tuple[Definition, ...]) -> list[str]:
    return [f"  {each.kind} {each.name}: {each.runs}" for each in found]


def _store() -> TrustStore:
    return TrustStore(Home.from_environment().config)


def _say(*lines: str) -> None:
    """Exactly, and line by line: no name of a stranger's may end a line and begin another."""
    for line in lines:
        shown = sanitize_for_approval(line.encode("utf-8", "replace").decode()).replace("\n", "\\n")
        sys.stdout.write(f"{shown}\n")
