"""`patchwright trust`: what a repository would run outside the sandbox, and the user's word on it."""

from __future__ import annotations

import sys
from pathlib import Path

from agent.home import Home
from agent.outcome import Exit
from sandbox.inert import exact
from sandbox.trust import Definition, TrustStore, digest


def grant(folder: Path) -> int:
    """Trust what the repository around `folder` defines now, and show what that turns on."""
    root, found = _defined(folder)
    if not found:
        _say(f"{root}: nothing here would run outside the sandbox, so there is nothing to trust")
        return int(Exit.DONE)
    _store().grant(root, found)
    _say(f"trusted: {root}", *_lines(found), "Whatever of it changes has to be trusted again.")
    return int(Exit.DONE)


def revoke(folder: Path) -> int:
    """Trust the repository around `folder` no more; it may be broken by now, or gone."""
    from sandbox.repository import find_root

    root = find_root(folder) or folder
    was = _store().revoke(root)
    _say(f"{'trusted no more' if was else 'was not trusted'}: {root.resolve()}")
    return int(Exit.DONE)


def show(folder: Path) -> int:
    """What the repository around `folder` would run, whether that is trusted, and which others are."""
    root, found = _defined(folder)
    store = _store()
    known = store.known(root)
    word = "trusted" if known == digest(found) else "changed since it was trusted" if known else "not trusted"
    _say(f"{root}: {word if found else 'nothing would run outside the sandbox'}", *_lines(found))
    others = [each for each in store.roots() if each != str(root)]
    if others:
        _say("also trusted:", *(f"  {each}" for each in others))
    return int(Exit.DONE)


def _defined(folder: Path) -> tuple[Path, tuple[Definition, ...]]:
    from agent.locate import locate
    from tools.git.broker import Broker

    root, _ = locate(folder, need_git=True, without="")
    return root, Broker(root).defined


def _lines(found: tuple[Definition, ...]) -> list[str]:
    return [f"  {each.kind} {each.name}: {each.runs}" for each in found]


def _store() -> TrustStore:
    return TrustStore(Home.from_environment().config)


def _say(*lines: str) -> None:
    """Exactly, and line by line: no name of a stranger's may end a line and begin another."""
    for line in lines:
        shown = exact(line.encode("utf-8", "replace").decode()).replace("\n", "\\n")
        sys.stdout.write(f"{shown}\n")
