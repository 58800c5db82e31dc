"""A git repository of a suite's own, whose commits are the bases of tasks: each folder of files is stored once."""

from __future__ import annotations

import os
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitRunner, strip_git_variables

_IDENTITY = {
    "GIT_AUTHOR_NAME": "suite",
    "GIT_AUTHOR_EMAIL": "suite@localhost",
    "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "suite",
    "GIT_COMMITTER_EMAIL": "suite@localhost",
    "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
}
"""The same files have the same commit wherever and whenever the suite is built."""


class CommitStore:
    """Commits without a parent in a bare repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._git = GitRunner(folder, {**strip_git_variables(), **NO_USER_SETTINGS}, workspace=None)

    @classmethod
    def open(cls, folder: Path) -> CommitStore:
        """Open the repository, which is made if it is missing. Raises UserError."""
        # git resolves a relative path from its own working folder, which is this one.
        folder = folder.absolute()
        create_private_folder(folder)
        store = cls(folder)
        if not (folder / "HEAD").is_file():
            store._run("init", "--quiet", "--bare", "--initial-branch=main", str(folder))
        return store

    def add_folder(self, files: Path, message: str) -> str:
        """Store a folder's files, ignored ones included, as a commit; return its full id. Raises UserError."""
        index = self.folder / "scratch-index"
        index.unlink(missing_ok=True)
        extra = {"GIT_DIR": str(self.folder), "GIT_WORK_TREE": str(files), "GIT_INDEX_FILE": str(index)}
        try:
            self._run("add", "--all", "--force", "--", str(files), extra=extra, scratch=files)
            tree = self._run("write-tree", extra=extra).decode().strip()
        finally:
            index.unlink(missing_ok=True)
        commit = self._run("commit-tree", tree, "-m", message, extra=_IDENTITY).decode().strip()
        self._run("update-ref", f"refs/heads/base/{commit[:12]}", commit)
        return commit

    def _run(
        self, *arguments: str, extra: dict[str, str] | None = None, scratch: Path | None = None
    ) -> bytes:
        done = self._git.run(
            *arguments,
            extra=extra or {},
            timeout=600,
            scratch=() if scratch is None else (Path(os.fspath(scratch)),),
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"git {arguments[0]} failed"]
            raise UserError(Fault.CONFIGURATION, f"{self.folder}: {lines[-1]}")
        return done.stdout
