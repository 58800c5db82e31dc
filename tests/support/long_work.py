"""Long works of the program itself, and how long a run in the middle of one goes on after it should end.

`WORKS` names them; `measure_end` starts the real program, lets it get into one, and tells it to stop.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.support.hostile_endpoint import HostileEndpoint

CHECKOUT = Path(__file__).parents[2]

Stop = Literal["interrupt", "terminate", "limit"]
"""Ctrl-C, which ends the step and, pressed again, the turn; SIGTERM; `--max-time`."""

STOPS: tuple[Stop, ...] = ("interrupt", "terminate", "limit")

STARTED = 60.0
"""Seconds that a run gets to begin its work."""

ENDED = 20.0
"""Seconds after which a run that does not end is killed."""


def build_call(tool: str, **arguments: Any) -> Mapping[str, Any]:
    """One action of a scripted turn, as often as the run goes on."""
    return {"calls": [{"tool": tool, "arguments": arguments}], "repeat": 500}


def write_tree(root: Path, files: int) -> None:
    """Write so many small files, a hundred a folder."""
    for number in range(files):
        if number % 100 == 0:
            (root / f"d{number // 100}").mkdir(exist_ok=True)
        (root / f"d{number // 100}" / f"f{number}.txt").write_text(f"word {number} of the tree\n" * 20)


def write_sources(root: Path, suffix: str, unit: str, *, files: int, size: int) -> None:
    """Write so many source files of some `size` bytes that repeat `unit`, in which % becomes a number."""
    for number in range(files):
        count = size // len(unit)
        (root / f"big{number}{suffix}").write_text(
            "".join(unit.replace("%", f"{number}_{n}") for n in range(count))
        )


IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "A Person"), ("EMAIL", "person@example.org"))
}


def _git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=A Person", "-c", "user.email=person@example.org", "-c", "gc.auto=0")
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


def commit_all(root: Path) -> None:
    """Commit all files of a folder."""
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A work that takes long.

    prepare: fills the repository; `size` 1 is what a benchmark measures, tests take less
    turns: of the scripted model
    options: of the command
    endpoint: the attack that a hostile endpoint plays in place of the script
    settings: of the user
    delays: seconds from the first event of the work until the stop
    """

    prepare: Callable[[Path, float], None] = lambda root, size: None
    turns: Sequence[Mapping[str, Any]] = ()
    options: Sequence[str] = ("--no-commit",)
    endpoint: str = ""
    settings: str = ""
    begins: str = "action"
    is_trusted: bool = False
    delays: Sequence[float] = (0.3, 1.0, 2.5)
    environment: Mapping[str, str] = field(default_factory=dict)


PYTHON = "def function_%(first, second):\n    return [each for each in range(first) if each % second]\n\n\n"
SCRIPT = "function f%(first, second) {\n  return first.map((each) => each + second[0]);\n}\n"


def _prepare_large_edit(root: Path, suffix: str, unit: str, size: float) -> None:
    write_sources(root, suffix, unit, files=1, size=int(1_900_000 * size))


def _prepare_hook(root: Path, command: str) -> None:
    (root / "a.py").write_text("x = 1\n")
    commit_all(root)
    hook = root / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\n{command}\n")
    hook.chmod(0o755)


def _prepare_changed_text(root: Path, size: float) -> None:
    lines = int(150_000 * size)
    (root / "huge.txt").write_text("".join(f"line {n} {n * 7919 % 1013}\n" for n in range(lines)))
    commit_all(root)
    (root / "huge.txt").write_text("".join(f"row {n} {n * 7907 % 1009}\n" for n in range(lines)))


def _prepare_failing(root: Path, size: float) -> None:
    body = "".join(f"    if a > {n}:\n        b = b + a - {n}\n" for n in range(300))
    (root / "calc.py").write_text(f"def work(a, b):\n{body}    return b\n")
    (root / "test_calc.py").write_text(
        "from calc import work\n\n\n"
        + "".join(f"def test_{n}():\n    assert work({n}, 1) == {n + 7}\n\n\n" for n in range(60))
    )
    commit_all(root)


LINE = "token = ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7 http://a:b"

WORKS: Mapping[str, Work] = {
    "snapshot of a large tree": Work(
        prepare=lambda root, size: write_tree(root, int(100_000 * size)),
        turns=[build_call("shell", command="echo x >> changed.txt")],
        begins="prompt",
        delays=(0.3, 1.0, 3.0, 8.0),
    ),
    "diff of a huge file": Work(
        prepare=_prepare_changed_text,
        turns=[build_call("git_diff")],
    ),
    "write of a huge file": Work(
        prepare=_prepare_changed_text,
        turns=[
            {
                "calls": [
                    {
                        "tool": "write",
                        "arguments": {
                            "path": "huge.txt",
                            "content": "".join(f"w {n} {n * 11 % 997}\n" for n in range(100_000 + i)),
                        },
                    }
                ]
            }
            for i in range(6)
        ],
    ),
    "redaction of a huge output": Work(
        turns=[
            build_call(
                "shell",
                command=f"for i in 1 2 3 4 5 6 7 8 9; do yes '{LINE}' | head -c 30000000; done",
            )
        ],
    ),
    "redaction of a huge line": Work(
        turns=[build_call("shell", command="yes 'http://a:' | tr -d '\\n' | head -c 300000000")],
    ),
    "search over a large tree": Work(
        prepare=lambda root, size: write_tree(root, int(100_000 * size)),
        turns=[build_call("search", pattern="word \\d+ of")],
        delays=(0.3, 1.0, 3.0, 8.0),
    ),
    "edits of a huge Python file": Work(
        prepare=lambda root, size: _prepare_large_edit(root, ".py", PYTHON, size),
        turns=[
            {
                "calls": [
                    {
                        "tool": "edit",
                        "arguments": {
                            "path": "big0.py",
                            "old": f"function_0_{n}(first, second)",
                            "new": f"method_0_{n}(first, second)",
                        },
                    }
                ]
            }
            for n in range(10, 400)
        ],
    ),
    "edits of a huge script": Work(
        prepare=lambda root, size: _prepare_large_edit(root, ".js", SCRIPT, size),
        turns=[
            {
                "calls": [
                    {
                        "tool": "edit",
                        "arguments": {
                            "path": "big0.js",
                            "old": f"f0_{n}(first, second)",
                            "new": f"m0_{n}(first, second)",
                        },
                    }
                ]
            }
            for n in range(10, 400)
        ],
    ),
    "index of huge sources": Work(
        prepare=lambda root, size: write_sources(root, ".py", PYTHON, files=int(40 * size) + 1, size=900_000),
        turns=[build_call("code", action="map", target=".")],
        delays=(0.3, 1.0, 3.0, 6.0),
    ),
    "outline of one source": Work(
        prepare=lambda root, size: write_sources(root, ".py", PYTHON, files=1, size=380_000),
        turns=[build_call("code", action="outline", target="big0.py")],
    ),
    "read of a huge file": Work(
        prepare=_prepare_changed_text,
        turns=[build_call("read", path="huge.txt")],
    ),
    "the offline engine": Work(
        prepare=_prepare_failing,
        options=("--no-commit", "--model", "offline"),
        begins="prompt",
        delays=(0.3, 1.0, 3.0, 6.0),
    ),
    # A fast machine reaches the bound of a reply within a second.
    "a hostile endpoint": Work(endpoint="endless text", begins="prompt", delays=(0.1, 0.3, 0.6)),
    "arguments without an end": Work(endpoint="endless arguments", begins="prompt"),
    "a silent MCP server": Work(
        settings='[mcp]\nsilent = "sleep 600"\n',
        turns=[{"text": "done"}],
        begins="prompt",
    ),
    "a hook that hangs": Work(
        prepare=lambda root, size: _prepare_hook(root, "sleep 600"),
        options=("--tests", "true"),
        is_trusted=True,
        turns=[
            {"calls": [{"tool": "edit", "arguments": {"path": "a.py", "old": "x = 1", "new": "x = 2"}}]},
            {"text": "done", "repeat": 9},
        ],
    ),
    "commit of many files": Work(
        prepare=lambda root, size: _prepare_hook(root, "exit 0"),
        options=("--tests", "true"),
        turns=[
            {
                "calls": [
                    {
                        "tool": "shell",
                        "arguments": {
                            "command": "mkdir n; for i in $(seq 20000); do echo $i > n/$i.txt; done"
                        },
                    }
                ]
            },
            {"text": "done", "repeat": 9},
        ],
        delays=(0.3, 2.5, 3.5, 5.0),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended. seconds: from the stop until the process was gone; was_running: when it was stopped"""

    seconds: float
    code: int
    was_running: bool


class _Run:
    def __init__(self, place: Path, work: Work, model: str, *options: str, base: str = "") -> None:
        self._home = place / "home"
        self._home.mkdir(exist_ok=True)
        (self._home / "config").mkdir(exist_ok=True)
        (self._home / "config/settings.toml").write_text(work.settings)
        env = {
            **os.environ,
            **IDENTITY,
            "PATCHWRIGHT_HOME": str(self._home),
            "PYTHONPATH": str(CHECKOUT),
            **work.environment,
        }
        model_words = (
            [] if "--model" in work.options else ["--model", model, *(["--api-base", base] if base else [])]
        )
        if base:
            env["OPENAI_API_KEY"] = "none"
        python = sys.executable
        if work.is_trusted:
            _git(place / "repo", "checkout", "-q", "--", ".")
            subprocess.run(
                [python, "-m", "patchwright", "trust"],
                cwd=place / "repo",
                env=env,
                input=b"y\n",
                check=True,
                capture_output=True,
            )
        self.process = subprocess.Popen(
            [python, "-m", "patchwright", "run", "change it", *model_words, *work.options, *options],
            cwd=place / "repo",
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def read_events(self) -> list[dict[str, Any]]:
        """Return the events of the log so far."""
        found = []
        for log in self._home.rglob("log.jsonl"):
            for line in log.read_bytes().split(b"\n"):
                try:
                    found.append(json.loads(line))
                except ValueError:
                    continue
        return found

    def wait_for(self, kind: str) -> dict[str, Any]:
        """Wait for the first event of a kind."""
        until = time.monotonic() + STARTED
        while time.monotonic() < until:
            for each in self.read_events():
                if each["kind"] == kind:
                    return each
            assert self.process.poll() is None, f"it ended with {self.process.returncode}"
            time.sleep(0.02)
        raise AssertionError(f"no {kind}: {[e['kind'] for e in self.read_events()]}")

    def wait_for_answer(self, asked: float) -> None:
        """Wait until the log shows that the first Ctrl-C was seen, or the run has ended."""
        until = time.monotonic() + ENDED
        while self.process.poll() is None and time.monotonic() < until:
            if any(each["time"] >= asked for each in self.read_events()):
                return
            time.sleep(0.02)

    def wait_for_end(self) -> None:
        """Wait for the end; a run that does not end is killed."""
        try:
            self.process.wait(ENDED)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def _serve(attack: str) -> Iterator[str]:
    if not attack:
        yield ""
        return
    with HostileEndpoint(attack) as server:
        yield server.url


def prepare_place(place: Path, work: Work, size: float) -> str:
    """Create the repository of a work and its script; return the model's name."""
    (place / "repo").mkdir(parents=True)
    _git(place / "repo", "init", "-q", "-b", "main")
    work.prepare(place / "repo", size)
    (place / "turns.json").write_text(json.dumps({"turns": [*work.turns, {"text": "done", "repeat": 500}]}))
    return f"scripted:{place / 'turns.json'}"


def measure_end(place: Path, work: Work, model: str, stop: Stop, delay: float) -> Ending:
    """Start a run, stop it `delay` seconds after its work began, and wait until it has ended."""
    shutil.rmtree(place / "home", ignore_errors=True)
    with _serve(work.endpoint) as url:
        limit = ("--max-time", str(delay)) if stop == "limit" else ()
        run = _Run(place, work, "openai/any" if url else model, *limit, base=url)
        began = run.wait_for("prompt" if limit else work.begins)["time"]
        time.sleep(max(0, began + delay - time.time()))
        asked, was_running = time.time(), run.process.poll() is None
        if was_running and not limit:
            run.process.send_signal(signal.SIGINT if stop == "interrupt" else signal.SIGTERM)
        if stop == "interrupt":
            run.wait_for_answer(asked)
            if run.process.poll() is None:
                run.process.send_signal(signal.SIGINT)
        run.wait_for_end()
        return Ending(seconds=time.time() - asked, code=run.process.returncode, was_running=was_running)
