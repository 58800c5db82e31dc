"""A data set's folder as plain files: a git repository without a work tree is unpacked into a cache first."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.archive_members import BoundedTarInfo, extract_members
from sandbox.fs.private_files import create_private_folder
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.helpers.git_runner import GitRunner, strip_git_variables

LONG = 600.0
"""Seconds to unpack a repository: the largest that suites name have some 100,000 files."""


def open_source(path: Path, cache: Path, paths: Sequence[str] = ()) -> Path:
    """Return a folder with the data set's files. Raises UserError.

    paths: the parts that are unpacked from a bare repository, as far as it has them
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise UserError(
            Fault.USAGE, f"no such folder: {str(path)!r}", "`eval build --list` says where each suite is."
        )
    if not is_bare_repository(path):
        return path
    git = GitHistory(path)
    commit = git.resolve("HEAD")
    key = sha256("\0".join([str(path.resolve()), commit, *paths]).encode()).hexdigest()[:16]
    folder = cache / "sources" / key
    if not folder.is_dir():
        wanted = [each for each in paths if git.has_path(commit, each)]
        if paths and not wanted:
            raise UserError(Fault.USAGE, f"{str(path)!r} has none of {', '.join(paths)}")
        create_private_folder(folder.parent)
        unfinished = folder.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        for each in wanted or [""]:  # one by one: a part whose objects are missing does not cost the others
            git.export(commit, unfinished, [each] if each else [])
        unfinished.rename(folder)
    return folder


def read_data_file(root: Path, path: str) -> bytes | None:
    """Return a file of a data set's folder; None if there is none, or it is a link that leads out of the folder."""
    try:
        return read_workspace_file(root, path, SOURCE)
    except (UserError, OSError):
        return None


def is_bare_repository(path: Path) -> bool:
    """Return whether a folder is a git directory itself."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


class GitHistory:
    """Read access to a repository's commits, by git alone: its work tree, if it has one, is not looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._git = GitRunner(folder, strip_git_variables(), workspace=None)

    def run(self, *arguments: str, stdin: bytes = b"", timeout: float = LONG) -> bytes:
        """Return the output of a git command. Raises UserError with git's own words."""
        done = self._git.run(*arguments, stdin=stdin, timeout=timeout)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"git {arguments[0]} failed"]
            raise UserError(Fault.CONFIGURATION, f"{self.folder}: {lines[-1]}")
        return done.stdout

    def resolve(self, revision: str) -> str:
        """Return the full id of a commit. Raises UserError."""
        return (
            self.run("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
        )

    def has_path(self, commit: str, path: str) -> bool:
        """Return whether a commit has a file or a folder."""
        return bool(self.run("ls-tree", "-z", "--name-only", commit, "--", path).strip())

    def read_blob(self, commit: str, path: str) -> bytes | None:
        """Return a file's bytes at a commit, None if it has none there."""
        done = self._git.run("cat-file", "blob", f"{commit}:{path}", timeout=LONG)
        return None if done.returncode else done.stdout

    def export(self, commit: str, folder: Path, paths: Sequence[str] = ()) -> None:
        """Write the files of a commit into a folder. Raises UserError, also for a member that leads out of it."""
        archive = self.run("archive", "--format=tar", commit, *(("--", *paths) if paths else ()))
        try:
            with tarfile.open(fileobj=io.BytesIO(archive), tarinfo=BoundedTarInfo) as tar:
                extract_members(tar, folder)
        except tarfile.TarError as error:
            raise UserError(Fault.CONFIGURATION, f"{self.folder}: {error}") from None
