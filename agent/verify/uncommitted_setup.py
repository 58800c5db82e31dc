"""Files that decide which tests run and that no commit has: a narrowing that was there before the session began.

The check of a turn compares with the state before it, which has such a narrowing, too. So what is not committed is
compared with the last commit: held against the work where an earlier session left it behind without success, and
else reported, since it may be the user's own.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from agent.exit_codes import Exit
from sandbox.errors import UserError
from sandbox.fs.repository import find_root
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json
from tools.core.text import join_names
from tools.core.workspace import Workspace

MOST_FILES = 200
"""Uncommitted files that are read: more of them are no narrowing, but a new project."""

MOST_LOGS, TAIL = 20, 1 << 18
"""Newest logs that are read, and the bytes at the end of each: their last turns' ends."""

MOST_NAMED = 3

_ACHIEVED = (Exit.DONE, Exit.NOTHING_TO_DO, Exit.NO_TEST_RUNNER)
"""Ends of turns whose changes are what was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UncommittedSetup:
    """versions: contents in the last commit by path, None for a file that it lacks
    is_left_behind: a turn of this project that did not achieve what was asked changed one of them last
    """

    versions: Mapping[str, bytes | None]
    is_left_behind: bool

    def describe(self) -> str:
        """Return the files, as a phrase."""
        verb = "is" if len(self.versions) == 1 else "are"
        return f"{join_names(sorted(self.versions), MOST_NAMED)} {verb} not committed"


def find_uncommitted_setup(
    workspace: Workspace,
    prompts: Sequence[str],
    *,
    before: Mapping[str, bytes | None],
    judging: Collection[str] = (),
) -> UncommittedSetup | None:
    """Return the uncommitted files that may leave tests out, None if there are none or a prompt asks for it. Blocking.

    prompts: of the turn; a file that one of them names is no narrowing
    before: contents before the work, which is judged by other means where they were committed
    judging: more files that decide
    """
    if find_root(workspace.root) is None:
        return None
    from agent.prompt.excused_changes import read_request
    from agent.verify.collected_tests import decides_tests

    request = read_request(prompts)
    if request.tests or {"selection", "runner"} & set(request.topics):
        return None
    try:
        committed = _read_committed(workspace.root)
    except UserError:  # no commit yet, or a repository that git itself refuses
        return None
    text = "\n".join(prompts)
    versions = {
        path: content
        for path, content in committed.items()
        if PurePosixPath(path).name not in text
        and (path not in before or before[path] != content)
        and (path in judging or decides_tests({path: (content, _read_now(workspace, path))}))
    }
    if not versions:
        return None
    failed = set(_list_left_behind(workspace.artifacts.folder.parents[1]))
    return UncommittedSetup(versions=versions, is_left_behind=not failed.isdisjoint(versions))


def _read_committed(root: Path) -> dict[str, bytes | None]:
    from tools.git.git_process import Git

    git = Git(root, alone=True)
    changed = _split(git.run("diff", "--name-only", "-z", "--no-renames", "--relative", "HEAD", "--"))
    new = _split(git.run("ls-files", "-z", "--others", "--exclude-standard"))
    if (not changed and not new) or len(changed) + len(new) > MOST_FILES:
        return {}
    listed = _split(git.run("ls-tree", "-z", "-r", "HEAD", "--", *changed)) if changed else []
    blobs = {path: head.split(" ")[2] for head, _, path in (each.partition("\t") for each in listed)}
    contents = git.read_blobs(list(blobs.values()))
    return {path: contents.get(blobs.get(path, "")) for path in (*changed, *new)}


def _split(output: bytes) -> list[str]:
    return [os.fsdecode(each) for each in output.split(b"\0") if each]


def _read_now(workspace: Workspace, path: str) -> bytes | None:
    try:
        return workspace.files.read(path) if workspace.files.is_file(path) else None
    except (OSError, ValueError):
        return None


def _list_left_behind(sessions: Path) -> Iterator[str]:
    """Yield the files that a turn changed last which did not achieve what was asked."""
    from agent.session.session_preview import list_logs

    known = set[str]()
    for log in sorted(list_logs(sessions), key=_get_time, reverse=True)[:MOST_LOGS]:
        for files, failed in _read_ends(log):
            if failed:
                yield from files - known
            known |= files


def _get_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # removed since it was listed
        return 0.0


def _read_ends(log: Path) -> Iterator[tuple[set[str], bool]]:
    """Yield the files of each turn, the newest first, and whether it failed."""
    try:
        with log.open("rb") as file:
            file.seek(max(log.stat().st_size - TAIL, 0))
            lines = file.read().splitlines()
    except OSError:
        return
    for line in reversed(lines):
        if b'"end"' not in line:
            continue
        try:
            event = parse_json(line)
            if event.get("kind") == "end":
                failed = event.get("exit_code", 0) not in _ACHIEVED
                yield set(map(str, event.get("files", ()))), failed
        except (ValueError, TypeError, AttributeError):  # cut off, or damaged: of no use here
            continue
