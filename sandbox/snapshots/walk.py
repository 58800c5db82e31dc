"""Find the files of a workspace and their stat signatures, by scandir, with git's ignore rules remembered."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.repository import common_dir, find_root, git_dir, head

Signature = tuple[int, int, int, int, int]
"""st_mode, st_size, st_mtime_ns, st_ctime_ns, st_ino: any change of a file's bytes or mode shows in it."""

# More means a home folder or a disk, opened by mistake: say so before minutes pass.
MAX_FILES = 200_000


@dataclass(slots=True, kw_only=True)
class Scan:
    """What one walk found; paths are relative to the workspace.

    files: regular files and symbolic links
    nested: other repositories inside, by their checked-out commit ("" if there is none yet)
    folders: every folder entered, the workspace itself ("") included
    unreadable: folders that could not be listed
    """

    files: dict[str, Signature] = field(default_factory=dict)
    nested: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


class Walker:
    """Walks one workspace again and again; only names never seen before cost a question to git."""

    def __init__(self, root: Path, store: Path) -> None:
        self._root = str(root)
        self._store = store
        self._hidden = _inside(store, root)
        self._ignored: dict[str, bool] = {}
        self._rules: dict[str, Signature] | None = None
        self._index: Signature | None = None
        self._forced: list[str] = []

    def scan(self) -> Scan:
        """Walk once. When a rule of what to ignore has changed, everything is judged anew."""
        found = self._walk()
        rules = self._rules_of(found)
        if rules != self._rules:
            if self._rules is not None:
                self._ignored.clear()
                found = self._walk()
                rules = self._rules_of(found)
            self._rules, self._index = rules, None
        self._add_forced(found)
        if len(self._ignored) > 2 * (len(found.files) + len(found.folders)) + 10_000:  # mostly gone names
            self._rules = None
            self._ignored.clear()
        return found

    def ignored(self, paths: list[str]) -> set[str]:
        """Those of the paths that a rule leaves out, whether they are there or not."""
        return self._ask("check-ignore", "-z", "--stdin", "--no-index", paths=paths)

    def _walk(self) -> Scan:
        found = Scan()
        level = [""]
        while level:
            unknown: list[tuple[str, Signature]] = []
            below: list[str] = []
            for folder in level:
                self._list(folder, found, below, unknown)
            for path, signature in self._judge(unknown):
                _sort_in(path, signature, found, below)
            if len(found.files) > MAX_FILES:
                message = f"{self._root!r} holds more than {MAX_FILES:,} files: too many to keep for undo"
                hint = "Start in a sub-folder with -C, or list generated files in .gitignore."
                raise UserError(Fault.USAGE, message, hint)
            level = below
        return found

    def _list(self, folder: str, found: Scan, below: list[str], unknown: list[tuple[str, Signature]]) -> None:
        try:
            with os.scandir(f"{self._root}/{folder}") as listing:
                entries = list(listing)
        except OSError:  # removed meanwhile, or not ours to read: there is nothing to save in it
            if folder:
                found.unreadable.append(folder)
                return
            raise UserError(Fault.READ_ONLY, f"the folder {self._root!r} cannot be read") from None
        names = [entry.name for entry in entries]
        if folder and ".git" in names and self._is_nested(folder, found):
            return
        found.folders.append(folder)
        prefix = folder + "/" if folder else ""
        ignored, files, is_file = self._ignored, found.files, stat.S_ISREG
        for name, entry in zip(names, entries, strict=True):
            # A rule may be for folders alone: a folder is judged apart from a file of its name.
            path = prefix + name
            judged = ignored.get(path + "/" if entry.is_dir(follow_symlinks=False) else path)
            if judged or name == ".git":
                continue
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:  # removed between listing and looking: as if never seen
                continue
            signature = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
            if judged is None:
                unknown.append((path, signature))
            elif is_file(info.st_mode):
                files[path] = signature
            else:
                _sort_in(path, signature, found, below)

    def _is_nested(self, folder: str, found: Scan) -> bool:
        path = Path(self._root, folder)
        if git_dir(path) is None:
            return False
        found.nested[folder] = head(path)
        return True

    def _judge(self, unknown: list[tuple[str, Signature]]) -> list[tuple[str, Signature]]:
        """Ask git once about all new names; returns those to keep."""
        if not unknown:
            return []
        names = [path for path, _ in unknown]
        ignored = self.ignored(names)
        if self._hidden:
            ignored.add(self._hidden)
        for path, signature in unknown:
            self._ignored[path + "/" if stat.S_ISDIR(signature[0]) else path] = path in ignored
        return [(path, signature) for path, signature in unknown if path not in ignored]

    def _rules_of(self, found: Scan) -> dict[str, Signature]:
        rules = {path: sign for path, sign in found.files.items() if path.endswith(".gitignore")}
        exclude = self._exclude_file()
        signature = _signature(exclude)
        return rules if signature is None else {**rules, str(exclude): signature}

    def _exclude_file(self) -> Path:
        repository = find_root(Path(self._root))
        folder = git_dir(repository) if repository else None
        return common_dir(folder) / "info" / "exclude" if folder else Path(os.devnull)

    def _add_forced(self, found: Scan) -> None:
        """Files under version control are the user's work even where a rule would ignore them."""
        repository = find_root(Path(self._root))
        folder = git_dir(repository) if repository else None
        if repository is None or folder is None:
            return
        index = _signature(folder / "index")
        if index != self._index:
            places = {"GIT_DIR": str(folder), "GIT_WORK_TREE": str(repository)}
            listed = self._ask("ls-files", "-z", "--cached", "--ignored", "--exclude-standard", places=places)
            self._index, self._forced = index, sorted(listed)
        for path in self._forced:
            signature = _signature(Path(self._root, path))
            # Behind a symbolic link lies another folder's file.
            if signature is not None and _is_plain(path.rpartition("/")[0], self._root):
                _sort_in(path, signature, found, [])

    def _ask(
        self, *arguments: str, paths: list[str] | None = None, places: Mapping[str, str] | None = None
    ) -> set[str]:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_DIR": str(self._store),
            "GIT_WORK_TREE": self._root,
            **(places or {}),
        }
        options = ("-c", "core.fsmonitor=false", "-c", f"core.excludesFile={self._exclude_file()}")
        # "./", since a leading colon would be read as a pattern's.
        question = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths or ())
        try:
            command = ("git", *options, *arguments)
            done = subprocess.run(
                command, cwd=self._root, env=environment, input=question, capture_output=True, check=False
            )
        except FileNotFoundError:
            message = "git was not found, and undo needs it to know which files are ignored"
            raise UserError(Fault.CONFIGURATION, message, "Install git, or put it on the PATH.") from None
        if done.returncode not in (0, 1):  # 1: none of the paths is ignored
            reason = done.stderr.decode("utf-8", "replace").strip()
            message = f"git could not read the ignore rules of {self._root!r}: {reason}"
            raise UserError(Fault.CONFIGURATION, message)
        return {os.fsdecode(name.removeprefix(b"./")) for name in done.stdout.split(b"\0") if name}


def _sort_in(path: str, signature: Signature, found: Scan, below: list[str]) -> None:
    kind = stat.S_IFMT(signature[0])
    if kind == stat.S_IFDIR:
        below.append(path)
    elif kind in (stat.S_IFREG, stat.S_IFLNK):  # sockets, pipes and devices have no content to keep
        found.files[path] = signature


def _inside(store: Path, root: Path) -> str:
    """Where the store lies in the workspace, should someone have put it there."""
    try:
        return store.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:  # outside, as it should be
        return ""


def _signature(path: Path) -> Signature | None:
    try:
        info = path.lstat()
    except OSError:  # not there
        return None
    return (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


def _is_plain(folder: str, root: str) -> bool:
    place = Path(root).resolve() / folder
    return place.resolve() == place
