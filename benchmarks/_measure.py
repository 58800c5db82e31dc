"""What the benchmarks share: a server to talk to, a repository to work in, and honest figures.

Absolute times on a shared machine mean little; each benchmark measures a floor (`python -c pass`)
in the same run, turn and turn about, and prints the ratio or the difference as well.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[1]
COMMAND = str(Path(sys.executable).parent / "patchwright")


def environment(home: Path, **extra: str) -> dict[str, str]:
    """A clean environment: its own HOME, byte code on."""
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "TMPDIR")}
    return {**kept, "HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull, **extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One process: wall seconds, and the largest resident size of it or any child, in MB."""

    wall: float
    memory: float
    started: float


def timed(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> Run:
    """Run a process to its end; complain if it fails."""
    with tempfile.TemporaryFile() as out:
        started = time.monotonic()
        process = subprocess.Popen(
            argv, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            out.seek(0)
            raise SystemExit(f"{argv} ended with {process.returncode}:\n{out.read().decode()}")
    return Run(wall=wall, memory=usage.ru_maxrss / 1024, started=started)


@contextmanager
def server(turns: Sequence[Mapping[str, Any]] | None = None) -> Iterator[tuple[str, Path]]:
    """The loopback model server in a process of its own: (API base, log of its time stamps)."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        argv = [sys.executable, str(CHECKOUT / "tests/support/loopback.py"), "--port", "0", "--log", str(log)]
        if turns is not None:
            script = Path(folder) / "script.json"
            script.write_text(json.dumps(list(turns)))
            argv += ["--script", str(script)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield f"http://127.0.0.1:{port}/v1", log
        finally:
            process.terminate()
            process.wait()


@contextmanager
def repository() -> Iterator[tuple[Path, dict[str, str]]]:
    """A small git repository and the environment of a new user."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder) / "repo", Path(folder) / "home"
        root.mkdir()
        home.mkdir()
        (root / "a.py").write_text("def one():\n    return 1\n")
        env = environment(home)
        for argv in (
            ["init", "-q"],
            ["add", "-A"],
            ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "s"],
        ):
            subprocess.run(["git", *argv], cwd=root, env=env, check=True)
        yield root, env


def milliseconds(values: Sequence[float]) -> str:
    """median (min to max), in ms."""
    scaled = sorted(1000 * value for value in values)
    return f"{statistics.median(scaled):7.1f} ms  ({scaled[0]:.1f} to {scaled[-1]:.1f})"


def stamps(log: Path) -> list[dict[str, Any]]:
    """The server's record of each request."""
    return [json.loads(line) for line in log.read_text().splitlines()]
