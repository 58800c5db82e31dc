"""Run the program as a user does: a real process, its own HOME, real exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.fork_server import can_fork_start, run_forked

CHECKOUT = Path(__file__).parents[2]

PATCHWRIGHT = (sys.executable, "-m", "patchwright")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a process left behind."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The test's environment (HOME and keys are isolated by conftest), with the checkout importable."""
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONWARNINGS": "default", **(extra or {})}


def run(
    *arguments: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    timeout: float = 120,
    wrap: Sequence[str] = (),
) -> Result:
    """Run `patchwright ARGUMENTS…` to its end. `wrap` is put in front of the command line.

    Without it, the imports may be those of an earlier start (see fork_server.py).
    """
    words, variables = [str(each) for each in arguments], environment(env)
    if not wrap and can_fork_start(variables):
        code, out, err = run_forked(words, cwd=cwd, env=variables, stdin=stdin, timeout=timeout)
        return Result(code=code, out=out, err=err)
    done = subprocess.run(
        [*wrap, *PATCHWRIGHT, *words],
        cwd=cwd,
        env=variables,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Result(code=done.returncode, out=done.stdout, err=done.stderr)


def git(repository: Path, *arguments: str) -> str:
    """Run git in a repository and return what it prints."""
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def script(folder: Path, turns: Sequence[Mapping[str, Any]], name: str = "turns.json") -> str:
    """Write a scripted model's turns to a file; returns the model's name for `--model`."""
    path = folder / name
    path.write_text(json.dumps({"turns": list(turns)}), "utf-8")
    return f"scripted:{path}"


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """One action of a scripted turn."""
    return {"tool": tool, "arguments": arguments}
