"""Move a branch, and with it the user's index, to a new commit: only if both are as they were when they were read."""

from __future__ import annotations

import bisect
import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from sandbox.fs.regular_file import GIT_FILE, read_regular_file
from sandbox.fs.three_way_merge import MergeConflict, merge_lines, merge_values
from sandbox.helpers.git_runner import LITERAL
from sandbox.lazy_dataclass import dataclass
from tools.core.action import ToolFailure
from tools.git.broker import Broker, create_scratch_folder
from tools.git.commits.create_commit import KEPT
from tools.git.commits.git_objects import (
    Entry,
    compute_blob_id,
    read_blobs,
    read_index_entries,
    store_blob,
    write_index_entries,
)
from tools.git.git_failures import explain_failure
from tools.git.index_lock import IndexLock
from tools.git.scratch_index import copy_index

Changes = Mapping[str, tuple[Entry | None, Entry | None]]
"""(old entry, new entry) of each path of a commit."""

_LOCK_FAILURES = ("cannot lock ref", "unable to lock", "reference already exists")


class HeadMoved(Exception):
    """Somebody else committed, or switched branches, since HEAD was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The last commit, "" before the first, and the reference that a commit moves: a branch, or HEAD itself.

    file: content of git's file HEAD, by which a switch to another branch is seen
    """

    commit: str
    ref: str
    file: bytes | None

    @property
    def is_detached(self) -> bool:
        """Whether HEAD is on no branch."""
        return self.ref == "HEAD"


def read_head(broker: Broker) -> Head:
    """Return HEAD. git resolves it: it knows every reference storage format."""
    file = _read_head_file(broker)
    names = ("HEAD", "--symbolic-full-name", "HEAD")
    fields = broker.run("rev-parse", "--quiet", *names, ok=(0, 128)).stdout.split()
    if len(fields) == 2:
        return Head(commit=fields[0].decode(), ref=os.fsdecode(fields[1]), file=file)
    name = broker.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).stdout
    return Head(commit="", ref=os.fsdecode(name).strip() or "HEAD", file=file)


def _read_head_file(broker: Broker) -> bytes | None:
    return read_regular_file(broker.folder / "HEAD", GIT_FILE)


def publish_commit(
    broker: Broker, lock: IndexLock, head: Head, sha: str, subject: str, changes: Changes
) -> list[str]:
    """Move the branch from `head` to the commit `sha`, and update the user's index for its paths.

    The index is replaced first, under git's own lock: git reads HEAD before the index, so that nobody meets the new
    HEAD with the old index and commits the reverse. Returns notes for the user. Raises HeadMoved and ToolFailure with
    both as they were.
    """
    for is_patient in (False, False, True):
        with lock if is_patient else nullcontext(), create_scratch_folder() as folder:
            index = copy_index(broker, folder)
            known = index.read_bytes() if index.exists() else None
            times = _read_times(index)
            notes = update_index(broker, index, changes)
            with lock:
                if lock.read_index() != known:
                    continue
                if _read_head_file(broker) != head.file:
                    raise HeadMoved
                lock.replace_index(index.read_bytes() if index.exists() else None, _read_times(index))
                try:
                    _move_ref(broker, head, sha, subject)
                except BaseException:  # an interrupt, too: the new index with the old HEAD reverts the commit
                    lock.replace_index(known, times)
                    raise
                return notes
    raise AssertionError("nobody changes the index under its lock")  # pragma: no cover


def restore_index(broker: Broker, lock: IndexLock, changes: Changes) -> None:
    """Update the index for a commit's paths again if all of them are as before it.

    A `git commit` that fails, because ours was first, may have written the index that it had read before.
    """
    with lock, create_scratch_folder() as folder:
        index = copy_index(broker, folder)
        entries, _ = read_index_entries(broker, index, changes.keys())
        if changes and all(entries.get(path) == old != new for path, (old, new) in changes.items()):
            update_index(broker, index, changes)
            lock.replace_index(index.read_bytes(), _read_times(index))


def update_index(broker: Broker, index: Path, changes: Changes) -> list[str]:
    """Update an index for a commit's paths only; the user's staged changes stay staged. Returns notes."""
    # Only a path that is new may meet entries of other paths.
    only = None if any(old is None for old, _ in changes.values()) else changes.keys()
    entries, unmerged = read_index_entries(broker, index, only)
    updates: dict[str, Entry | None] = {}
    left: list[str] = []
    for path, (old, new) in changes.items():
        present = entries.get(path)
        if path in unmerged:
            left.append(path)
        elif present == old or (old is None and _is_intent_to_add(present)):
            updates[path] = new
        elif present != new:
            merged = _merge_entry(broker, old, present, new)
            if merged is None:
                left.append(path)
            else:
                updates[path] = merged
    for path in _find_blocked_paths(entries, updates):
        left.append(path)
        del updates[path]
    if updates:
        write_index_entries(broker, updates, index)
        # Scripts that compare stat data must not see these files as changed.
        names = b"".join(os.fsencode(path) + b"\0" for path, entry in updates.items() if entry)
        options = ("--refresh", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
        broker.run(LITERAL, "add", *options, stdin=names, index=index, ok=range(256))
    return [f"staged version left as it was, without this commit's change: {path}" for path in left]


def _move_ref(broker: Broker, head: Head, sha: str, subject: str) -> None:
    reason = f"commit{'' if head.commit else ' (initial)'}: {subject}"
    output = broker.run_trusted(
        *("update-ref", "-m", reason, head.ref, sha, head.commit or broker.null_id),
        confined=not broker.has_hook("reference-transaction"),
    )
    if output.returncode:
        if read_head(broker) != head or any(each in output.stderr for each in _LOCK_FAILURES):
            raise HeadMoved
        raise ToolFailure(f"{explain_failure(broker.root, 'commit', output)}\n{KEPT}")


def _read_times(index: Path) -> tuple[int, int]:
    if not index.exists():
        return 0, 0
    info = index.stat()
    return info.st_atime_ns, info.st_mtime_ns


def _find_blocked_paths(entries: Mapping[str, Entry], updates: Mapping[str, Entry | None]) -> list[str]:
    """Return paths blocked by a file that the user staged where they need a folder, or the reverse: git would
    silently drop the user's entry."""
    added = [path for path, entry in updates.items() if entry and path not in entries]
    stay = sorted(path for path in entries if updates.get(path, entries[path]) is not None) if added else []
    there = set(stay)
    found = []
    for path in added:
        parts = path.split("/")
        below = bisect.bisect_left(stay, f"{path}/")
        inside = below < len(stay) and stay[below].startswith(f"{path}/")
        if inside or any("/".join(parts[:count]) in there for count in range(1, len(parts))):
            found.append(path)
    return found


def _is_intent_to_add(entry: Entry | None) -> bool:
    """Return whether this is the empty placeholder entry of `git add --intent-to-add`."""
    return entry is not None and entry[1] == compute_blob_id(b"", entry[1])


def _merge_entry(broker: Broker, old: Entry | None, present: Entry | None, new: Entry | None) -> Entry | None:
    if not (old and present and new) or {old[0], present[0], new[0]} - {"100644", "100755"}:
        return None
    texts = read_blobs(broker, (old[1], present[1], new[1]))
    try:
        content = merge_lines(texts[old[1]], texts[present[1]], texts[new[1]])
    except MergeConflict:
        return None
    mode = merge_values(old[0], present[0], new[0], lambda: present[0])
    return mode, store_blob(broker, content)
