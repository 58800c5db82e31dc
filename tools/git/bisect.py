"""`git_bisect`: find the first commit at which a command fails, in a separate worktree; the user's is not changed.

Bisection as in `git bisect run`: exit code 0 is good, 125 means that a commit cannot be judged, others are bad.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.process.command import Command
from tools.core.action import Effect, Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import format_count
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.git_process import Git, GitFailed
from tools.git.worktrees import Worktree, temporary_worktree
from tools.shell.command_output import shape_output

MOST_RUNS = 40
"""Runs of the command: enough for a history of a million commits, and for many that cannot be judged."""

_REVISION = compile_lazily(r"[\w@][\w./@{}^~+-]*")
_SKIP = 125


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectResult:
    """commit: the first bad one; skipped: adjacent commits that may be it as well; runs: of the command"""

    commit: str
    skipped: Sequence[str]
    runs: int


def _effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    return Effect(kind="execute", argv=("bash", "-c", str(arguments["command"])))


@tool(effect=_effect)
async def git_bisect(command: str, good: str, bad: str = "HEAD", *, at: Workspace) -> Observation:
    """Find the first commit at which a command fails, by bisection in a separate work tree.

    command: shell command; exit code 0 is good, 125 cannot tell
    good: commit at which it passed
    """
    broker = Broker.from_path(at.root, at.trusts)
    git = Git(broker.root, alone=True, extra=broker.replacement_environment, own_filters=True)
    try:
        commits = [await asyncio.to_thread(_resolve_commit, git, each) for each in (good, bad)]
        found = await _run_bisection(at, git, command, *commits)
        about = await asyncio.to_thread(
            git.run_text,
            "show",
            "--no-show-signature",
            "--stat",
            "--no-patch",
            "--format=%h %an %ad%n%B",
            found.commit,
        )
        files = await asyncio.to_thread(
            git.run_text, "diff-tree", "--no-commit-id", "--root", "-r", "--name-status", found.commit
        )
    except GitFailed as error:
        raise ToolFailure(f"git_bisect: {error}") from None
    text = f"first bad commit ({format_count(found.runs, 'run')} of the command): {about.strip()}\n\n{files}"
    if found.skipped:
        text += f"\nor one of {', '.join(each[:10] for each in found.skipped)}, which could not be judged"
    return Observation(text=text, data={"commit_found": found.commit, "runs": found.runs})


def _resolve_commit(git: Git, name: str) -> str:
    if not _REVISION.fullmatch(name):
        raise ToolFailure(f"git_bisect: {name!r} names no commit")
    try:
        return git.run_text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except GitFailed:
        raise ToolFailure(f"git_bisect: there is no commit {name!r}") from None


async def _run_bisection(at: Workspace, git: Git, command: str, good: str, bad: str) -> BisectResult:
    """Bisect. Raises ToolFailure if `good` or `bad` is not so, or the result is undecidable."""
    skipped: set[str] = set()
    goods, runs = [good], 0
    with temporary_worktree(git, bad, at.folders.cache / "bisect") as place:
        for end, expected in ((bad, False), (good, True)):
            if await _judge_commit(at, place, command, end) is not expected:
                raise ToolFailure(
                    f"git_bisect: the command {'fails' if expected else 'passes'} at {end[:10]}, "
                    f"which was to be {'good' if expected else 'bad'}"
                )
            runs += 1
        while runs < MOST_RUNS:
            candidates = await asyncio.to_thread(_list_candidates, git, bad, goods)
            judged = [each for each in candidates if each != bad and each not in skipped]
            if not judged:
                return BisectResult(
                    commit=bad, skipped=[each for each in candidates if each in skipped], runs=runs
                )
            passes = await _judge_commit(at, place, command, judged[0])
            runs += 1
            if passes is None:
                skipped.add(judged[0])
            elif passes:
                goods.append(judged[0])
            else:
                bad = judged[0]
    raise ToolFailure(f"git_bisect: nothing found in {MOST_RUNS} runs; {bad[:10]} is bad")


def _list_candidates(git: Git, bad: str, goods: Sequence[str]) -> list[str]:
    """Return the candidates for the first bad commit, the best bisection points first."""
    lines = git.run_text("rev-list", "--bisect-all", bad, *(f"^{each}" for each in goods)).splitlines()
    return [line.split(" ")[0] for line in lines]


async def _judge_commit(at: Workspace, place: Worktree, command: str, commit: str) -> bool | None:
    """Return whether a commit is good; None if the command exits with 125."""
    await asyncio.to_thread(place.git.run, "checkout", "--detach", "--force", "--quiet", commit)
    await asyncio.to_thread(place.git.run, "clean", "-fdq")
    done = await at.sandbox.run(
        Command(
            argv=("bash", "-c", command),
            cwd=place.folder,
            timeout=at.settings.tests.timeout,
            writable=(place.folder,),
        )
    )
    if done.ended != "exited":
        raise ToolFailure(
            f"git_bisect: the command did not end at {commit[:10]}: {shape_output(at, done.stdout, budget=2_000).text}"
        )
    return None if done.returncode == _SKIP else done.returncode == 0
