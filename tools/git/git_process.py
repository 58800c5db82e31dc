"""Fast git access for hooks: plain processes, configured so that git runs no other program.

The broker in `tools.git.broker` is for the agent's own commits. This is for reading, in the state in which git
started us: its index may be a temporary one (`git commit -a`), its folder a worktree's.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.process.own_programs import build_search_path, require_own_program

TIMEOUT = 60.0
"""Seconds for one command: it reads local data, and more means a disk that hangs."""

_OURS = frozenset(
    (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_COMMON_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_QUARANTINE_PATH",
        "GIT_NAMESPACE",
        "GIT_EXEC_PATH",
    )
)
"""Variables that name git's repository and index; GIT_CONFIG_* are the user's settings. All others are dropped."""

_HARDENED = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.quotePath=false"),
    *("-c", "color.ui=false"),
    *("-c", "gc.auto=0"),
)


class GitFailed(UserError):
    """A git command failed; the message is git's own."""

    def __init__(self, message: str) -> None:
        super().__init__(Fault.CONFIGURATION, message)


class Git:
    """git commands in one work tree. Blocking.

    root: the work tree
    extra: more variables (another index)
    alone: ignore the caller's GIT_DIR, GIT_INDEX_FILE and the like (for another work tree than the caller's)
    """

    def __init__(self, root: Path, *, alone: bool = False, extra: Mapping[str, str] = {}) -> None:
        self.root = root
        self.extra = dict(extra)
        self._environment = {
            **(strip_git_variables(os.environ) if alone else _clean_environment(os.environ)),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "LC_ALL": "C.UTF-8",
            "PATH": build_search_path(root),
            **extra,
        }

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
    ) -> bytes:
        """Run a command and return its standard output. Raises GitFailed for an exit code that is not in `ok`."""
        try:
            done = subprocess.run(
                [require_own_program("git", self.root), *_HARDENED, *arguments],
                cwd=self.root,
                env=self._environment,
                input=stdin,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitFailed(f"git {arguments[0]} did not end within {TIMEOUT:g} seconds") from None
        if done.returncode not in ok:
            raise GitFailed(done.stderr.decode("utf-8", "replace").strip() or f"git {arguments[0]} failed")
        return done.stdout

    def run_text(self, *arguments: str, ok: Collection[int] = (0,)) -> str:
        """Run a command and return its standard output without the last newline."""
        return os.fsdecode(self.run(*arguments, ok=ok)).removesuffix("\n")

    def read_setting(self, name: str, kind: str = "") -> str:
        """Return a value of git's configuration, "" if it is not set."""
        typed = (f"--type={kind}",) if kind else ()
        done = subprocess.run(  # not hardened: hardening overrides the values
            [require_own_program("git", self.root), "config", *typed, "--get", name],
            cwd=self.root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        return os.fsdecode(done.stdout).removesuffix("\n")

    def read_blobs(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of blobs by id, read in one process."""
        found: dict[str, bytes] = {}
        if not names:
            return found
        output = self.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        start = 0
        for name in names:
            end = output.index(b"\n", start)
            head = output[start:end].split(b" ")
            size = int(head[2]) if len(head) == 3 else -1
            if size >= 0:
                found[name] = output[end + 1 : end + 1 + size]
            start = end + 1 + (size + 1 if size >= 0 else 0)
        return found

    def read_blob_sizes(self, names: Sequence[str]) -> dict[str, int]:
        """Return the sizes of blobs in bytes, without reading their contents."""
        if not names:
            return {}
        stdin = "".join(f"{name}\n" for name in names).encode()
        lines = self.run("cat-file", "--batch-check", stdin=stdin).decode().splitlines()
        parts = [line.split(" ") for line in lines]
        return {each[0]: int(each[2]) for each in parts if len(each) == 3}


def strip_git_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without git's variables, for programs unrelated to the running git command."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG") or name.startswith(_PERSON)
    }


_PERSON = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH")


def _clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    kept = strip_git_variables(environment)
    return {**kept, **{name: value for name, value in environment.items() if name in _OURS}}
