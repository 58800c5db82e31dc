"""Snapshots of a workspace in a private store of git objects: the changes between two, and undoing them."""

from __future__ import annotations

import heapq
import stat
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from sandbox.snapshots import stat_cache
from sandbox.snapshots.change_times import Moments, find_writes_within
from sandbox.snapshots.newly_visible import (
    compute_changes,
    compute_covered_changes,
    find_newly_visible,
)
from sandbox.snapshots.object_store import EMPTY_TREE, Entry, LostObjectError, Store, compute_object_id
from sandbox.snapshots.path_state import (
    GIT_FILE,
    GIT_NESTED,
    GIT_TREE,
    UNBORN,
    Change,
    SnapshotMetadata,
    State,
    to_git_mode,
)
from sandbox.snapshots.restore import RestoreResult, Span, revert_spans
from sandbox.snapshots.snapshot_metadata import build_metadata, collect_folder_modes
from sandbox.snapshots.snapshot_view import View
from sandbox.snapshots.tracked_files import NOTHING, GitObjects
from sandbox.snapshots.working_tree import MAX_FILE_SIZE, MAX_WRITTEN_SIZE, read_file_or_link
from sandbox.snapshots.workspace_scan import WORTH_WATCHING, Scan, Signature, Walker

__all__ = ["Change", "LostObjectError", "RestoreResult", "Snapshots", "State"]

# Kernels stamp files with a clock that ticks every 1 to 10 ms: a file written that shortly before it was read
# may be written again without its signature changing.
_CLOCK_TICK_NS = 20_000_000

WORTH_PACKING = 500
"""Files from which on a snapshot writes its objects into one file: saves 0.1 ms per file."""

WORTH_BORROWING = 5_000
"""Files from which on git's index is read: copying them would take seconds."""

# A tree has room for ids of this length only.
_SHA1_DIGITS = 40


class Snapshots:
    """The states of one workspace. Blocking; safe from several threads (one operation at a time).

    The user's repository is only read: its index, refs, stash and reflog are never touched. Ignored files are
    left out (unless tracked, or visible in an earlier snapshot of this object), other repositories inside are
    recorded by their commit and not entered (unless they were plain folders then).

    root: the workspace, a git repository or not
    store: a folder of Patchwright's, made when needed, 0700; sessions of the same workspace may share it
    watch_from: number of files from which on the kernel is asked to report changes
    pack_from: number of files from which on the objects of one snapshot become one file
    borrow_from: number of changed files from which on those that git has are not copied before they change
    """

    def __init__(
        self,
        root: Path,
        store: Path,
        *,
        watch_from: int = WORTH_WATCHING,
        pack_from: int = WORTH_PACKING,
        borrow_from: int = WORTH_BORROWING,
    ) -> None:
        self.root = root
        self._git = GitObjects(root)
        self._store = Store(store, self._git.read_blobs)
        self._walker = Walker(root, store, watch_from, self._git.count_tracked)
        self._pack_from, self._borrow_from = pack_from, borrow_from
        self._tracked = NOTHING
        self._written: set[str] = set()
        self._turn = threading.Lock()
        self._reset()

    def take(self) -> str:
        """Record the workspace and return the snapshot's id; nothing new is stored if nothing changed."""
        with self._turn:
            return self._take()

    def list_changes(self, old: str, new: str) -> list[Change]:
        """Return every path that changed between two snapshots, sorted, except those that merely became visible."""
        return compute_changes(View.load(self._store, old), View.load(self._store, new))

    def list_newly_visible(self, old: str, new: str) -> set[str]:
        """Return paths that merely became visible between them: their earlier changes are unknown."""
        return find_newly_visible(View.load(self._store, old), View.load(self._store, new))

    def narrow_snapshot(self, before: str, after: str, written: Mapping[str, bytes | None]) -> str:
        """Return the snapshot `before` with only the written files changed; other changes in `after` are left out.

        written: content by path, None for a removed file
        """
        with self._turn:
            return self._write_narrowed(before, after, written)

    def take_within(
        self,
        before: str,
        moments: Moments,
        *,
        only: Collection[str] | None = None,
        surely: Collection[str] = (),
    ) -> str:
        """Return the snapshot `before` with only the changes certainly made within some moments (change_times.py).

        only: paths to consider, None for all; surely: those of them already known to have changed then
        """
        with self._turn:
            now = self._take()
            old = View.load(self._store, before)
            changes = compute_changes(old, View.load(self._store, now))
            may = [change for change in changes if only is None or change.path in only]
            return self._write_narrowed(before, now, find_writes_within(self.root, old, may, moments, surely))

    def read_content(self, state: State) -> bytes | None:
        """Return the bytes of a file in that state (a link's target), None if they were not kept."""
        return self._store.read(state.id) if state.is_kept else None

    def find_state(self, snapshot: str, path: str) -> State | None:
        """Return the state of `path` in a snapshot, None if there was no file."""
        view = View.load(self._store, snapshot)
        return view.build_state(path, view.find_entry(path))

    def cover(self, spans: Sequence[tuple[str, str]]) -> None:
        """Record every path that changed in these spans from now on, whatever the present rules say."""
        with self._turn:
            self._store.open()
            if not self._last:
                self._load_cache()
            views = [tuple(View.load(self._store, each) for each in span) for span in spans]
            paths = {change.path for old, new in views for change in compute_covered_changes(old, new)}
            self._walker.cover(paths)
            self._written |= paths

    def find_unseen(self, paths: Iterable[str]) -> set[str]:
        """Return the paths of whose content the last snapshot of this process has no record."""
        named = set(paths)
        large = {path for path in named - self._written if path in self._left_out}
        return self._walker.find_unseen(named) | large

    def cover_paths(self, paths: Iterable[str]) -> None:
        """Record these files from the next snapshot on, ignored or large: they are about to be written."""
        with self._turn:
            named = set(paths)
            self._walker.request_paths(named)
            self._due |= named - self._written
            self._written |= named

    def revert(self, spans: Sequence[tuple[str, str]]) -> RestoreResult:
        """Revert the changes of some spans of time, and no changes between and since.

        A file that is still as after the last of them goes back to its earlier bytes and mode. One that was
        changed meanwhile is merged, three ways, by lines. Where that is impossible, it is a clash: it is left
        alone, and all others go back. Files that did not change in the spans are never touched. The operation
        is idempotent.

        spans: (snapshot before, snapshot after) of each, the oldest first
        """
        return self._revert(spans, merge=True)

    def revert_unchanged(self, spans: Sequence[tuple[str, str]]) -> RestoreResult:
        """Revert like `revert`, but leave every file that changed since the last of the spans entirely alone."""
        return self._revert(spans, merge=False)

    def prune(self, keep: Sequence[str]) -> int:
        """Delete objects that only snapshots outside `keep` need. Returns the number of objects deleted, 0
        while another process uses the store."""
        with self._turn:
            stat_cache.delete_cache(self._store.folder)
            removed = self._store.prune(keep)
            self._reset()
            return removed

    @property
    def is_damaged(self) -> bool:
        """Whether an existing object could not be read, since the start or the last repair."""
        return self._store.damaged

    def drop_damaged(self) -> int:
        """Delete the unreadable objects: the next snapshot stores those again that the workspace still has.

        Reads the whole store. Returns the number deleted.
        """
        with self._turn:
            stat_cache.delete_cache(self._store.folder)
            removed = self._store.drop_damaged()
            self._reset()
            return removed

    @property
    def omitted_paths(self) -> Mapping[str, str]:
        """Paths that the last snapshot could not keep, and why."""
        return self._left_out

    def close(self) -> None:
        """Let other processes prune the store; the knowledge of the workspace is cached for the next one."""
        if self._turn.acquire(timeout=0.1):  # else an interrupted thread is at work, and the process ends
            try:
                if self._news:
                    self._save_cache()
                self._store.close()
                self._reset()
            finally:
                self._turn.release()

    def _write_narrowed(self, before: str, after: str, written: Mapping[str, bytes | None]) -> str:
        from sandbox.snapshots.partial_snapshot import build_partial_view

        old, new = View.load(self._store, before), View.load(self._store, after)
        if not written:
            return before
        if (found := build_partial_view(old, new, written)) is None:
            return after
        extra = self._store.write("blob", found.extra.encode())
        return self._store.write_tree({"extra": (GIT_FILE, extra), "files": (GIT_TREE, found.tree)})

    def _revert(self, spans: Sequence[tuple[str, str]], *, merge: bool) -> RestoreResult:
        with self._turn:
            self._store.open()
            found = [Span.from_views(*(View.load(self._store, each) for each in span)) for span in spans]
            return revert_spans(self.root, self._store, found, merge=merge)

    def _reset(self) -> None:
        self._walker.reset()
        self._news = False
        self._last = ""
        self._scan: Scan | None = None
        self._seen: dict[str, Signature] = {}
        self._unsure: set[str] = set()
        self._due: set[str] = set()
        self._nested: dict[str, str] = {}
        self._walked: dict[str, int] = {}
        self._folders: dict[str, dict[str, Entry]] = {"": {}}
        self._dirty: set[str] = set()
        self._replaced: list[str] = []
        self._tree = EMPTY_TREE
        self._extra = SnapshotMetadata()
        self._left_out: dict[str, str] = {}

    def _save_cache(self) -> None:
        seen, names = self._seen, self._walker.export_state()
        facts = (str(self.root), self._last, seen, sorted(self._unsure), self._nested, self._walked)
        rest = (self._folders, self._tree, self._extra.encode(), self._left_out)
        stat_cache.save_cache(self._store.folder, (*facts, *rest, names))
        self._news = False

    def _load_cache(self) -> None:
        """Take over the cache of the last process, if its snapshot still exists."""
        facts = stat_cache.load_cache(self._store.folder)
        if facts is None or facts[0] != str(self.root) or not self._store.has(facts[1]):
            return
        _, last, seen, unsure, nested, walked, folders, tree, extra, left_out, names = facts
        self._last, self._seen, self._unsure = str(last), seen, set(unsure)
        self._nested, self._walked, self._tree = nested, walked, str(tree)
        self._folders, self._left_out = folders, left_out
        self._extra = SnapshotMetadata.decode(extra)
        self._walker.restore_state(names, len(seen))

    def _take(self) -> str:
        self._store.open()
        if not self._last:
            self._load_cache()
        try:
            return self._record_workspace()
        finally:
            self._walker.finish()

    def _record_workspace(self) -> str:
        started = time.time_ns()
        scan = self._walker.scan()
        due, self._due = self._due & self._left_out.keys(), set()
        if scan is self._scan and not self._unsure and not due:
            return self._last
        found = (scan.files, scan.nested, collect_folder_modes(scan))
        same = found == (self._seen, self._nested, self._walked) and scan.hidden == self._extra.hidden
        if self._last and not self._unsure and not due and same:
            self._seen = scan.files  # the same object compares faster the next time
            self._scan = scan
            return self._last
        seen, unsure = self._seen, self._unsure | due
        changed = [path for path, sign in scan.files.items() if seen.get(path) != sign or path in unsure]
        # Many files at once, as in a new tree or on another branch.
        self._tracked = self._git.read_tracked(scan.files) if len(changed) >= self._borrow_from else NOTHING
        with self._store.pack_writes() if len(changed) >= self._pack_from else nullcontext():
            self._record_scan(scan, changed)
            self._tree = self._write_folders()
        self._tracked = NOTHING
        earlier = self._extra if self._last else None
        self._extra = build_metadata(self.root, scan, earlier, self._folders.keys(), self._left_out)
        extra = self._store.write("blob", self._extra.encode())
        self._last = self._store.write_tree({"extra": (GIT_FILE, extra), "files": (GIT_TREE, self._tree)})
        self._seen, self._nested, self._walked = found
        self._scan = scan
        self._news = True
        self._unsure = {path for path, sign in scan.files.items() if sign[3] >= started - _CLOCK_TICK_NS}
        return self._last

    def _record_scan(self, scan: Scan, changed: Iterable[str]) -> None:
        """Update the in-memory folders to the scan, storing the content of changed files."""
        self._left_out = {path: reason for path, reason in self._left_out.items() if path in scan.files}
        self._left_out.update((path, "the folder cannot be read") for path in scan.unreadable)
        for path in (*(self._seen.keys() - scan.files.keys()), *(self._nested.keys() - scan.nested.keys())):
            self._set_entry(path, None)
        for path in changed:
            self._set_entry(path, self._store_file(path, scan.files[path]))
        self._store.adopt(self._replaced)  # git may drop what its index does not name any more
        self._replaced = []
        for path, commit in scan.nested.items():
            if len(commit) != _SHA1_DIGITS:
                self._left_out[path] = "a nested repository without a commit"
            self._set_entry(path, (GIT_NESTED, commit if len(commit) == _SHA1_DIGITS else UNBORN))

    def _store_file(self, path: str, signature: Signature) -> Entry | None:
        """Store one file's content; return None, with a note, if it is unavailable."""
        # A file that could not be read before the session's first look is left alone, others are opened for it.
        may_unseal = bool(self._last) and path not in self._left_out
        self._left_out.pop(path, None)
        if not (stat.S_ISREG(signature[0]) or stat.S_ISLNK(signature[0])):
            return None
        most = MAX_WRITTEN_SIZE if path in self._written else MAX_FILE_SIZE
        if stat.S_ISREG(signature[0]) and signature[1] > most:
            self._left_out[path] = f"larger than {most // 1_000_000} MB"
            return None
        if (blob := self._tracked.clean.get(path)) is not None:
            return to_git_mode(signature[0]), blob
        try:
            content = read_file_or_link(f"{self.root}/{path}", signature[0], unseal=may_unseal, most=most)
        except OSError as error:  # not readable, or gone since the walk: there is nothing to keep
            self._left_out[path] = (error.strerror or "cannot be read").lower()
            return None
        blob = self._tracked.others.get(path)
        if blob is not None and compute_object_id("blob", content) == blob:
            return to_git_mode(signature[0]), blob
        return to_git_mode(signature[0]), self._store.write("blob", content)

    def _set_entry(self, path: str, entry: Entry | None) -> None:
        folder, _, name = path.rpartition("/")
        entries = self._folders.setdefault(folder, {})
        if entries.get(name) == entry:
            return
        self._dirty.add(folder)
        if (old := entries.get(name)) is not None and old[0] not in (GIT_TREE, GIT_NESTED):
            self._replaced.append(old[1])
        if entry is not None:
            entries[name] = entry
        elif entries[name][0] != GIT_TREE:  # else a folder took the file's place
            del entries[name]

    def _write_folders(self) -> str:
        """Store the trees of changed folders, deepest first; one without files disappears from its parent."""
        self._dirty.discard("")
        waiting = [(-path.count("/"), path) for path in self._dirty]
        heapq.heapify(waiting)
        while waiting:
            _, path = heapq.heappop(waiting)
            folder, _, name = path.rpartition("/")
            parent = self._folders.setdefault(folder, {})
            if folder and folder not in self._dirty:
                self._dirty.add(folder)
                heapq.heappush(waiting, (-folder.count("/"), folder))
            if entries := self._folders.get(path):
                parent[name] = (GIT_TREE, self._store.write_tree(entries))
                continue
            self._folders.pop(path, None)
            if parent.get(name, (0, ""))[0] == GIT_TREE:  # else a file took the folder's place
                del parent[name]
        self._dirty.clear()
        return self._store.write_tree(self._folders[""])
