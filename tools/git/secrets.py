"""A commit that would add a key, a token or a private key is stopped before it is made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from sandbox.inert import name
from sandbox.secrets import found
from tools.action import ToolFailure
from tools.git.broker import Broker

_ALLOWED = re.compile(r"pragma: ?allowlist[ -]secret|gitleaks:allow", re.IGNORECASE)
"""Comments by which well-known scanners are told that a line holds no real secret."""

_MOST = 20
"""Places that are named; more of them say nothing new."""


@dataclass(slots=True, kw_only=True)
class Hunk:
    """Neighbouring lines that a commit changes. line: the number that the first added one gets."""

    path: str
    line: int
    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


def refuse_new(broker: Broker, old: str, index: Path, allowed: Sequence[str]) -> None:
    """Raise ToolFailure when what is staged in `index` adds a secret that commit `old` did not have there.

    The message names places and kinds, never a value. allowed: patterns of paths that are not looked at
    """
    hunks = list(_hunks(_diff(broker, old, index)))
    removed = "\n".join(line for hunk in hunks for line in hunk.removed)
    places = [
        f"  {name(hunk.path)}:{line}: {kind}"
        for hunk in hunks
        if not any(fnmatchcase(hunk.path, pattern) for pattern in allowed)
        for line, kind in _new(hunk, removed)
    ]
    if places:
        more = f"\n  … and {len(places) - _MOST} more" if len(places) > _MOST else ""
        raise ToolFailure(
            "git_commit: nothing was committed: it would add what looks like a secret:\n"
            + "\n".join(places[:_MOST])
            + f"{more}\nTake it out: read it from the environment, or from a file that git ignores. A value that is "
            "made up passes with the comment `pragma: allowlist secret` on its line; tell the user of it."
        )


def _new(hunk: Hunk, removed: str) -> Iterator[tuple[int, str]]:
    """(line, kind) of each secret that is not merely moved, and that no comment allows."""
    text = "\n".join(hunk.added)
    for each in found(text):
        before = text.count("\n", 0, each.start)
        if text[each.start : each.end] not in removed and not _ALLOWED.search(hunk.added[before]):
            yield hunk.line + before, each.kind


def _diff(broker: Broker, old: str, index: Path) -> str:
    """Without file names quoted, renames followed, or a driver of the repository run; binary files are named only."""
    options = ("--cached", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
    plain = ("--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all", "--inter-hunk-context=0")
    base = (old,) if old else ()
    output = broker.run("diff", *options, *plain, *base, "--", index=index).stdout
    return output.decode("utf-8", "replace")


_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def _hunks(diff: str) -> Iterator[Hunk]:
    """The announced lengths decide what belongs to a hunk: a line of a file may look like a diff's own."""
    path = ""
    hunk: Hunk | None = None
    old = new = 0
    for line in diff.split("\n"):
        if hunk is not None and (old or new) and line[:1] in ("-", "+"):
            if line[0] == "-":
                hunk.removed.append(line[1:])
                old -= 1
            else:
                hunk.added.append(line[1:])
                new -= 1
        elif match := _HUNK.match(line):
            if hunk is not None:
                yield hunk
            old, new = int(match[1] or "1"), int(match[3] or "1")
            hunk = Hunk(path=path, line=int(match[2]))
        elif line.startswith("+++ "):
            path = line[4:].rstrip("\t").removeprefix("b/")
    if hunk is not None:
        yield hunk
