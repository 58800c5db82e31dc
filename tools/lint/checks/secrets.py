"""Keys, tokens and private keys that a change introduces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from sandbox.secrets.redaction import find_secrets
from tools.git.diff_hunks import Hunk
from tools.git.git_change import Change
from tools.lint.checks.finding import Finding

_ALLOWED = compile_lazily(r"pragma: ?allowlist[ -]secret|gitleaks:allow", re.IGNORECASE)
"""Comments that exempt a line from well-known secret scanners."""


def check(change: Change) -> Iterator[Finding]:
    """Yield each place of a new secret and its kind, never its value."""
    removed = "\n".join(line for file in change.files for line in file.iterate_removed_lines())
    for file in change.regular_files:
        for hunk in file.hunks:
            for line, kind in find_new_secrets(hunk, removed):
                message = (
                    f"looks like a secret: {kind} (`pragma: allowlist secret` on its line if it is made up)"
                )
                yield Finding(check="secrets", path=file.path, line=line, message=message)


def find_new_secrets(hunk: Hunk, removed: str) -> Iterator[tuple[int, str]]:
    """Yield (line, kind) of each secret that is neither moved (found in `removed`) nor allowed by a comment."""
    text = "\n".join(hunk.added)
    for each in find_secrets(text):
        before = text.count("\n", 0, each.start)
        if text[each.start : each.end] not in removed and not _ALLOWED.search(hunk.added[before]):
            yield hunk.line + before, each.kind
