"""Scan a workspace for files and their stat signatures, by scandir, with git's ignore rules cached."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sandbox.errors import Fault, UserError
from sandbox.fs.repository import find_common_dir, find_git_dir, find_root, read_head_commit
from sandbox.process.git_runner import NO_USER_SETTINGS, GitRunner
from sandbox.snapshots.folder_watch import FolderChanges, Watch

Signature = tuple[int, int, int, int, int]
"""st_mode, st_size, st_mtime_ns, st_ctime_ns, st_ino: any change of a file's bytes or mode changes it."""

# More means a home folder or a disk, opened by mistake: report it before minutes pass.
MAX_FILES = 200_000


@dataclass(slots=True, kw_only=True)
class Scan:
    """Result of one walk; paths are relative to the workspace.

    files: regular files and symbolic links
    nested: other repositories inside, by their checked-out commit ("" if there is none yet)
    folders: every folder entered, the workspace itself ("") included
    modes: permission bits of folders, by path
    unreadable: folders that could not be listed
    linked: files with several names: one outside the workspace may be the one written through
    """

    files: dict[str, Signature] = field(default_factory=dict)
    nested: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)


WORTH_WATCHING = 2_000
"""Files from which on the kernel is asked to report changes: fewer are scanned in some 15 ms."""


class Walker:
    """Repeated walks of one workspace; only names never seen before cost a call of git."""

    def __init__(self, root: Path, store: Path, watch_from: int = WORTH_WATCHING) -> None:
        self._root = str(root)
        self._watch = Watch(root)
        self._watch_from = watch_from
        self._last: Scan | None = None
        self._expected = 0
        self._store = store
        self._hidden = _locate_store(store, root)
        self._ignored: dict[str, bool] = {}
        self._rules: dict[str, Signature] | None = None
        self._index: Signature | None = None
        self._forced: list[str] = []

    def scan(self) -> Scan:
        """Return all files; only changes since the last scan are read, where the kernel reports them.

        A scan without changes returns the same object as the last one.
        """
        happened = self._watch.read_changes() if self._last is not None else None
        if happened is None or self._last is None:
            found = self._scan_all()
        elif not happened:
            found = self._check_unwatched(self._last)
        else:
            found = self._scan_touched(self._last, happened)
        self._last = found
        return found

    def reset(self) -> None:
        """Scan everything the next time."""
        self._watch.stop()
        self._last = None

    def export_state(self) -> tuple[Any, ...]:
        """Return the known names and rules, for `restore_state` in another process."""
        return self._ignored, self._rules, self._index, self._forced

    def restore_state(self, state: tuple[Any, ...], expected: int) -> None:
        """Take over the state of another process. expected: number of files"""
        self._ignored, self._rules, self._index, self._forced = state
        self._expected = expected

    def _scan_all(self) -> Scan:
        """Walk once. When an ignore rule has changed, all names are checked again."""
        number = self._expected if self._last is None else len(self._last.files)
        if number >= self._watch_from:
            self._watch.start()
        found = self._walk_folders()
        rules = self._collect_ignore_rules(found)
        if rules != self._rules:
            if self._rules is not None:
                self._ignored.clear()
                found = self._walk_folders()
                rules = self._collect_ignore_rules(found)
            self._rules, self._index = rules, None
        self._add_tracked_ignored(found)
        if len(self._ignored) > 2 * (len(found.files) + len(found.folders)) + 10_000:  # mostly gone names
            self._rules = None
            self._ignored.clear()
        return found

    def _check_unwatched(self, last: Scan) -> Scan:
        """Check changes that are not reported: rules, the index, other repositories, and files that are
        tracked in ignored folders, or written by another of their names."""
        exclude = self._find_exclude_file()
        if (self._rules or {}).get(str(exclude)) != _read_signature(exclude):
            return self._scan_all()
        before = self._forced
        elsewhere = Scan()
        self._add_tracked_ignored(elsewhere)
        gone = [path for path in before if path in last.files and path not in elsewhere.files]
        changed = elsewhere.files
        for path in last.linked:
            if (sign := _read_signature(Path(self._root, path))) is not None:
                changed[path] = sign
        nested = {path: read_head_commit(Path(self._root, path)) for path in last.nested}
        if (
            not gone
            and nested == last.nested
            and all(last.files.get(p) == sign for p, sign in changed.items())
        ):
            return last
        files = {**last.files, **changed}
        for path in gone:
            del files[path]
        return replace(last, files=files, nested=nested)

    def _scan_touched(self, last: Scan, happened: FolderChanges) -> Scan:
        """Rescan the folders that were touched, and all of those that came or moved."""
        touched, anew = happened.touched & set(last.folders), happened.anew
        below = tuple(f"{path}/" for path in anew)

        def is_unaffected(path: str) -> bool:
            return path not in anew and not path.startswith(below)

        kept = {path for path in (*last.folders, *last.nested) if is_unaffected(path)}
        found = self._walk_folders([path for path in touched if path in kept], kept)
        files = {
            path: sign
            for path, sign in last.files.items()
            if path.rpartition("/")[0] not in touched and (not below or is_unaffected(path))
        }
        files.update(found.files)
        before, after = last.files.keys(), files.keys()
        rules = [path for path in (before ^ after) | found.files.keys() if path.endswith(".gitignore")]
        if any(last.files.get(path) != files.get(path) for path in rules):
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
        )
        return self._check_unwatched(merged)

    def find_ignored(self, paths: list[str]) -> set[str]:
        """Return those of the paths that a rule ignores, whether they exist or not."""
        return self._run_git("check-ignore", "-z", "--stdin", "--no-index", paths=paths)

    def _walk_folders(self, start: Sequence[str] = ("",), known: Collection[str] = ()) -> Scan:
        """Walk folders level by level. known: folders that are not entered, because they are unchanged"""
        found = Scan()
        level = list(start)
        while level:
            unknown: list[tuple[str, Signature]] = []
            below: list[str] = []
            for folder in level:
                self._list_folder(folder, found, below, unknown)
            for path, signature in self._filter_ignored(unknown):
                _add_to_scan(path, signature, found, below)
            if len(found.files) > MAX_FILES:
                message = f"{self._root!r} holds more than {MAX_FILES:,} files: too many to keep for undo"
                hint = "Start in a sub-folder with -C, or list generated files in .gitignore."
                raise UserError(Fault.USAGE, message, hint)
            level = [path for path in below if path not in known]
        found.linked = [path for path in found.linked if path in found.files]
        return found

    def _list_folder(
        self, folder: str, found: Scan, below: list[str], unknown: list[tuple[str, Signature]]
    ) -> None:
        self._watch.add(folder)  # before it is listed, so that no change is missed
        try:
            with os.scandir(f"{self._root}/{folder}") as listing:
                entries = list(listing)
            if not folder:
                found.modes[""] = stat.S_IMODE(os.stat(self._root).st_mode)  # noqa: PTH116
        except OSError:  # removed meanwhile, or not readable: there is nothing to save in it
            if folder:
                found.unreadable.append(folder)
                return
            raise UserError(Fault.READ_ONLY, f"the folder {self._root!r} cannot be read") from None
        names = [entry.name for entry in entries]
        if folder and ".git" in names and self._record_if_nested(folder, found):
            return
        found.folders.append(folder)
        prefix = folder + "/" if folder else ""
        ignored, files, is_file = self._ignored, found.files, stat.S_ISREG
        for name, entry in zip(names, entries, strict=True):
            # A rule may be for folders alone: a folder is checked separately from a file of its name.
            path = prefix + name
            judged = ignored.get(path + "/" if entry.is_dir(follow_symlinks=False) else path)
            if judged or name == ".git":
                continue
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:  # removed between listing and stat: as if never seen
                continue
            signature = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
            if info.st_nlink > 1 and is_file(info.st_mode):
                found.linked.append(path)
            if judged is None:
                unknown.append((path, signature))
            elif is_file(info.st_mode):
                files[path] = signature
            else:
                _add_to_scan(path, signature, found, below)

    def _record_if_nested(self, folder: str, found: Scan) -> bool:
        path = Path(self._root, folder)
        if find_git_dir(path) is None:
            return False
        found.nested[folder] = read_head_commit(path)
        return True

    def _filter_ignored(self, unknown: list[tuple[str, Signature]]) -> list[tuple[str, Signature]]:
        """Ask git once about all new names; return those to keep."""
        if not unknown:
            return []
        names = [path for path, _ in unknown]
        ignored = self.find_ignored(names)
        if self._hidden:
            ignored.add(self._hidden)
        for path, signature in unknown:
            self._ignored[path + "/" if stat.S_ISDIR(signature[0]) else path] = path in ignored
        return [(path, signature) for path, signature in unknown if path not in ignored]

    def _collect_ignore_rules(self, found: Scan) -> dict[str, Signature]:
        rules = {path: sign for path, sign in found.files.items() if path.endswith(".gitignore")}
        exclude = self._find_exclude_file()
        signature = _read_signature(exclude)
        return rules if signature is None else {**rules, str(exclude): signature}

    def _find_exclude_file(self) -> Path:
        repository = find_root(Path(self._root))
        folder = find_git_dir(repository) if repository else None
        return find_common_dir(folder) / "info" / "exclude" if folder else Path(os.devnull)

    def _add_tracked_ignored(self, found: Scan) -> None:
        """Add files under version control: they are the user's work even if a rule would ignore them."""
        repository = find_root(Path(self._root))
        folder = find_git_dir(repository) if repository else None
        if repository is None or folder is None:
            return
        index = _read_signature(folder / "index")
        if index != self._index:
            places = {"GIT_DIR": str(folder), "GIT_WORK_TREE": str(repository)}
            listed = self._run_git(
                "ls-files", "-z", "--cached", "--ignored", "--exclude-standard", places=places
            )
            self._index, self._forced = index, sorted(listed)
        for path in self._forced:
            signature = _read_signature(Path(self._root, path))
            # Behind a symbolic link is another folder's file.
            if signature is not None and _has_no_links(path.rpartition("/")[0], self._root):
                _add_to_scan(path, signature, found, [])

    def _run_git(
        self, *arguments: str, paths: list[str] | None = None, places: Mapping[str, str] | None = None
    ) -> set[str]:
        environment = {
            "LC_ALL": "C",
            **NO_USER_SETTINGS,
            "GIT_DIR": str(self._store),
            "GIT_WORK_TREE": self._root,
            **(places or {}),
        }
        # "./", since a leading colon would be read as pathspec magic.
        question = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths or ())
        root, excluded = Path(self._root), f"core.excludesFile={self._find_exclude_file()}"
        try:
            done = GitRunner(root, environment, workspace=root).run(
                "-c", excluded, *arguments, stdin=question
            )
        except UserError as error:
            message = f"{error.message}, and undo needs it to know which files are ignored"
            raise UserError(error.fault, message, error.hint) from None
        if done.returncode not in (0, 1):  # 1: none of the paths is ignored
            reason = done.stderr.strip()
            message = f"git could not read the ignore rules of {self._root!r}: {reason}"
            raise UserError(Fault.CONFIGURATION, message)
        return {os.fsdecode(name.removeprefix(b"./")) for name in done.stdout.split(b"\0") if name}


def _add_to_scan(path: str, signature: Signature, found: Scan, below: list[str]) -> None:
    kind = stat.S_IFMT(signature[0])
    if kind == stat.S_IFDIR:
        below.append(path)
        found.modes[path] = stat.S_IMODE(signature[0])
    elif kind in (stat.S_IFREG, stat.S_IFLNK):  # sockets, pipes and devices have no content to keep
        found.files[path] = signature


def _locate_store(store: Path, root: Path) -> str:
    """Return the path of the store relative to the workspace, "" if it is outside."""
    try:
        return store.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:  # outside, as it should be
        return ""


def _read_signature(path: Path) -> Signature | None:
    try:
        info = path.lstat()
    except OSError:  # missing
        return None
    return (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


def _has_no_links(folder: str, root: str) -> bool:
    place = os.path.join(os.path.realpath(root), folder)  # noqa: PTH118
    # not Path.resolve, which gives up at a link to itself
    return os.path.realpath(place) == place.rstrip("/")
