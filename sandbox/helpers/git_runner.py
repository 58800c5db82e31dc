"""The one module that starts git: program, options, environment, time limit, end of its process group."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from sandbox.errors import Fault, UserError
from sandbox.fs.repository import find_root
from sandbox.helpers.blocking_entries import explain_blocking_entry
from sandbox.helpers.git_reach import build_git_reach, may_filter
from sandbox.helpers.helper_confinement import find_confinement, start_confined
from sandbox.helpers.own_programs import build_search_path, drop_planted_libraries, require_own_program
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.foreign_stores import refuse_foreign_stores

TIMEOUT = 120.0
"""Seconds for one command: what it works on is there, and more means a hanging filter or a dead network disk."""

GRACE = 3.0
"""Seconds after a polite signal: git removes its lock files in milliseconds."""

_PATIENCE = 1.0
"""Seconds until a look for what may hold git up."""

_OUT_OF_MEMORY = b"fatal: Out of memory"

_FILTERS = r"^filter\..*\.(clean|smudge|process)$"

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

_HARDENED = (
    *(*QUIET, *NO_HOOKS),
    *("-c", "core.quotePath=false"),
    *("-c", "color.ui=false"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
)

_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_NO_LAZY_FETCH": "1",
}

NO_USER_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

USER_VARIABLES = compile_lazily(r"GIT_(CONFIG|AUTHOR_|COMMITTER_|SSH).*", re.DOTALL)
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


class BlockedByEntry(UserError):
    """A pipe, a device or a huge file under a name that git reads keeps it from its work; it was stopped."""

    def __init__(self, found: str) -> None:
        super().__init__(Fault.CONFIGURATION, f"git cannot work here: {found}", "Remove it, then try again.")


class GitRunner:
    """Runner of git commands in one folder. Blocking.

    git is confined to the repository and the user's configuration (see `git_reach`), unless it is to start a program
    that the user trusts: a filter such as git LFS, a hook, a signature.

    environment: complete environment of git; the variables set here override it
    workspace: no program is taken from it and its repositories; None: a folder of our own is no workspace
    own_filters: the repository's own filters are trusted, as far as the environment does not replace them
    prepare: takes the arguments of `subprocess.Popen`, and returns the function that starts the process
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        workspace: Path | None,
        own_filters: bool = False,
        prepare: Callable[..., Callable[[], subprocess.Popen[bytes]]] | None = None,
    ) -> None:
        self.interrupted = False
        self._folder = folder
        self._environment = drop_planted_libraries(environment, workspace)
        self._workspace = workspace
        self._own_filters = own_filters
        self._prepare = prepare or _prepare_start
        self._running: subprocess.Popen[bytes] | None = None
        self._filters: dict[str, tuple[bool, dict[str, str]]] = {}

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        extra: Mapping[str, str] = {},
        timeout: float = TIMEOUT,
        scratch: Sequence[Path] = (),
    ) -> GitOutput:
        """Run a command that starts no hook, pager, editor, monitor, transport or background work. Raises UserError
        for a repository that uses another one's folder.

        scratch: folders outside the repository that git may read and write, too
        """
        if self._workspace is not None and not self._get_variable("GIT_DIR", extra):
            refuse_foreign_stores(find_root(self._folder) or self._folder)
        variables, confined = NO_TRANSPORT | dict(extra), True
        if may_filter(arguments):
            runs, replaced = self._find_filters(extra)
            confined = not runs
            variables |= self._replace_settings(replaced, extra)
        return self.execute(
            *_HARDENED,
            *arguments,
            stdin=stdin,
            extra=variables,
            timeout=timeout,
            scratch=scratch,
            confined=confined,
        )

    def fetch(self, address: str, reference: str, protocols: Sequence[str], timeout: float) -> GitOutput:
        """Fetch one commit of another repository into this one, without its history, tags and submodules. Only these
        protocols are used, also after a redirect, and nothing is checked out. git has the network, so it is not
        confined.
        """
        return self.execute(
            *_HARDENED,
            *("-c", "fetch.fsckObjects=true"),
            *(
                "fetch",
                "--quiet",
                "--depth=1",
                "--no-tags",
                "--no-recurse-submodules",
                "--no-write-fetch-head",
            ),
            *("--end-of-options", address, f"+{reference}:refs/patchwright/fetched"),
            extra={"GIT_ALLOW_PROTOCOL": ":".join(protocols)},
            timeout=timeout,
            confined=False,
        )

    def execute(
        self,
        *arguments: str,
        stdin: bytes = b"",
        extra: Mapping[str, str] = {},
        timeout: float = TIMEOUT,
        scratch: Sequence[Path] = (),
        confined: bool = True,
    ) -> GitOutput:
        """Run git with these options alone. Raise GitTimeout when it was stopped at its time limit, BlockedByEntry
        when a pipe or a device in place of a file holds it up.

        extra: more variables, or others in place of ours
        confined: start it confined
        """
        was_interrupted = self.interrupted
        program = require_own_program("git", self._workspace)
        environment = {
            **self._environment,
            **_ENVIRONMENT,
            "PATH": build_search_path(self._workspace),
            **extra,
        }
        with nullcontext(subprocess.PIPE) if len(stdin) <= _PIPE else _write_input(stdin) as source:
            start = self._prepare(
                [program, *arguments],
                cwd=self._folder,
                env=environment,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            if confined and find_confinement():
                reach = build_git_reach(program, self._folder, environment, arguments, scratch)
                process = start_confined(reach, start)
            else:
                process = start()
        self._running = process
        if self.interrupted and not was_interrupted:  # while it started: the signal met nothing
            _signal_group(process, signal.SIGTERM)
        try:
            stdout, stderr = self._collect_output(process, stdin if process.stdin else None, timeout)
        finally:
            self._running = None
            # Hooks that ignored SIGTERM outlive git.
            if self.interrupted or process.poll() is None:
                _signal_group(process, signal.SIGKILL)
                process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        if _OUT_OF_MEMORY in stderr:
            self._refuse_blocking_entry()
        return GitOutput(
            returncode=process.returncode, stdout=stdout, stderr=stderr.decode("utf-8", "replace")
        )

    def has_filters(self, extra: Mapping[str, str]) -> bool:
        """Return whether files of the work tree pass through a filter that may run: one of the user's, or one of a
        trusted repository's."""
        return self._find_filters(extra)[0]

    def _find_filters(self, extra: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
        """Return whether a filter may run, and the settings that keep the repository's others from running."""
        variables = {
            name: value for name, value in extra.items() if name.startswith(("GIT_CONFIG", "GIT_DIR"))
        }
        key = repr(sorted(variables.items()))
        if key not in self._filters:
            listed = self.execute("config", "-z", "--show-scope", "--get-regexp", _FILTERS, extra=variables)
            fields = listed.split_fields()
            last: dict[str, bool] = {}
            for scope, line in zip(fields[::2], fields[1::2], strict=False):  # later ones override
                name, _, command = line.partition("\n")
                last.pop(name, None)
                if command:
                    last[name] = self._own_filters or scope not in ("local", "worktree")
            replaced: dict[str, str] = {}
            for name in (name for name, is_allowed in last.items() if not is_allowed):
                # A filter without commands must not be required.
                replaced |= {name: "", f"{name.rpartition('.')[0]}.required": "false"}
            self._filters[key] = any(last.values()), replaced
        return self._filters[key]

    def _replace_settings(self, settings: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
        """Return variables that override settings: unlike in an option, a name may hold any character."""
        count = self._get_variable("GIT_CONFIG_COUNT", extra) or "0"
        if not settings or not count.isdecimal():  # git itself reports this error
            return {}
        found = {"GIT_CONFIG_COUNT": str(int(count) + len(settings))}
        for number, (name, value) in enumerate(settings.items(), int(count)):
            found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return found

    def interrupt(self, number: signal.Signals) -> None:
        """Signal the running command and its children, from another thread."""
        self.interrupted = True
        _signal_group(self._running, number)

    def _get_variable(self, name: str, extra: Mapping[str, str]) -> str:
        return extra.get(name) or self._environment.get(name, "")

    def _collect_output(
        self, process: subprocess.Popen[bytes], stdin: bytes | None, timeout: float
    ) -> tuple[bytes, bytes]:
        """Wait for git itself: a hook's background processes may keep the pipes open for ever."""
        began = time.monotonic()
        ended = looked = False
        while True:
            try:
                return process.communicate(stdin, _POLL)
            except subprocess.TimeoutExpired as partial:
                if ended:
                    return partial.output or b"", partial.stderr or b""
                ended, stdin = process.poll() is not None, None
            took = time.monotonic() - began
            if took > timeout:
                _stop_process(process)
                raise GitTimeout(timeout)
            if not (looked or ended) and took > _PATIENCE:
                looked = True
                try:
                    self._refuse_blocking_entry()
                except BlockedByEntry:
                    _stop_process(process)
                    raise

    def _refuse_blocking_entry(self) -> None:
        found = explain_blocking_entry(find_root(self._folder) or self._folder)
        if found and self._workspace is not None:
            raise BlockedByEntry(found)


_PIPE = 1 << 15
"""Bytes that a pipe takes at once. `communicate` writes no more input once its first time limit is over."""


def _write_input(content: bytes) -> IO[bytes]:
    """Return a nameless file, for reading, with an input that does not fit into a pipe."""
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller, when git has it
    file.write(content)
    file.seek(0)
    return file


def _prepare_start(argv: Sequence[str], **options: Any) -> Callable[[], subprocess.Popen[bytes]]:
    return lambda: subprocess.Popen(argv, **options)


def run_in_terminal(root: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> int:
    """Run git as the user would type it, on their terminal and with their hooks and settings; return its exit code."""
    command = [require_own_program("git", root), *arguments]
    env = {**os.environ, "PATH": build_search_path(root)} if environment is None else environment
    return subprocess.run(command, cwd=root, env=drop_planted_libraries(env, root), check=False).returncode


def strip_git_variables(kept: re.Pattern[str] = USER_VARIABLES) -> dict[str, str]:
    """Return our environment without git's variables, which name a repository, an index or a program to run.

    kept: those that stay
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or kept.fullmatch(name)
    }


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
