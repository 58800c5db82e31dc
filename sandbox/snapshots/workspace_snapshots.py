"""Snapshots of a workspace in a private store of git objects: the changes between two, and undoing them."""

from __future__ import annotations

import heapq
import stat
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from sandbox.fs.placeholders import is_placeholder
from sandbox.fs.protected_paths import HELD
from sandbox.snapshots import stat_cache
from sandbox.snapshots.change_times import Moments, find_writes_within
from sandbox.snapshots.newly_visible import (
    compute_changes,
    compute_covered_changes,
    find_newly_visible,
)
from sandbox.snapshots.object_store import EMPTY_TREE, Entry, LostObjectError, Store
from sandbox.snapshots.partial_snapshot import build_partial_view
from sandbox.snapshots.path_state import (
    GIT_FILE,
    GIT_NESTED,
    GIT_TREE,
    UNBORN,
    Change,
    SnapshotMetadata,
    State,
    format_special_mark,
    to_git_mode,
)
from sandbox.snapshots.restore import RestoreResult, Span, revert_spans
from sandbox.snapshots.snapshot_view import View
from sandbox.snapshots.working_tree import MAX_FILE_SIZE, format_large_mark, read_file_or_link
from sandbox.snapshots.workspace_scan import WORTH_WATCHING, Scan, Signature, Walker

__all__ = ["Change", "LostObjectError", "RestoreResult", "Snapshots", "State"]

# Kernels stamp files with a clock that ticks every 1 to 10 ms: a file written that shortly before it was read
# may be written again without its signature changing.
_CLOCK_TICK_NS = 20_000_000

WORTH_PACKING = 500
"""Files from which on a snapshot writes its objects into one file: saves 0.1 ms per file."""

_WITH_CONTENT = (stat.S_IFREG >> 12, stat.S_IFLNK >> 12)
"""Types of files whose content is kept."""

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
    """

    def __init__(
        self, root: Path, store: Path, *, watch_from: int = WORTH_WATCHING, pack_from: int = WORTH_PACKING
    ) -> None:
        self._root = root
        self._store = Store(store)
        self._walker = Walker(root, store, watch_from)
        self._pack_from = pack_from
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
            return self._write_narrowed(
                before, now, find_writes_within(self._root, old, may, moments, surely)
            )

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
            self._walker.cover(
                change.path for old, new in views for change in compute_covered_changes(old, new)
            )

    def find_unseen(self, paths: Iterable[str]) -> set[str]:
        """Return the paths that the last snapshot of this process has no record of."""
        return self._walker.find_unseen(paths)

    def cover_paths(self, paths: Iterable[str]) -> None:
        """Record these files from the next snapshot on, also if they are ignored: they are about to be written."""
        with self._turn:
            self._walker.request_paths(paths)

    def restore(self, before: str, after: str) -> RestoreResult:
        """Revert one span, but leave every file changed since then entirely alone."""
        return self._revert([(before, after)], merge=False)

    def revert(self, spans: Sequence[tuple[str, str]]) -> RestoreResult:
        """Revert the changes of some spans of time, and no changes between and since.

        A file that is still as after the last of them goes back to its earlier bytes and mode. One that was
        changed meanwhile is merged, three ways, by lines. Where that is impossible, it is a clash: it is left
        alone, and all others go back. Files that did not change in the spans are never touched. The operation
        is idempotent.

        spans: (snapshot before, snapshot after) of each, the oldest first
        """
        return self._revert(spans, merge=True)

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
        if self._turn.acquire(timeout=0.2):  # else an interrupted thread is at work, and the process ends
            if self._news:
                self._save_cache()
            self._store.close()
            self._reset()
            self._turn.release()

    def _write_narrowed(self, before: str, after: str, written: Mapping[str, bytes | None]) -> str:
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
            return revert_spans(self._root, self._store, found, merge=merge)

    def _reset(self) -> None:
        self._walker.reset()
        self._news = False
        self._last = ""
        self._scan: Scan | None = None
        self._seen: dict[str, Signature] = {}
        self._unsure: set[str] = set()
        self._nested: dict[str, str] = {}
        self._walked: dict[str, int] = {}
        self._folders: dict[str, dict[str, Entry]] = {"": {}}
        self._dirty: set[str] = set()
        self._tree = EMPTY_TREE
        self._extra = SnapshotMetadata()
        self._left_out: dict[str, str] = {}

    def _save_cache(self) -> None:
        seen, names = self._seen, self._walker.export_state()
        facts = (str(self._root), self._last, seen, sorted(self._unsure), self._nested, self._walked)
        rest = (self._folders, self._tree, self._extra.encode(), self._left_out)
        stat_cache.save_cache(self._store.folder, (*facts, *rest, names))
        self._news = False

    def _load_cache(self) -> None:
        """Take over the cache of the last process, if its snapshot still exists."""
        facts = stat_cache.load_cache(self._store.folder)
        if facts is None or facts[0] != str(self._root) or not self._store.has(facts[1]):
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
        if scan is self._scan and not self._unsure:
            return self._last
        found = (scan.files, scan.nested, _collect_folder_modes(scan))
        same = found == (self._seen, self._nested, self._walked) and scan.hidden == self._extra.hidden
        if self._last and not self._unsure and same:
            self._seen = scan.files  # the same object compares faster the next time
            self._scan = scan
            return self._last
        with self._open_write_context(scan):
            self._record_scan(scan)
            self._tree = self._write_folders()
        self._extra = self._build_metadata(scan)
        extra = self._store.write("blob", self._extra.encode())
        self._last = self._store.write_tree({"extra": (GIT_FILE, extra), "files": (GIT_TREE, self._tree)})
        self._seen, self._nested, self._walked = found
        self._scan = scan
        self._news = True
        self._unsure = {path for path, sign in scan.files.items() if sign[3] >= started - _CLOCK_TICK_NS}
        return self._last

    def _open_write_context(self, scan: Scan) -> AbstractContextManager[None]:
        """Write a pack if many files changed, as in a new tree or on another branch: one file is faster to write."""
        seen = self._seen
        changed = sum(seen.get(path) != signature for path, signature in scan.files.items())
        return self._store.pack_writes() if changed >= self._pack_from else nullcontext()

    def _record_scan(self, scan: Scan) -> None:
        """Update the in-memory folders to the scan, storing the content of changed files."""
        self._left_out = {path: reason for path, reason in self._left_out.items() if path in scan.files}
        self._left_out.update((path, "the folder cannot be read") for path in scan.unreadable)
        for path in (*(self._seen.keys() - scan.files.keys()), *(self._nested.keys() - scan.nested.keys())):
            self._set_entry(path, None)
        for path, signature in scan.files.items():
            if self._seen.get(path) != signature or path in self._unsure:
                self._set_entry(path, self._store_file(path, signature))
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
        if stat.S_ISREG(signature[0]) and signature[1] > MAX_FILE_SIZE:
            self._left_out[path] = f"larger than {MAX_FILE_SIZE // 1_000_000} MB"
            return None
        try:
            content = read_file_or_link(f"{self._root}/{path}", signature[0], unseal=may_unseal)
        except OSError as error:  # not readable, or gone since the walk: there is nothing to keep
            self._left_out[path] = (error.strerror or "cannot be read").lower()
            return None
        return to_git_mode(signature[0]), self._store.write("blob", content)

    def _set_entry(self, path: str, entry: Entry | None) -> None:
        folder, _, name = path.rpartition("/")
        entries = self._folders.setdefault(folder, {})
        if entries.get(name) == entry:
            return
        self._dirty.add(folder)
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

    def _build_metadata(self, scan: Scan) -> SnapshotMetadata:
        large = {
            path: (stat.S_IMODE(sign[0]), format_large_mark(sign[1], sign[2]))
            for path, sign in scan.files.items()
            if sign[1] > MAX_FILE_SIZE and stat.S_ISREG(sign[0])
        }
        files = scan.files.items()
        plain = {path: sign[0] for path, sign in files if stat.S_ISREG(sign[0]) and path not in large}
        usual = self._extra.usual if self._last else _find_common_modes(plain.values())
        held = self._find_placeholders()
        folders = {path: mode for path, mode in _collect_folder_modes(scan).items() if path not in held}
        folder = self._extra.folder or Counter(folders.values()).most_common(1)[0][0]
        return SnapshotMetadata(
            usual=usual,
            modes={
                path: stat.S_IMODE(mode)
                for path, mode in plain.items()
                if stat.S_IMODE(mode) != usual[bool(mode & stat.S_IXUSR)] and path not in self._left_out
            },
            large=large,
            special=self._find_special(scan),
            hidden=scan.hidden,
            empty=frozenset(folders) - self._folders.keys(),
            folder=folder,
            folders={path: mode for path, mode in folders.items() if mode != folder},
        )

    def _find_special(self, scan: Scan) -> dict[str, tuple[int, str]]:
        special = {path: sign[0] for path, sign in scan.files.items() if sign[0] >> 12 not in _WITH_CONTENT}
        found = {}
        for path, mode in special.items():
            device = 0
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                with suppress(OSError):  # gone since the scan
                    device = (self._root / path).lstat().st_rdev
            found[path] = mode, format_special_mark(mode, device)
        return found

    def _find_placeholders(self) -> set[str]:
        """Return placeholder folders: they reserve a path while commands run, and undo has to leave them alone."""
        places = ((name, self._root / name) for name in HELD)
        return {name for name, place in places if is_placeholder(place) or not place.exists()}


def _collect_folder_modes(scan: Scan) -> dict[str, int]:
    """Return the permission bits of every folder that is entered, or would be if it were readable."""
    return {path: scan.modes.get(path, 0) for path in (*scan.folders, *scan.unreadable)}


def _find_common_modes(modes: Iterable[int]) -> tuple[int, int]:
    counts = Counter(stat.S_IMODE(mode) for mode in modes)
    ranked = [mode for mode, _ in counts.most_common()]
    plain = next((mode for mode in ranked if not mode & stat.S_IXUSR), 0o644)
    return plain, next((mode for mode in ranked if mode & stat.S_IXUSR), 0o755)
