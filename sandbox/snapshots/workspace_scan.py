"""Scans of a workspace: what is visible under the ignore rules, and what undo has to cover under earlier ones."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.fs.repository import find_git_folders, read_head_commit
from sandbox.snapshots.coverage.folder_walk import FolderWalk, Scan, Signature, read_signature
from sandbox.snapshots.coverage.ignore_rules import IgnoreRules, list_outer_rule_files
from sandbox.snapshots.folder_watch import FolderChanges, Watch

__all__ = ["WORTH_WATCHING", "Scan", "Signature", "Walker"]

WORTH_WATCHING = 2_000
"""Files from which on the kernel is asked to report changes: fewer are scanned in some 15 ms."""

MOST_COVERED = 20_000
"""Paths covered though the present rules ignore them. Each costs a stat per snapshot; the first scan's come first."""


class Walker:
    """Repeated scans of one workspace.

    A path that was visible in an earlier scan of this process stays covered when a rule comes to ignore it, and
    when its folder becomes a repository: otherwise a command could put files out of undo's reach, and then
    overwrite them. A new process begins under the rules that it finds.
    """

    def __init__(
        self,
        root: Path,
        store: Path,
        watch_from: int = WORTH_WATCHING,
        count_tracked: Callable[[], int] = lambda: 0,
    ) -> None:
        self._root = str(root)
        self._watch = Watch(root)
        self._watch_from, self._count_tracked = watch_from, count_tracked
        self._last: Scan | None = None
        self._expected = 0
        self._judge = IgnoreRules(root, store)
        hidden = _locate_store(store, root)
        self._walk = FolderWalk(self._root, hidden, self._watch, self._judge, count_tracked)
        self._rules: dict[str, Signature] | None = None
        self._index: Signature | None = None
        self._forced: list[str] = []
        self._first: Collection[str] | None = None
        self._gone: set[str] = set()
        self._covered: set[str] = set()
        self._requested: set[str] = set()

    def scan(self) -> Scan:
        """Return all files; only changes since the last scan are read, where the kernel reports them.

        A scan without changes returns the same object as the last one. Folders that had to be opened for it
        stay open until `finish`.
        """
        happened = self._watch.read_changes() if self._last is not None else None
        self._walk.fresh = []
        if happened is None or self._last is None:
            found = self._scan_all()
        elif not happened:
            found = self._check_unwatched(self._last)
        else:
            found = self._scan_touched(self._last, happened)
        if self._requested and self._cover_requested(found):
            self._watch.stop()
            found = self._scan_all()
        if found is not self._last:
            if self._last is not None:
                self._gone |= self._last.files.keys() - found.files.keys()
            if self._first is None:
                self._first = found.files.keys()
            self._walk.entered, self._walk.sealed = set(found.folders), set(found.unreadable)
            self._last = found
        return found

    def finish(self) -> None:
        """End a scan, when the files that it found have been read."""
        self._walk.reseal()

    def cover(self, paths: Iterable[str]) -> None:
        """Cover these paths from the next scan on, also those that the present rules ignore."""
        new = set(paths) - self._covered
        if not new:
            return
        if self._last is None:
            self.scan()
        self._covered |= self._judge.find_ignored(new, self._walk.get_rules())
        self._walk.held |= _list_held(new)
        self._watch.stop()  # so that the next scan looks at everything

    def find_unseen(self, paths: Iterable[str]) -> set[str]:
        """Return the paths that the last scan neither found nor covered."""
        seen = self._last.files if self._last is not None else {}
        return {path for path in paths if path not in seen and path not in self._covered}

    def request_paths(self, paths: Iterable[str]) -> None:
        """Cover these paths from the next scan on, whatever the rules say."""
        self._requested |= self.find_unseen(paths)

    def _cover_requested(self, found: Scan) -> bool:
        """Cover those of the requested paths that the rules ignore; return whether there are any."""
        missing, self._requested = self._requested - found.files.keys(), set()
        ignored = self._walk.ignored
        hits = self._judge.find_ignored(missing - ignored.keys(), self._walk.get_rules())
        ignored.update((path, path in hits) for path in missing - ignored.keys())
        covered = {path for path in missing if ignored[path]}
        self._covered |= covered
        self._walk.held |= _list_held(covered)
        return bool(covered)

    def reset(self) -> None:
        """Scan everything the next time."""
        self._watch.stop()

    def export_state(self) -> tuple[Any, ...]:
        """Return the known names and rules, for `restore_state` in another process."""
        sealed = None if self._walk.sealed is None else sorted(self._walk.sealed)
        return self._walk.ignored, self._rules, self._index, self._forced, sealed

    def restore_state(self, state: tuple[Any, ...], expected: int) -> None:
        """Take over the state of another process. expected: number of files"""
        self._walk.ignored, self._rules, self._index, self._forced, self._walk.sealed = state
        self._expected = expected

    def _scan_all(self) -> Scan:
        """Walk once. When an ignore rule has changed, all names are checked again."""
        # A tree that is new to us is known to be large by git's index: its first scan is watched, and needs no second.
        number = len(self._last.files) if self._last is not None else self._expected or self._count_tracked()
        if number >= self._watch_from:
            self._watch.start()
        walk, past = self._walk, self._walk.get_rules()
        found = self._walk_all()
        rules = self._collect_rules()
        if rules != self._rules:
            if self._rules is not None:
                known = dict(walk.ignored)
                for name in walk.fresh:
                    known.pop(name, None)
                walk.ignored.clear()
                found = self._walk_all()
                rules = self._collect_rules()
                if walk.entered is not None:
                    self._cover_newly_ignored(walk.walk_as_before(past, known), found)
            self._rules, self._index = rules, None
        self._add_unlisted(found)
        if len(walk.ignored) > 2 * (len(found.files) + len(found.folders)) + 10_000:  # mostly gone names
            self._rules = None
            walk.ignored.clear()
        return found

    def _walk_all(self) -> Scan:
        found = self._walk.walk()
        self._drop_stale_rules(set(found.folders))
        return found

    def _drop_stale_rules(self, folders: Collection[str]) -> None:
        """Forget the rules of folders that are gone."""
        rules = self._walk.rules
        for path in [path for path in rules if path.rpartition("/")[0] not in folders]:
            del rules[path]

    def _cover_newly_ignored(self, past: Scan, found: Scan) -> None:
        """Cover the paths that the present rules ignore and an earlier scan, or earlier rules, left visible."""
        last = self._last.files.keys() if self._last else set()
        candidates = (self._covered | past.files.keys() | last | self._gone) - found.files.keys()
        covered = self._judge.find_ignored(candidates, self._walk.get_rules())
        if len(covered) > MOST_COVERED:
            first = self._first or ()
            ranked = sorted(covered, key=lambda path: (path not in first, path))
            covered = set(ranked[:MOST_COVERED])
        self._covered = covered
        self._walk.held |= _list_held(covered)

    def _check_unwatched(self, last: Scan) -> Scan:
        """Check changes that are not reported: rules, the index, other repositories, files that are tracked in
        ignored folders or covered under earlier rules, and files written by another of their names."""
        known, outer = self._rules or {}, list_outer_rule_files(Path(self._root))
        if any(known.get(str(path)) != read_signature(path) for path in outer):
            return self._scan_all()
        before = [*self._forced, *self._covered]
        elsewhere = Scan(folders=list(last.folders), modes=dict(last.modes), turned=last.turned)
        self._add_unlisted(elsewhere, last)
        gone = [path for path in before if path in last.files and path not in elsewhere.files]
        changed = elsewhere.files
        for path in last.linked:
            if (sign := read_signature(f"{self._root}/{path}")) is not None:
                changed[path] = sign
        nested = {path: read_head_commit(Path(self._root, path)) for path in last.nested}
        if (
            not gone
            and (nested, elsewhere.modes, elsewhere.hidden) == (last.nested, last.modes, last.hidden)
            and all(last.files.get(p) == sign for p, sign in changed.items())
        ):
            return last
        files = {**last.files, **changed}
        for path in gone:
            del files[path]
        return replace(
            last,
            files=files,
            nested=nested,
            folders=elsewhere.folders,
            modes=elsewhere.modes,
            hidden=elsewhere.hidden,
        )

    def _scan_touched(self, last: Scan, happened: FolderChanges) -> Scan:
        """Rescan the folders that were touched, and all of those that came or moved."""
        touched, anew = happened.touched & set(last.folders), happened.anew
        below = tuple(f"{path}/" for path in anew)

        def is_unaffected(path: str) -> bool:
            return path not in anew and not path.startswith(below)

        kept = {path for path in (*last.folders, *last.nested) if is_unaffected(path)}
        rules = dict(self._walk.rules)
        found = self._walk.walk([path for path in touched if path in kept], kept)
        files = {
            path: sign
            for path, sign in last.files.items()
            if path.rpartition("/")[0] not in touched and (not below or is_unaffected(path))
        }
        files.update(found.files)
        self._drop_stale_rules(kept.union(found.folders, touched))
        if rules != self._walk.rules:
            self._walk.rules = rules
            return self._scan_all()
        if not set(last.linked).issuperset(found.linked):
            return self._scan_all()  # its other name changed with it, and that is not reported
        folders = dict.fromkeys([*(each for each in last.folders if is_unaffected(each)), *found.folders])
        merged = Scan(
            files=files,
            nested={path: commit for path, commit in last.nested.items() if is_unaffected(path)}
            | found.nested,
            folders=[path for path in folders if path not in found.unreadable],
            modes={path: mode for path, mode in last.modes.items() if is_unaffected(path)} | found.modes,
            unreadable=[each for each in last.unreadable if is_unaffected(each) and each not in touched]
            + found.unreadable,
            linked=[each for each in last.linked if each in files and each not in found.files] + found.linked,
            turned=[each for each in last.turned if each in kept and each not in touched] + found.turned,
            hidden=last.hidden,
        )
        return self._check_unwatched(merged)

    def _collect_rules(self) -> dict[str, Signature]:
        rules = {path: sign for path, (sign, _) in self._walk.rules.items()}
        for path in list_outer_rule_files(Path(self._root)):
            if (signature := read_signature(path)) is not None:
                rules[str(path)] = signature
        return rules

    def _add_unlisted(self, found: Scan, last: Scan | None = None) -> None:
        """Add files that the rules ignore: those under version control, which are the user's work, and those
        that earlier rules left visible. last: the scan that `found` completes, if it is only a part"""
        self._update_tracked()
        for path in self._forced:
            self._add_unlisted_file(path, found)
        if not (self._covered or found.turned):
            return
        visible, before = (found.files, frozenset()) if last is None else (last.files, last.hidden)
        hidden = {path for path in self._covered if path not in visible or path in before}
        for path in sorted(hidden):
            for parent in _list_parents(path):
                self._add_unlisted_folder(parent, found)
            self._add_unlisted_file(path, found)
        if found.turned:
            below = tuple(f"{folder}/" for folder in found.turned)
            hidden |= {path for path in found.files.keys() | visible.keys() if path.startswith(below)}
        found.hidden = frozenset(hidden.difference(self._forced))

    def _update_tracked(self) -> None:
        folders = find_git_folders(Path(self._root))
        index = read_signature(folders[0] / "index") if folders else None
        if index != self._index:
            self._index = index
            self._forced = sorted(self._judge.list_tracked_ignored(self._walk.get_rules())) if index else []

    def _add_unlisted_file(self, path: str, found: Scan) -> None:
        signature = read_signature(f"{self._root}/{path}")
        # Behind a symbolic link is another folder's file.
        if (
            signature is not None
            and not stat.S_ISDIR(signature[0])
            and _has_no_links(path.rpartition("/")[0], self._root)
        ):
            found.files[path] = signature

    def _add_unlisted_folder(self, path: str, found: Scan) -> None:
        """Note the mode of a folder of covered files, and open it if it was closed to us."""
        if path in found.modes:
            return
        signature = read_signature(f"{self._root}/{path}")
        if signature is not None and stat.S_ISDIR(signature[0]):
            found.folders.append(path)
            found.modes[path] = stat.S_IMODE(signature[0])
            self._walk.unseal_folder(path, found.modes[path])


def _list_parents(path: str) -> list[str]:
    """Return the folders on the way to a path, the outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _list_held(paths: Iterable[str]) -> frozenset[str]:
    """Return the folders of these paths, and those that are a repository's `.git`."""
    return frozenset(
        each for path in paths for each in (*_list_parents(path), *([path] * path.endswith("/.git")))
    )


def _locate_store(store: Path, root: Path) -> str:
    """Return the path of the store relative to the workspace, "" if it is outside."""
    try:
        return store.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:  # outside, as it should be
        return ""


def _has_no_links(folder: str, root: str) -> bool:
    place = os.path.join(os.path.realpath(root), folder)  # noqa: PTH118
    # not Path.resolve, which gives up at a link to itself
    return os.path.realpath(place) == place.rstrip("/")
