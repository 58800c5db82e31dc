"""Start of git commands by GitPython, in an environment of ours and with the git that was chosen."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.helpers.own_programs import require_own_program
from tools.core.action import ToolFailure

if TYPE_CHECKING:
    from git import Git


def prepare_gitpython(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], **_: Any
) -> Callable[[], subprocess.Popen[bytes]]:
    """Return the function that starts a git command by GitPython."""
    # GitPython always starts from our own environment, so what must go is taken away by env(1).
    dropped = [part for name in os.environ.keys() - env.keys() for part in ("-u", name)]
    prefix = [require_own_program("env", cwd), *dropped] if dropped else []
    git = _import_gitpython(argv[0])(str(cwd))
    return partial(_start_by_gitpython, git, [*prefix, *argv], env)


def _start_by_gitpython(git: Git, argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    started = git.execute(argv, istream=subprocess.PIPE, as_process=True, env=env, start_new_session=True)
    process: subprocess.Popen[bytes] | None = started.proc
    if process is None:  # pragma: no cover - GitPython's type allows it, its code does not
        raise ToolFailure("git could not be started")
    started.proc = None  # GitPython would signal the process when its own handle is collected
    return process


def _import_gitpython(program: str) -> type[Git]:
    """Import GitPython's class. The import runs the git that this variable names, else the first on the PATH."""
    named = os.environ.get(_GIT_OF_GITPYTHON)
    os.environ[_GIT_OF_GITPYTHON] = program
    try:
        from git import Git  # 110 ms: never for a command that does not need it
    finally:
        if named is None:
            del os.environ[_GIT_OF_GITPYTHON]
        else:
            os.environ[_GIT_OF_GITPYTHON] = named
    return Git


_GIT_OF_GITPYTHON = "GIT_PYTHON_GIT_EXECUTABLE"
