"""`shell`: a command line in the sandbox."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.fs.installation import is_inside, list_installation_paths
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.decision import Mode
from sandbox.process.command import Capture, Command, Completed
from sandbox.view.machine_view import PRIVATE
from sandbox.view.visible_places import SYSTEM
from tools.core.action import Effect, Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.shell.command_output import make_progress_callback, shape_output
from tools.shell.environment import shell_environment

MAX_TIMEOUT = 3600
"""Maximum seconds: no step should wait longer."""

BUDGET = 16_000
"""Characters of output shown, about 4k tokens."""

MAX_VALUE = 4 << 20
"""Bytes of output returned to code."""

_GIT_HINT = (
    "commands cannot write .git: use git_commit, or git_bisect(command, good); git add, switch, stash and such work "
    "with plain words, alone or joined by &&"
)

HINTS: tuple[tuple[str, str], ...] = (
    (
        r"[^/\s'\":]\.git/.*Read-only file system",
        "a folder with HEAD, objects and refs is a repository's: commands cannot write it; use edit or write",
    ),
    (
        r"\.git/.*Read-only file system",
        _GIT_HINT,
    ),
    (r"Read-only file system|Operation not permitted", "only the workspace and /tmp can be written"),
    (
        r"Could not resolve host|Temporary failure in name resolution|Network is unreachable"
        r"|getaddrinfo EAI_AGAIN|Failed to establish a new connection|dns error",
        "commands have no network",
    ),
    (
        r"docker\.sock|Docker daemon|authentication agent|\.s\.PGSQL\.|\.sock\b.*(No such file|refused)"
        r"|(No such file|refused).*\.sock\b",
        "sockets of other programs cannot be reached; the user can show one by the setting visible_paths",
    ),
)
"""Map error patterns in command output to hints about the sandbox; the first match is shown."""


NO_OUTPUT = "(no output)"
"""Text in place of the output of a command that printed nothing."""


def _effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    return Effect(kind="execute", argv=("bash", "-c", str(arguments["command"])))


@tool(effect=_effect)
async def shell(command: str, timeout: int | None = None, *, at: Workspace) -> Observation:
    """Run a bash command in the workspace root. Nothing stays running.

    timeout: seconds
    """
    if not command.strip():
        raise ToolFailure("shell: the command is empty")
    if timeout is not None and not 1 <= timeout <= MAX_TIMEOUT:
        raise ToolFailure(f"shell: timeout must be 1 to {MAX_TIMEOUT} seconds (got {timeout!r})")
    if command.lstrip().startswith(("git ", "cd ")) and (done := await _run_git(at, command)) is not None:
        return done
    limit = timeout or at.settings.shell_timeout
    completed = await at.sandbox.run(
        Command(
            argv=("bash", "-c", command),
            cwd=at.root,
            env={**shell_environment(), **at.variables},
            timeout=limit,
            beside=at.background.leader,
            scope="read-only" if at.mode is Mode.READ_ONLY else "workspace",
        ),
        make_progress_callback(at),
    )
    if completed.stdout.total <= BUDGET:  # nothing to store: a thread would take longer
        output = shape_output(at, completed.stdout, budget=BUDGET)
    else:
        output = await asyncio.to_thread(shape_output, at, completed.stdout, budget=BUDGET)
    hint = _find_hint(at, completed, output.text)
    parts = [_describe_end(completed, limit), output.text or NO_OUTPUT, *completed.noticed, hint]
    return Observation(
        text="\n".join(part for part in parts if part),
        data={
            "exit": completed.returncode,
            "ended": completed.ended,
            "seconds": round(completed.duration, 3),
        },
        ref=output.ref,
        failed=completed.returncode != 0 or completed.ended != "exited",
        value=ShellResult(
            exit=completed.returncode,
            output=_read_output(at, completed.stdout, output.ref),
            ended=completed.ended,
        ),
    )


async def _run_git(at: Workspace, line: str) -> Observation | None:
    """Run a line of git commands that write git's data, which no command in the sandbox can; None for another line."""
    from tools.core.git_lines import find_git_commands

    if not (commands := find_git_commands(at, line)):
        return None
    from tools.git.approved_commands import run_git_commands

    done = await run_git_commands(at, commands)
    return replace(done, value=ShellResult(exit=done.data["exit"], output=str(done.value), ended="exited"))


@dataclass(frozen=True, slots=True)
class ShellResult:
    """Result for code: exit status (negative: a signal), output including stderr, and "exited" or "timeout"."""

    exit: int
    output: str
    ended: str


def _read_output(at: Workspace, output: Capture, ref: str) -> str:
    path = at.artifacts.find_file(ref) if output.omitted_bytes else None
    if path is None:
        return output.text()
    with path.open("rb") as file:
        return file.read(MAX_VALUE).decode("utf-8", "replace")


def _describe_end(completed: Completed, limit: float) -> str:
    if completed.ended == "timeout":
        return f"killed after {limit:g} s, the time limit (timeout= raises it up to {MAX_TIMEOUT})"
    if completed.ended == "interrupted":
        return f"interrupted after {completed.duration:.1f} s"
    if completed.returncode < 0:
        return f"killed by signal {-completed.returncode} after {completed.duration:.1f} s"
    return f"exit {completed.returncode}" + (
        f" after {completed.duration:.1f} s" if completed.duration >= 1 else ""
    )


def _find_hint(at: Workspace, completed: Completed, text: str) -> str:
    if completed.returncode == 0 or at.sandbox.name == "unconfined":
        return ""
    if at.mode is Mode.FULL:  # all but git's data can be written
        return f"[sandbox: {_GIT_HINT}]" if re.search(r"\.git/.*Read-only file system", text) else ""
    hint = _find_installation_hint(at.root, text)
    hint = hint or next((hint for smell, hint in HINTS if re.search(smell, text)), "")
    hint = hint or _find_view_hint(at.root, text)
    if hint and at.mode is Mode.READ_ONLY and "written" in hint:
        hint = "the session is read-only: commands can write only /tmp"
    return f"[sandbox: {hint}]" if hint else ""


def _find_view_hint(root: Path, text: str) -> str:
    """Explain why a path outside of what commands see was not found. Whether it exists is not looked up."""
    for found in _NOT_FOUND.finditer(text):
        path = os.path.normpath(found[1])
        if not any(is_inside(path, each) for each in (str(root), *SYSTEM, *PRIVATE, "/dev", "/proc")):
            return f"commands see little outside the workspace, not {path}; the user can show more by visible_paths"
    return ""


_NOT_FOUND = compile_lazily(
    r"['\"`:\s](/[^\s'\"`:]+)['\"`]?:? (?:No such file or directory|Permission denied)"
)


def _find_installation_hint(root: Path, text: str) -> str:
    """Explain why a package could not be installed into the environment that Patchwright runs from."""
    if not re.search("Read-only file system|Permission denied", text):
        return ""
    names = (each.relative_to(root).as_posix() for each in list_installation_paths(root))
    name = next((each for each in names if each in text), "")
    return (
        f"Patchwright is installed in {name}, so commands cannot change it: use another environment"
        if name
        else ""
    )
