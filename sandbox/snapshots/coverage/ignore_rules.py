"""Ignore rules at one moment: copies of the workspace's `.gitignore` files, judged by git away from the workspace.

Git never opens a file of the workspace for it, so neither a pipe nor a device under that name stops it, and rules
of the past are judged in the same way as those of the present.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SETTINGS, UnsafeFileError, read_entry, read_regular_file
from sandbox.fs.repository import find_git_dir, find_git_folders, find_root
from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitOutput, GitRunner

RULES = ".gitignore"

Rules = Mapping[str, bytes]
"""Content of `.gitignore` files, by path relative to the workspace."""


def read_rules(path: str) -> bytes:
    """Return the content of a `.gitignore`; nothing for one that git would not read either."""
    try:
        return read_entry(path, SETTINGS)
    except (FileNotFoundError, UnsafeFileError):  # gone, a link, a pipe, too large: no rules
        return b""


def find_exclude_file(root: Path) -> Path:
    """Return the user's own list of ignored files of the repository that contains `root`."""
    folders = find_git_folders(root)
    return folders[1] / "info" / "exclude" if folders else Path(os.devnull)


class IgnoreRules:
    """Judge of paths by ignore rules.

    root: the workspace; None: without the user's own list of ignored files
    store: a git folder of Patchwright's own
    """

    def __init__(self, root: Path | None, store: Path) -> None:
        self._root = root
        self._store = store

    def find_ignored(self, paths: Iterable[str], rules: Rules) -> set[str]:
        """Return those of the paths that a rule ignores. A folder's path ends with a slash; none needs to exist."""
        # A folder with rules of its own is asked for without the slash: they are for what is in it.
        own = {path.removesuffix(RULES) for path, content in rules.items() if content}
        asked = {(path.rstrip("/") if path in own else path): path for path in paths}
        if not asked:
            return set()
        # "./", since a leading colon would be read as pathspec magic.
        question = b"".join(b"./" + os.fsencode(path) + b"\0" for path in asked)
        places = {"GIT_DIR": str(self._store)}
        ask = ("check-ignore", "-z", "--stdin", "--no-index")
        found = self._ask_git(*ask, rules=rules, places=places, stdin=question)
        return {asked[name.removeprefix("./")] for name in found}

    def list_tracked_ignored(self, rules: Rules) -> set[str]:
        """Return files under version control that a rule ignores."""
        repository = find_root(self._root) if self._root else None
        folder = find_git_dir(repository) if repository else None
        if self._root is None or repository is None or folder is None:
            return set()
        inner = os.path.relpath(os.path.realpath(self._root), os.path.realpath(repository))
        listed = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        return self._ask_git(*listed, rules=rules, places={"GIT_DIR": str(folder)}, inner=inner)

    def _ask_git(
        self, *arguments: str, rules: Rules, places: Mapping[str, str], stdin: bytes = b"", inner: str = "."
    ) -> set[str]:
        """Run git in a tree that holds nothing but the rules. inner: the workspace's place in the repository"""
        with tempfile.TemporaryDirectory(prefix="patchwright-rules-") as folder:
            tree, exclude = Path(folder, "tree"), Path(folder, "exclude")
            workspace = tree / inner
            workspace.mkdir(parents=True)
            for path, content in rules.items():
                if content:
                    place = workspace / path
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(content)
            exclude.write_bytes(self._read_exclude_file())
            places = {**places, "GIT_WORK_TREE": str(tree)}
            done = self._run_git(
                workspace, "-c", f"core.excludesFile={exclude}", *arguments, places=places, stdin=stdin
            )
        return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}

    def _read_exclude_file(self) -> bytes:
        if self._root is None:
            return b""
        try:
            return read_regular_file(find_exclude_file(self._root), SETTINGS) or b""
        except UnsafeFileError:  # not a list that git could read
            return b""

    def _run_git(
        self, folder: Path, *arguments: str, places: Mapping[str, str], stdin: bytes = b""
    ) -> GitOutput:
        environment = {"LC_ALL": "C", **NO_USER_SETTINGS, **places}
        try:
            done = GitRunner(folder, environment, workspace=self._root).run(*arguments, stdin=stdin)
        except UserError as error:
            message = f"{error.message}, and undo needs it to know which files are ignored"
            raise UserError(error.fault, message, error.hint) from None
        if done.returncode not in (0, 1):  # 1: none of the paths is ignored
            message = f"git could not read the ignore rules of {str(self._root)!r}: {done.stderr.strip()}"
            raise UserError(Fault.CONFIGURATION, message)
        return done
