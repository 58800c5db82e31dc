"""What other agents cost beside this one, in one run: start, a whole one-shot, and the cost of a step.

    python benchmarks/peers.py FOLDER [--newest] [--rounds 5] [--steps 50] [NAME …]

installs the peers from npm and PyPI into FOLDER once (pinned; `--newest` takes the newest; native programs are started
themselves, without npm's launcher), and drives each on loopback with the same cases: a server that answers at once, a
new home folder, one small repository, the command `true` in each step. Rounds take turns, so that slow moments hit all
alike. "First" is process start to the first request; "gap" is
answer sent to next request received.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from _measure import COMMAND, repository, server, stamps, timed

WORDS = "say hello"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """An agent to measure.

    package: of npm or PyPI with its version, "" for ourselves; program: in the folder of its installation
    argv: words after the program for a prompt, with the API base
    env: variables by the API base; call: what its model says to run `true`
    """

    name: str
    argv: Callable[[str, str], Sequence[str]]
    call: Mapping[str, Any]
    package: str = ""
    registry: str = ""
    program: str = ""
    env: Callable[[str], Mapping[str, str]] = lambda base: {}

    def install(self, folder: Path, *, newest: bool) -> str:
        """Install it once; return its program, "" where that fails."""
        if not self.package:
            return str(COMMAND)
        package = (
            self.package.rpartition("@" if self.registry == "npm" else "==")[0] if newest else self.package
        )
        place = folder / self.name
        program = place / self.program
        if not program.exists():
            place.mkdir(parents=True, exist_ok=True)
            if self.registry == "npm":
                commands = [["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), package]]
            else:
                venv = str(place / "venv")
                commands = [
                    [sys.executable, "-m", "venv", venv],
                    [f"{venv}/bin/pip", "install", "-q", package],
                ]
            for command in commands:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{self.name} was not installed: {done.stderr.strip()[-300:]}", file=sys.stderr)
                    return ""
        return str(program)


def _codex(base: str, words: str) -> Sequence[str]:
    options = (
        'model_provider="loopback"',
        f'model_providers.loopback={{name="loopback", base_url="{base}", wire_api="responses"}}',
        'sandbox_mode="workspace-write"',
    )
    settings = [word for each in options for word in ("-c", each)]
    return ("exec", "--skip-git-repo-check", "-m", "test", *settings, words)


PEERS = (
    Peer(
        name="patchwright",
        argv=lambda base, words: (
            *("run", words, "--model", "openai/test", "--api-base", base),
            *("--max-steps", "10000"),
        ),
        call={"tool": "shell", "arguments": {"command": "true"}},
    ),
    Peer(
        name="codex",
        package="@openai/codex@0.171.0",
        registry="npm",
        program="node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        argv=_codex,
        call={"tool": "exec_command", "arguments": {"cmd": "true"}},
    ),
    Peer(
        name="claude-code",
        package="@anthropic-ai/claude-code@2.1.332",
        registry="npm",
        program="node_modules/.bin/claude",
        argv=lambda base, words: ("-p", words, "--model", "test", "--allowedTools", "Bash"),
        call={"tool": "Bash", "arguments": {"command": "true", "description": "nothing"}},
        env=lambda base: {
            "ANTHROPIC_BASE_URL": base.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    ),
    Peer(
        name="mini",
        package="mini-swe-agent==2.4.6",
        registry="pypi",
        program="venv/bin/mini",
        argv=lambda base, words: (
            "-y",
            "--exit-immediately",
            "-t",
            words,
            "-m",
            "openai/test",
            "--cost-limit",
            "0",
        ),
        call={"tool": "bash", "arguments": {"command": "true"}},
        env=lambda base: {
            "OPENAI_API_BASE": base,
            "OPENAI_API_KEY": "none",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
        },
    ),
)
ENDS = {"mini": [{"tool": "bash", "arguments": {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}}]}
"""Calls by which a peer ends its work, where words alone do not."""


@dataclass(slots=True)
class Figures:
    """What was measured of one peer; `problem` says why nothing was."""

    first: list[float]
    wall: list[float]
    memory: list[float]
    size: int = 0
    gap: float = 0.0
    problem: str = ""


def measure_start(peer: Peer, program: str, found: Figures) -> None:
    """Add one round of starts to the figures."""
    ends = ENDS.get(peer.name)
    turns = [{"text": "hello", "calls": ends} if ends else {"text": "hello"}]
    with server(turns) as (base, log), repository() as (root, env):
        run = timed([program, *peer.argv(base, WORDS)], {**env, **peer.env(base)}, root)
        seen = stamps(log)
        found.first.append(seen[0]["arrived"] - run.started)
        found.size = seen[0]["bytes"]
    found.wall.append(run.wall)
    found.memory.append(run.memory)


def measure_steps(peer: Peer, program: str, steps: int, found: Figures) -> None:
    """Set the median gap of a session of many steps."""
    last = {"text": "done", "calls": ENDS[peer.name]} if peer.name in ENDS else {"text": "done"}
    with server([{"calls": [peer.call], "repeat": steps}, last]) as (base, log), repository() as (root, env):
        timed([program, *peer.argv(base, "go")], {**env, **peer.env(base)}, root)
        seen = stamps(log)
    gaps = [after["arrived"] - before["answered"] for before, after in pairwise(seen)]
    if len(gaps) < steps:
        raise SystemExit(f"{len(gaps)} of {steps} steps were made")
    found.gap = statistics.median(gaps[:steps])


def attempt(found: Figures, work: Callable[[], None]) -> None:
    """Do a part of the work, unless an earlier one failed; keep why it failed."""
    if found.problem:
        return
    try:
        work()
    except (SystemExit, IndexError, OSError) as problem:
        found.problem = " ".join(str(problem).split())[-160:] or "no request came"


def main() -> None:
    """Measure the named peers, all by default, and print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--newest", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=50)
    asked = parser.parse_args()
    chosen = [each for each in PEERS if not asked.names or each.name in asked.names]
    programs = {each.name: each.install(asked.folder.resolve(), newest=asked.newest) for each in chosen}
    figures = {name: Figures([], [], []) for name, program in programs.items() if program}
    able = [each for each in chosen if each.name in figures]
    for number in range(asked.rounds + 1):
        for peer in able:
            found = figures[peer.name]
            attempt(found, partial(measure_start, peer, programs[peer.name], found))
            if number == 0:  # warms byte code and caches
                found.first, found.wall, found.memory = [], [], []
    for peer in able:
        found = figures[peer.name]
        attempt(found, partial(measure_steps, peer, programs[peer.name], asked.steps, found))
    print(f"| peer | first, ms | one-shot, ms | MB | first request, KB | gap of {asked.steps} steps, ms |")
    print("|---|--:|--:|--:|--:|--:|")
    for peer in able:
        found = figures[peer.name]
        name = peer.package or peer.name
        if not found.first:
            print(f"| {name} | not measured: {found.problem} | | | | |")
            continue
        times = [f"{1000 * statistics.median(each):.0f}" for each in (found.first, found.wall)]
        gap = f"{1000 * found.gap:.1f}" if found.gap else f"not measured: {found.problem}"
        memory, size = statistics.median(found.memory), found.size / 1000
        print(f"| {name} | {times[0]} | {times[1]} | {memory:.0f} | {size:.1f} | {gap} |")
    print(json.dumps({name: [round(1000 * each) for each in found.first] for name, found in figures.items()}))


if __name__ == "__main__":
    main()
