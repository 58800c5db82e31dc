"""Names, exit codes and working folder of the git hooks: shared by all of them."""

from __future__ import annotations

from pathlib import Path

OK, FOUND, USAGE, LATE, INTERNAL = 0, 1, 2, 4, 70
"""Exit codes, those of every other command: something was found, bad usage, out of time, a fault of ours."""

NAMES = ("pre-commit", "prepare-commit-msg", "commit-msg", "pre-push", "post-merge")


def get_hook_folder() -> Path:
    """The folder that git calls hooks in: the top of the work tree."""
    return Path.cwd()
