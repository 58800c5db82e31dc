"""Walk of a workspace's folders by scandir: files that the ignore rules leave visible, with their stat signatures."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.repository import find_git_dir, read_head_commit
from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.coverage.ignore_rules import RULES, IgnoreRules, Rules, read_rules
from sandbox.snapshots.coverage.sealed import FOLDER, Unsealed
from sandbox.snapshots.folder_watch import Watch

Signature = tuple[int, int, int, int, int]
"""st_mode, st_size, st_mtime_ns, st_ctime_ns, st_ino: any change of a file's bytes or mode changes it."""

MAX_FILES = 200_000
"""Files beside those that git has. More means a home folder or a disk, opened by mistake: report it before minutes
pass."""

_LIST_RIGHTS = 0o500
"""Owner's rights to list a folder and to look at its entries."""


@dataclass(slots=True, kw_only=True)
class Scan:
    """Result of one walk; paths are relative to the workspace.

    files: everything that is no folder; the content of pipes, sockets and devices is not kept
    nested: other repositories inside, by their checked-out commit ("" if there is none yet)
    folders: every folder entered, the workspace itself ("") included
    modes: permission bits of folders, by path
    unreadable: folders that could not be listed
    linked: files with several names: one outside the workspace may be the one written through
    turned: folders that became repositories after they had been entered, and are still entered
    hidden: paths covered only because earlier rules left them visible, or because of `turned`
    """

    files: dict[str, Signature] = field(default_factory=dict)
    nested: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    turned: list[str] = field(default_factory=list)
    hidden: frozenset[str] = frozenset()


class FolderWalk:
    """Walks of one workspace; only names never seen before cost a call of git.

    ignored: verdicts under the present rules, by path (a folder's ends with a slash)
    rules: the `.gitignore` files found, with their signatures
    entered: folders of the last scan, None before the first of this process
    sealed: folders that were closed to us at the first scan: they are left alone, others are opened for the scan
    held: covered paths and their folders: these are entered whatever is in them
    fresh: names judged since the scan began
    count_tracked: returns how many files git tracks
    """

    def __init__(
        self, root: str, hidden: str, watch: Watch, judge: IgnoreRules, count_tracked: Callable[[], int]
    ) -> None:
        self.ignored: dict[str, bool] = {}
        self.rules: dict[str, tuple[Signature, bytes]] = {}
        self.entered: Collection[str] | None = None
        self.sealed: Collection[str] | None = None
        self.held: frozenset[str] = frozenset()
        self.fresh: list[str] = []
        self._root = root
        self._hidden = hidden
        self._watch = watch
        self._judge = judge
        self._count_tracked = count_tracked
        self._with_git: set[str] = set()
        self._unsealed = Unsealed()
        self._sealed_modes: dict[str, int] = {}
        self._is_root = os.geteuid() == 0

    def walk(self, start: Sequence[str] = ("",), known: Collection[str] = ()) -> Scan:
        """Walk folders level by level. known: folders that are not entered, because they are unchanged"""
        return self._walk(start, known, None, self.ignored)

    def walk_as_before(self, rules: Rules, ignored: dict[str, bool]) -> Scan:
        """Walk everything under rules of the past, with the verdicts known from then."""
        return self._walk(("",), (), rules, ignored)

    def get_rules(self) -> dict[str, bytes]:
        """Return the present rules by path."""
        return {path: content for path, (_, content) in self.rules.items()}

    def unseal_folder(self, folder: str, mode: int) -> None:
        """Open a folder with this mode until `reseal`, if it was closed after the first scan."""
        if folder in self._sealed_modes or self._is_root or self.sealed is None or folder in self.sealed:
            return
        if mode & _LIST_RIGHTS != _LIST_RIGHTS and self._unsealed.open(f"{self._root}/{folder}", FOLDER):
            self._sealed_modes[folder] = mode

    def reseal(self) -> None:
        """Close the folders again that were opened to scan them and to read their files."""
        self._unsealed.close()
        self._sealed_modes.clear()

    def _walk(
        self, start: Sequence[str], known: Collection[str], past: Rules | None, ignored: dict[str, bool]
    ) -> Scan:
        found = Scan()
        for folder in start:
            if folder and (signature := read_signature(f"{self._root}/{folder}")) is not None:
                found.modes[folder] = self._get_mode(folder, signature[0])
        level = list(start)
        while level:
            unknown: list[tuple[str, Signature]] = []
            below: list[str] = []
            for folder in level:
                self._list_folder(folder, found, below, unknown, ignored, past is None)
            rules = self.get_rules() if past is None else past
            for path, signature in self._filter_ignored(unknown, rules, ignored):
                self._add(path, signature, found, below)
            if len(found.files) > MAX_FILES and len(found.files) > MAX_FILES + self._count_tracked():
                message = (
                    f"{self._root!r} holds more than {MAX_FILES:,} files that git has not: too many for undo"
                )
                hint = "Start in a sub-folder with -C, list generated files in .gitignore, or add the files to git."
                raise UserError(Fault.USAGE, message, hint)
            level = [path for path in below if path not in known]
        found.linked = [path for path in found.linked if path in found.files]
        return found

    def _list_folder(
        self,
        folder: str,
        found: Scan,
        below: list[str],
        unknown: list[tuple[str, Signature]],
        ignored: dict[str, bool],
        is_present: bool,
    ) -> None:
        if is_present:
            self._watch.add(folder)  # before it is listed, so that no change is missed
        try:
            entries = self._read_entries(folder, found.modes)
        except OSError:  # removed meanwhile, or not readable: there is nothing to save in it
            if folder:
                found.unreadable.append(folder)
                return
            raise UserError(Fault.READ_ONLY, f"the folder {self._root!r} cannot be read") from None
        names = [entry.name for entry in entries]
        has_git = ".git" in names
        if folder and has_git and self._record_if_nested(folder, found):
            return
        found.folders.append(folder)
        prefix = folder + "/" if folder else ""
        if is_present:
            self._read_rules(prefix, names)
        skips_git = has_git and self._skips_git(folder)
        files, is_file = found.files, stat.S_ISREG
        for name, entry in zip(names, entries, strict=True):
            # A rule may be for folders alone: a folder is checked separately from a file of its name.
            path = prefix + name
            judged = ignored.get(path + "/" if entry.is_dir(follow_symlinks=False) else path)
            if judged or (skips_git and name == ".git"):
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
                self._add(path, signature, found, below)

    def _read_entries(self, folder: str, modes: dict[str, int]) -> list[os.DirEntry[str]]:
        """List a folder; one that a command has closed to us since the first scan is opened for it."""
        if not folder:
            modes[""] = self._get_mode("", os.stat(self._root).st_mode)  # noqa: PTH116
        mode = modes.get(folder, _LIST_RIGHTS)
        if mode & _LIST_RIGHTS != _LIST_RIGHTS and not self._is_root:
            self.unseal_folder(folder, mode)
        with os.scandir(f"{self._root}/{folder}") as listing:
            entries = list(listing)
        if mode & 0o100 == 0 and entries and not self._is_root and folder not in self._sealed_modes:
            entries[0].stat(follow_symlinks=False)  # without the right to look at them all would seem removed
        return entries

    def _read_rules(self, prefix: str, names: Collection[str]) -> None:
        path = prefix + RULES
        signature = read_signature(f"{self._root}/{path}") if RULES in names else None
        if signature is None:
            self.rules.pop(path, None)
        elif self.rules.get(path, (None, b""))[0] != signature:
            self.rules[path] = signature, read_rules(f"{self._root}/{path}")

    def _record_if_nested(self, folder: str, found: Scan) -> bool:
        """Record another repository by its commit; a folder that became one since the last scan stays covered."""
        path = Path(self._root, folder)
        if find_git_dir(path) is None:
            return False
        if folder in self.held or (self.entered is not None and folder in self.entered):
            found.turned.append(folder)
            return False
        found.nested[folder] = read_head_commit(path)
        self._with_git.add(folder)
        return True

    def _skips_git(self, folder: str) -> bool:
        """Whether `.git` in an entered folder is left out: the workspace's own, and those from before."""
        if not folder or f"{folder}/.git" in self.held:
            return not folder
        if self.entered is None:
            self._with_git.add(folder)
        return folder in self._with_git

    def _filter_ignored(
        self, unknown: list[tuple[str, Signature]], rules: Rules, ignored: dict[str, bool]
    ) -> list[tuple[str, Signature]]:
        """Ask git once about all new names; return those to keep."""
        if not unknown:
            return []
        names = [path + "/" if stat.S_ISDIR(sign[0]) else path for path, sign in unknown]
        hits = self._judge.find_ignored(names, rules)
        kept = []
        for name, (path, signature) in zip(names, unknown, strict=True):
            ignored[name] = name in hits or path == self._hidden
            if not ignored[name]:
                kept.append((path, signature))
        self.fresh += names
        return kept

    def _add(self, path: str, signature: Signature, found: Scan, below: list[str]) -> None:
        if stat.S_ISDIR(signature[0]):
            below.append(path)
            found.modes[path] = self._get_mode(path, signature[0])
        else:
            found.files[path] = signature

    def _get_mode(self, folder: str, mode: int) -> int:
        return self._sealed_modes.get(folder, stat.S_IMODE(mode))


def read_signature(path: str | Path) -> Signature | None:
    """Return the signature of what is at `path`, None if there is nothing."""
    try:
        info = os.lstat(path)
    except OSError:  # missing, or in a folder that is closed to us
        return None
    return (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
