"""Fast git access for hooks: plain processes, configured so that git runs no other program.

The broker in `tools.git.broker` is for the agent's own commits. This is for reading, in the state in which git
started us: its index may be a temporary one (`git commit -a`), its folder a worktree's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.helpers.git_runner import USER_VARIABLES, GitRunner, GitTimeout, strip_git_variables
from sandbox.lazy_pattern import compile_lazily

TIMEOUT = 60.0
"""Seconds for one command: what is read here is there, and more means a disk that hangs."""

_CALLER_VARIABLES = compile_lazily(
    rf"{USER_VARIABLES.pattern}|GIT_(DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|OBJECT_DIRECTORY"
    r"|ALTERNATE_OBJECT_DIRECTORIES|QUARANTINE_PATH|NAMESPACE|EXEC_PATH)",
    re.DOTALL,
)
"""Variables of the user's, and those by which git says what it is working on. All others are dropped."""


class GitFailed(UserError):
    """A git command failed; the message is git's own."""

    def __init__(self, message: str) -> None:
        super().__init__(Fault.CONFIGURATION, message)


class Git:
    """git commands in one work tree. Blocking.

    root: the work tree
    extra: more variables (another index)
    alone: ignore the caller's GIT_DIR, GIT_INDEX_FILE and the like (for another work tree than the caller's)
    own_filters: the repository's own filters may run, as far as `extra` does not replace them
    scratch: folders outside the repository that git may use, too
    """

    def __init__(
        self,
        root: Path,
        *,
        alone: bool = False,
        extra: Mapping[str, str] = {},
        own_filters: bool = False,
        scratch: Sequence[Path] = (),
    ) -> None:
        self.root = root
        self.extra = dict(extra)
        self.own_filters = own_filters
        self._alone = alone
        self._scratch = tuple(scratch)
        environment = strip_git_variables(USER_VARIABLES if alone else _CALLER_VARIABLES)
        environment["LC_ALL"] = "C.UTF-8"
        self._runner = GitRunner(root, environment, workspace=root, own_filters=own_filters)

    def allow(self, *scratch: Path) -> Git:
        """Return the same with the repository's filters, and with folders outside it that git may use."""
        return Git(self.root, alone=self._alone, extra=self.extra, own_filters=True, scratch=scratch)

    @classmethod
    def from_folder(cls, folder: Path) -> Git:
        """Open the repository in which git started us, or the one around `folder`. Raises UserError."""
        if not folder.is_dir():
            raise UserError(Fault.USAGE, f"no such folder: {str(folder)!r}")
        try:
            found = cls(folder).run_text("rev-parse", "--show-toplevel")
        except GitFailed as error:
            place, words = repr(str(folder.resolve())), str(error)
            if "run in a work tree" in words:
                message = f"a git repository without files to work on (a bare one, or a .git folder): {place}"
                raise UserError(Fault.NOT_A_REPOSITORY, message, "Go to a work tree of it.") from None
            hint = "Make one: git init" if "not a git repository" in words else words
            raise UserError(Fault.NOT_A_REPOSITORY, f"not in a git repository: {place}", hint) from None
        return cls(Path(found))

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        ok: Collection[int] = (0,),
        timeout: float = TIMEOUT,
    ) -> bytes:
        """Run a command and return its standard output. Raises GitFailed for an exit code that is not in `ok`."""
        try:
            done = self._runner.run(
                *arguments, stdin=stdin, extra=self.extra, timeout=timeout, scratch=self._scratch
            )
        except GitTimeout:
            raise GitFailed(f"git {arguments[0]} did not end within {timeout:g} seconds") from None
        if done.returncode not in ok:
            raise GitFailed(done.stderr.strip() or f"git {arguments[0]} failed")
        return done.stdout

    def run_text(self, *arguments: str, ok: Collection[int] = (0,), timeout: float = TIMEOUT) -> str:
        """Run a command and return its standard output without the last newline."""
        return os.fsdecode(self.run(*arguments, ok=ok, timeout=timeout)).removesuffix("\n")

    def read_setting(self, name: str, kind: str = "") -> str:
        """Return a value of git's configuration, "" if it is not set."""
        typed = (f"--type={kind}",) if kind else ()
        # Not hardened: the hardening would answer with its own values.
        done = self._runner.execute("config", *typed, "--get", name, extra=self.extra, timeout=TIMEOUT)
        return os.fsdecode(done.stdout).removesuffix("\n")

    def read_blobs(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of blobs by id, read in one process."""
        if not names:
            return {}
        output = self.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        return parse_blobs(names, output)

    def read_blob_sizes(self, names: Sequence[str]) -> dict[str, int]:
        """Return the sizes of blobs in bytes, without reading their contents."""
        if not names:
            return {}
        stdin = "".join(f"{name}\n" for name in names).encode()
        lines = self.run("cat-file", "--batch-check", stdin=stdin).decode().splitlines()
        parts = [line.split(" ") for line in lines]
        return {each[0]: int(each[2]) for each in parts if len(each) == 3}


def parse_blobs(names: Sequence[str], output: bytes) -> dict[str, bytes]:
    """Return the contents by name that `git cat-file --batch` printed for `names`; a missing object is left out."""
    found: dict[str, bytes] = {}
    start = 0
    for name in names:
        end = output.index(b"\n", start)
        head = output[start:end].split(b" ")
        size = int(head[2]) if len(head) == 3 else -1
        if size >= 0:
            found[name] = output[end + 1 : end + 1 + size]
        start = end + 1 + (size + 1 if size >= 0 else 0)
    return found
