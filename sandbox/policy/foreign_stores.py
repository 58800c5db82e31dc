"""Git folders that are another repository's, or lead to one: refused until the user trusts them."""

from __future__ import annotations

import os
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.git_layout import read_git_layout
from sandbox.policy.trust import Definition, compute_digest, find_active_store


def list_foreign_stores(root: Path) -> tuple[Definition, ...]:
    """Return the git folders outside a work tree that it uses without being linked to them properly.

    Proper: `git worktree add` and `git submodule`, where the git folder names the work tree, too.
    """
    layout = read_git_layout(root)
    return tuple(_define(name, target) for name, target in layout.foreign) if layout else ()


def refuse_foreign_stores(root: Path) -> None:
    """Raise UserError if the repository uses such a folder, unless the user trusts it."""
    found = list_foreign_stores(root)
    if not found:
        return
    store = find_active_store()
    if store is not None and store.read_trusted_stores(root) == compute_digest(found):
        return
    first = found[0]
    raise UserError(
        Fault.CONFIGURATION,
        f"the repository in {str(root)!r} uses another one's folder: {first.name} leads to {first.runs!r}",
        "If it is meant to: patchwright trust (for a moved work tree: git worktree repair)",
    )


def _define(name: str, target: str) -> Definition:
    import hashlib

    digest = hashlib.sha256(os.fsencode(target)).hexdigest()
    return Definition(kind="store", name=name, runs=target, digest=digest)
