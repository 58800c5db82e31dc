"""Guards of a workspace: files that act by themselves, git folders, hard links, denied files under other names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

ALLOWED_REPOSITORIES: dict[Path, Callable[[str], bool]] = {}
"""By workspace, the user's rule on new git folders inside: set at a start, which needs no inventory."""
