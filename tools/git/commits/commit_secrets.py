"""Secret check before a commit: refuse one that adds a key, a token or a private key."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from sandbox.sanitize import quote_name
from tools.core.action import ToolFailure
from tools.git.broker import Broker
from tools.git.diff_hunks import parse_file_hunks
from tools.lint.checks.staged_checks import find_new_secrets

_MOST = 20
"""Locations that are reported; more add no information."""


def refuse_new_secrets(broker: Broker, old: str, index: Path, allowed: Sequence[str]) -> None:
    """Raise ToolFailure if `index` adds a secret that is not in commit `old` at that place.

    The message names locations and kinds, never a value. allowed: patterns of paths that are not checked
    """
    files = list(parse_file_hunks(_diff_index(broker, old, index)))
    removed = "\n".join(line for hunks in files for hunk in hunks for line in hunk.removed)
    places = [
        f"  {quote_name(hunk.path)}:{line}: {kind}"
        for hunks in files
        for hunk in hunks
        if not any(fnmatchcase(hunk.path, pattern) for pattern in allowed)
        for line, kind in find_new_secrets(hunk, removed)
    ]
    if places:
        more = f"\n  … and {len(places) - _MOST} more" if len(places) > _MOST else ""
        raise ToolFailure(
            "git_commit: nothing was committed: it would add what looks like a secret:\n"
            + "\n".join(places[:_MOST])
            + f"{more}\nTake it out: read it from the environment, or from a file that git ignores. A value that is "
            "made up passes with the comment `pragma: allowlist secret` on its line; tell the user of it."
        )


def _diff_index(broker: Broker, old: str, index: Path) -> str:
    """Diff without quoted names, rename detection or drivers of the repository; binary files are named only."""
    options = ("--cached", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
    plain = ("--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all", "--inter-hunk-context=0")
    base = (old,) if old else ()
    output = broker.run("diff", *options, *plain, *base, "--", index=index).stdout
    return output.decode("utf-8", "replace")
