"""Earlier versions of the failing tests' files: as committed, and before each of the last commits.

Where a program worked once, the fault is in a change since then (delta debugging, Zeller 1999). Instead of
running the tests on older versions, each change since then is reverted alone, as a candidate like any other.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from packages.offline.repair.localize.statement_ranking import Suspect, get_own_lines, reweigh_suspects
from packages.offline.repair.templates import Source
from packages.offline.repair.templates.support.source_tree import Hunk
from sandbox.errors import UserError
from sandbox.fs.repository import find_root
from tools.git.fresh_work import list_changes, read_versions
from tools.git.git_process import Git

# Commits that changed the files, of so many that are searched; file versions that are read, and files.
MOST_COMMITS, MOST_LOOKED_AT, MOST_VERSIONS, MOST_FILES = 12, 100, 16, 60
# Hunks of one version, and lines of one: a version with more is another program.
MOST_HUNKS, MOST_LINES = 20, 30
# Factors on the suspiciousness of a statement that differs from the commit, or that a recent commit changed.
UNCOMMITTED, LATE = 1.3, 1.1


def attach_past_hunks(root: Path, sources: Mapping[str, Source]) -> None:
    """Give each source the hunks that revert it to earlier versions. Without a repository there are none."""
    if find_root(root) is None or not sources:
        return
    paths = sorted(path for path in sources if "\n" not in path)[:MOST_FILES]
    git = Git(root, alone=True)
    try:
        versions = [(path, f"HEAD:./{path}", "") for path in paths]
        late = _list_recent_changes(git, paths)
        versions += [(path, f"{commit}^:./{path}", commit[:10]) for commit, path in late[:MOST_VERSIONS]]
        texts = read_versions(git, [name for _, name, _ in versions])
    except UserError:  # no commit yet, or a repository that git itself refuses
        return
    for (path, _, since), text in zip(versions, texts, strict=True):
        if text is not None and text != sources[path].text:
            known = {(each.start, each.end, each.text) for each in sources[path].hunks}
            found = compute_revert_hunks(sources[path].text, text, since)
            sources[path].hunks += [each for each in found if (each.start, each.end, each.text) not in known]


def compute_revert_hunks(now: str, before: str, since: str) -> list[Hunk]:
    """Return the hunks that each revert one change; none if the versions differ too much."""
    new, old = now.splitlines(keepends=True), before.splitlines(keepends=True)
    starts = [0]
    for line in new:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, new, old, autojunk=False)
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(codes) > MOST_HUNKS:
        return []
    return [
        Hunk(
            start=starts[a],
            end=starts[b],
            text="".join(old[c:d]),
            first=a + 1,
            last=max(a + 1, b),
            since=since,
        )
        for _, a, b, c, d in codes
        if max(b - a, d - c) <= MOST_LINES
    ]


def boost_recent_changes(suspects: Sequence[Suspect], sources: Mapping[str, Source]) -> list[Suspect]:
    """Return the suspects, recently changed ones first among those that tests cannot distinguish."""
    lines: dict[str, dict[int, float]] = {}
    for path, source in sources.items():
        for each in source.hunks:
            factor = LATE if each.since else UNCOMMITTED
            for line in range(each.first, each.last + 1):
                lines.setdefault(path, {})[line] = max(factor, lines.get(path, {}).get(line, 1.0))
    if not lines:
        return list(suspects)
    factors = [
        max((lines.get(each.path, {}).get(line, 1.0) for line in get_own_lines(each.statement)), default=1.0)
        for each in suspects
    ]
    return reweigh_suspects(suspects, factors)


def _list_recent_changes(git: Git, paths: Collection[str]) -> list[tuple[str, str]]:
    """Return (commit, path) of the changes of the last commits that touch the paths, newest first."""
    found = list_changes(git, paths, most=MOST_LOOKED_AT)
    commits = list(dict.fromkeys(commit for commit, _ in found))[:MOST_COMMITS]
    return [(commit, path) for commit, path in found if commit in commits]
