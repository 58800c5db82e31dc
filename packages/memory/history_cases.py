"""Cases from a repository's own history: what a commit's message asked for, and the files and functions it changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from agent.memory.memory_store import MemoryStore
from agent.memory.records import Case
from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily
from tools.git.git_process import Git, GitFailed

MOST_COMMITS = 3_000
"""Newest commits that are read: older code is rarely where it was."""

SESSION = "history"

_MOST_FILES, _MOST_NAMES, _MOST_TEXT = 20, 20, 2_000
"""Of a commit; one that changes more files is a rename or a release, and tells no place."""

_TIMEOUT = 120.0

_COMMIT = compile_lazily(r"\0([0-9a-f]{40,64}) (\d+)\n([^\0]*)\0")
"""Head of a commit. A patch may hold such bytes, too: of files that an attribute calls text."""

_FILE = compile_lazily(r"^\+\+\+ b/(.+?)\t?$", re.MULTILINE)
_HUNK = compile_lazily(r"^@@ [^@\n]* @@ .{0,200}?(\w+)\s*(?:\(|:|\{|=|<|$)", re.MULTILINE)


def seed_from_history(store: MemoryStore, root: Path) -> int:
    """Store the commits that are not stored yet, without any model; return how many. Raises UserError without git.

    Their messages are searched and never told: only files are.
    """
    known = {each.event for each in store.list_cases(source="history")}
    try:
        listed = Git(root, alone=True).run_text(
            "log", "--no-merges", f"--max-count={MOST_COMMITS}", "--format=%x00%H %ct%n%B%x00", "--patch",
            "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
            "--src-prefix=a/", "--dst-prefix=b/",
            timeout=_TIMEOUT,
        )  # fmt: skip
    except (GitFailed, OSError) as error:
        raise UserError(Fault.USAGE, f"the history cannot be read: {error}") from error
    found = [each for each in _parse_log(listed) if each.event not in known]
    if found:
        store.add_cases(found)
    return len(found)


def _parse_log(listed: str) -> Iterator[Case]:
    """Yield the cases of commits with few files, oldest first: the newest get the highest numbers."""
    heads = list(_COMMIT.finditer(listed))
    ends = [*(each.start() for each in heads[1:]), len(listed)]
    for head, end in reversed(list(zip(heads, ends, strict=True))):
        (commit, seconds, message), patch = head.groups(), listed[head.end() : end]
        files = list(dict.fromkeys(_FILE.findall(patch)))
        if not 0 < len(files) <= _MOST_FILES or not message.strip():
            continue
        yield Case(
            session=SESSION, event=commit, time=float(seconds), task=message.strip()[:_MOST_TEXT], source="history",
            outcome="commit", places=tuple(files), names=tuple(dict.fromkeys(_HUNK.findall(patch)))[:_MOST_NAMES],
        )  # fmt: skip
