"""Files too large for a history that every clone downloads."""

from __future__ import annotations

from collections.abc import Iterator

from tools.core.text import format_size
from tools.git.git_change import Change
from tools.lint.checks.finding import Finding

MOST = 1_000_000
"""Bytes. Larger files are mostly dumps, builds and media; git keeps every version of them forever."""


def check(change: Change) -> Iterator[Finding]:
    """Yield new files above the limit, and those that grow beyond it."""
    large = [each for each in change.files if each.is_regular and each.size > MOST]
    before = change.git.read_blob_sizes([each.old for each in large if each.old])
    for file in large:
        if before.get(file.old, 0) <= MOST:
            message = f"{format_size(file.size)}, more than {format_size(MOST)}: leave it out, or use git LFS"
            yield Finding(check="sizes", path=file.path, line=0, message=message)
