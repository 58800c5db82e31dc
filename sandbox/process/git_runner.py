"""The one module that starts git: program, options, environment, time limit, end of its process group."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.process.own_programs import build_search_path, require_own_program

TIMEOUT = 120.0
"""Seconds for one command: what it works on is there, and more means a hanging filter or a dead network disk."""

GRACE = 3.0
"""Seconds after a polite signal: git removes its lock files in milliseconds."""

_POLL = 0.5
"""Seconds from one look at a running command to the next."""

QUIET = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
"""Options that hooks may inherit: no monitor, and no clean-up that is left running in the background."""

NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")

LITERAL = "--literal-pathspecs"
"""The option, before the command, that makes paths nothing but paths."""

NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "none"}
"""Before git 2.44 a promised object that is missing is fetched whatever GIT_NO_LAZY_FETCH says, by a command that the
repository's settings name. No transport has this name."""

_HARDENED = (*QUIET, *NO_HOOKS, *("-c", "core.quotePath=false"), *("-c", "color.ui=false"))

_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_NO_LAZY_FETCH": "1",
}

NO_USER_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

USER_VARIABLES = re.compile(r"GIT_(CONFIG|AUTHOR_|COMMITTER_|SSH).*", re.DOTALL)
"""Variables that hold the user's identity and settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOutput:
    """Exit code and output of a git command."""

    returncode: int
    stdout: bytes
    stderr: str

    def split_fields(self) -> list[str]:
        """Return the NUL-separated fields of the output."""
        return [os.fsdecode(field) for field in self.stdout.split(b"\0")[:-1]]


class GitTimeout(UserError):
    """git exceeded its time limit and was stopped with its children."""

    def __init__(self, seconds: float) -> None:
        super().__init__(Fault.CONFIGURATION, f"git did not end within {seconds:g} seconds")


class GitRunner:
    """Runner of git commands in one folder. Blocking.

    environment: complete environment of git; the variables set here override it
    workspace: no program is taken from it and its repositories; None: a folder of our own is no workspace
    start: starts the process, as `subprocess.Popen` does
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        workspace: Path | None,
        start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
    ) -> None:
        self.interrupted = False
        self._folder = folder
        self._environment = dict(environment)
        self._workspace = workspace
        self._start = start
        self._running: subprocess.Popen[bytes] | None = None

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        extra: Mapping[str, str] = {},
        timeout: float = TIMEOUT,
    ) -> GitOutput:
        """Run a command that starts no hook, pager, editor, monitor, transport or background work."""
        return self.execute(
            *_HARDENED, *arguments, stdin=stdin, extra=NO_TRANSPORT | dict(extra), timeout=timeout
        )

    def execute(
        self,
        *arguments: str,
        stdin: bytes = b"",
        extra: Mapping[str, str] = {},
        timeout: float = TIMEOUT,
    ) -> GitOutput:
        """Run git with these options alone. Raise GitTimeout when it was stopped at its time limit.

        extra: more variables, or others in place of ours
        """
        process = self._start(
            [require_own_program("git", self._workspace), *arguments],
            cwd=self._folder,
            env={**self._environment, **_ENVIRONMENT, "PATH": build_search_path(self._workspace), **extra},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._running = process
        try:
            stdout, stderr = _collect_output(process, stdin, timeout)
        finally:
            self._running = None
            # Hooks that ignored SIGTERM outlive git.
            if self.interrupted or process.poll() is None:
                _signal_group(process, signal.SIGKILL)
                process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        return GitOutput(
            returncode=process.returncode, stdout=stdout, stderr=stderr.decode("utf-8", "replace")
        )

    def interrupt(self, number: signal.Signals) -> None:
        """Signal the running command and its children, from another thread."""
        self.interrupted = True
        _signal_group(self._running, number)


def run_in_terminal(root: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> int:
    """Run git as the user would type it, on their terminal and with their hooks and settings; return its exit code."""
    command = [require_own_program("git", root), *arguments]
    env = {**os.environ, "PATH": build_search_path(root)} if environment is None else environment
    return subprocess.run(command, cwd=root, env=env, check=False).returncode


def strip_git_variables(kept: re.Pattern[str] = USER_VARIABLES) -> dict[str, str]:
    """Return our environment without git's variables, which name a repository, an index or a program to run.

    kept: those that stay
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or kept.fullmatch(name)
    }


def _collect_output(
    process: subprocess.Popen[bytes], stdin: bytes | None, timeout: float
) -> tuple[bytes, bytes]:
    """Wait for git itself: a hook's background processes may keep the pipes open for ever."""
    deadline = time.monotonic() + timeout
    ended = False
    while True:
        try:
            return process.communicate(stdin, _POLL)
        except subprocess.TimeoutExpired as partial:
            if ended:
                return partial.output or b"", partial.stderr or b""
            ended, stdin = process.poll() is not None, None
        if time.monotonic() > deadline:
            _stop_process(process)
            raise GitTimeout(timeout)


def _stop_process(process: subprocess.Popen[bytes]) -> None:
    _signal_group(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):  # it ignores SIGTERM
        process.wait(GRACE)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: subprocess.Popen[bytes] | None, number: signal.Signals) -> None:
    """Signal the process group of git: git and its children."""
    if process is not None:
        with suppress(ProcessLookupError):  # ended meanwhile
            os.killpg(process.pid, number)
