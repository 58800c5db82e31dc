"""Operations of the user that are in progress in a repository, as `git status` announces them."""

from __future__ import annotations

from pathlib import Path

_UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or git am",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert of several commits",
    "BISECT_LOG": "a bisect",
}
"""Files and folders that `git status` looks at, too; several at once belong to the first."""


def find_unfinished_operation(folder: Path) -> str:
    """Return the unfinished operation in a work tree's git folder, as "a merge"; "" if none."""
    return next((what for name, what in _UNFINISHED.items() if (folder / name).exists()), "")
