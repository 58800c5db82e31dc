"""Names, exit codes and working folder of the git hooks: shared by all of them."""

from __future__ import annotations

from pathlib import Path

OK, FOUND, USAGE, LATE, INTERNAL = 0, 1, 2, 4, 70
"""Exit codes, those of every other command: found something, bad usage, out of time, internal error."""

NAMES = ("pre-commit", "prepare-commit-msg", "commit-msg", "pre-push", "post-merge")


def get_hook_folder() -> Path:
    """Return the folder in which git runs hooks: the top of the work tree."""
    return Path.cwd()
