"""Several attempts at one task, each a session in its own worktree; the best patch is applied.

Best of n, selected by execution: R2E-Gym (Jain et al. 2025, arXiv 2504.07164) gains most from running tests.
Among attempts with equal test results, those that do not weaken tests come first, then those with fewer
lines.

To the loop this is a model: its first reply runs the attempts and applies the patch of the best of them. The
session treats that change like any other: it can be undone, is tested again in the workspace, and a commit
contains it and none of the user's changes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.exit_codes import BY_FAULT, Exit
from agent.model.protocol import AssistantMessage, Delta, Reply, Request, TextDelta, ToolMessage, Usage
from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.helpers.git_runner import strip_git_variables
from sandbox.process.watchdog import start_watchdog, watch_group
from tools.core.action import Action
from tools.core.artifacts import Artifacts
from tools.core.text import format_count
from tools.git.git_change import read_committed_change
from tools.git.git_process import Git
from tools.git.worktrees import Worktree, commit_work_tree, temporary_worktree
from tools.lint.checks import weakened

PATIENCE = 10.0
"""Seconds that a stopped attempt gets to terminate its commands and close its log."""

_TIERS = {Exit.DONE: 0, Exit.NO_TEST_RUNNER: 1, Exit.TESTS_FAIL: 2}
"""Exit codes of attempts that changed files, the best first; all others come after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Result of one attempt.

    end: its last event; patch: relative to the user's present work tree
    weakened_tests: number of tests it weakens; changes_tests: whether it changes test files
    """

    number: int
    end: Mapping[str, Any]
    patch: bytes
    seconds: float
    weakened_tests: int = 0
    changes_tests: bool = False

    @property
    def exit_code(self) -> int:
        return int(self.end.get("exit_code", Exit.INTERNAL))

    def compute_sort_key(self, expected: int) -> tuple[int, ...]:
        """Return the sort key of an attempt, the best first. expected: number of tests that should pass"""
        return (
            not self.patch,
            _TIERS.get(Exit(self.exit_code), 3),
            self.weakened_tests > 0,
            self.count_tests("failed"),
            sum(map(self.count_tests, ("skipped", "xfailed", "xpassed", "deselected"))),
            max(0, expected - self.count_tests("passed")),
            *self._diff_size,
            self.number,
        )

    def count_tests(self, kind: str) -> int:
        """Return how many tests "passed", "failed", were "skipped" … at its end, if known."""
        said = str(self.end.get("verification", "")).partition(";")[0]
        found = re.search(rf"(\d+) {kind}", said)
        return int(found[1]) if found else 0

    @property
    def _diff_size(self) -> tuple[int, ...]:
        return (sum(line[:1] in (b"+", b"-") for line in self.patch.splitlines()),)

    def __str__(self) -> str:
        told = str(self.end.get("verification") or self.end.get("outcome", "internal"))
        changed = format_count(len(self.end.get("files", ())), "file") if self.patch else "nothing changed"
        weak = f", {format_count(self.weakened_tests, 'test')} weakened" if self.weakened_tests else ""
        return f"attempt {self.number}: {told}; {changed}{weak}; {self.seconds:.0f} s"


class SharedCostLimit:
    """Cost limit shared by several attempts: each gets an equal share of the rest when it starts."""

    def __init__(self, dollars: float, attempts: int) -> None:
        self._left = dollars
        self._waiting = attempts

    def reserve_share(self) -> float:
        """Reserve the share of the next attempt, in dollars."""
        share = max(0.0, self._left) / self._waiting
        self._waiting -= 1
        self._left -= share
        return share

    def return_unspent(self, share: float, cost: float | None) -> None:
        """Return the unspent part of an attempt's share. cost: in dollars; None: unknown, so all counts as spent"""
        if cost is not None:
            self._left += share - cost


@dataclass(slots=True, kw_only=True)
class AttemptsModel:
    """Model whose first reply is made by several attempts. Implements `Model`.

    name: of the model that makes the attempts; count: how many; prompt: the task
    command: starts a session that reads its prompt from standard input and ends with one line of JSON; `-C`
    is added
    max_cost: dollars for all attempts together
    git: of the user's repository; subfolder: the folder in it that sessions work from
    log_folder: a folder for the logs of the attempts; artifacts: for the patches
    """

    name: str
    count: int
    prompt: str
    command: Sequence[str]
    git: Git
    subfolder: str
    home: Home
    max_cost: float | None = None
    log_folder: Path = field(init=False)
    artifacts: Artifacts = field(init=False)
    window: int = 1_000_000
    _summary: str = field(default="", init=False)
    _status: str = field(default="done", init=False)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        if not request.tools:  # a request for a short text: the session has a fallback
            yield Reply(text="")
            return
        made = [each for each in request.messages if isinstance(each, AssistantMessage) and each.actions]
        if made:
            yield self._build_final_reply(request, made[0].actions[0].id)
            return
        done: list[Attempt] = []
        async for attempt in self._run_attempts():
            yield TextDelta(text=f"{attempt}\n")
            done.append(attempt)
        best = choose_best(done)
        usage = _sum_usage([each.end.get("usage") or {} for each in done])
        self._summary, text = str(best.end.get("summary", "")), "".join(f"{each}\n" for each in done)
        if not best.patch:
            yield self._build_unchanged_reply(done, text, usage)
            return
        refs = {each.number: self.artifacts.save(each.patch) for each in done if each.patch}
        others = ", ".join(f"{number}: {ref}" for number, ref in sorted(refs.items()))
        chosen = f"Attempt {best.number} comes back. (Patches of all: {others})"
        self._status = "not achieved" if best.exit_code == Exit.NOT_ACHIEVED else "done"
        action = Action(id="bring-back", tool="bring_back", arguments={"patch": refs[best.number]})
        yield TextDelta(text=chosen)
        yield Reply(text=text + chosen, actions=(action,), usage=usage, stop="actions")

    async def close(self) -> None:
        """Do nothing: no resource is held open."""

    def _build_final_reply(self, request: Request, call: str) -> Reply:
        answers = {each.call: each for each in request.messages if isinstance(each, ToolMessage)}
        back = answers.get(call)
        failed = back is None or back.failed
        summary = (
            f"The best attempt could not be brought back: {back.text if back else ''}"
            if failed
            else self._summary
        )
        return _build_finish_reply(
            summary, "not achieved" if failed else self._status, Usage(), len(request.messages)
        )

    def _build_unchanged_reply(self, done: Sequence[Attempt], text: str, usage: Usage) -> Reply:
        """Build the reply if no attempt changed a file: an answer, no work to do, or a common obstacle."""
        best = min(done, key=lambda each: (each.exit_code, each.number))
        for fault, code in BY_FAULT.items():
            if best.exit_code == code:
                raise UserError(fault, f"no attempt finished: {best.end.get('summary', '')}")
        status = {Exit.DONE: "done", Exit.NOTHING_TO_DO: "nothing to do"}.get(
            Exit(best.exit_code), "not achieved"
        )
        return _build_finish_reply(f"{best.end.get('summary', '')}".strip() or text, status, usage, 0)

    async def _run_attempts(self) -> AsyncIterator[Attempt]:
        """Yield each attempt when it has ended: one per processor in parallel, all from the same commit."""
        base = await asyncio.to_thread(commit_work_tree, self.git)
        slots, making = asyncio.Semaphore(os.cpu_count() or 1), asyncio.Lock()
        purse = None if self.max_cost is None else SharedCostLimit(self.max_cost, self.count)
        create_private_folder(self.log_folder)
        tasks = [
            asyncio.ensure_future(self._run_attempt(number, base, slots, making, purse))
            for number in range(1, self.count + 1)
        ]
        try:
            for ended in asyncio.as_completed(tasks):
                yield await ended
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_attempt(
        self,
        number: int,
        base: str,
        slots: asyncio.Semaphore,
        making: asyncio.Lock,
        purse: SharedCostLimit | None,
    ) -> Attempt:
        async with slots:
            with ExitStack() as stack:
                async with making:  # git creates one worktree at a time
                    tree = stack.enter_context(
                        temporary_worktree(self.git, base, self.home.cache / "worktrees")
                    )
                stack.callback(self._keep_log, number, tree.folder)
                started = time.monotonic()
                share = None if purse is None else purse.reserve_share()
                end = await self._run_session(number, tree.folder / self.subfolder, share)
                if purse is not None and share is not None:
                    purse.return_unspent(share, (end.get("usage") or {}).get("cost"))
                seconds = time.monotonic() - started
                patch, weak, changes_tests = await asyncio.to_thread(_inspect_worktree, tree)
                return Attempt(
                    number=number,
                    end=end,
                    patch=patch,
                    seconds=seconds,
                    weakened_tests=weak,
                    changes_tests=changes_tests,
                )

    async def _run_session(self, number: int, folder: Path, max_cost: float | None) -> Mapping[str, Any]:
        """Run one attempt; return its last event, {} if there is none. max_cost: its limit in dollars"""
        limit = [] if max_cost is None else [f"--max-cost={max_cost}"]
        with (self.log_folder / f"{number}.stderr").open("wb") as errors:
            start_watchdog()
            process = await asyncio.create_subprocess_exec(
                *self.command,
                *limit,
                "-C",
                str(folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=strip_git_variables(),
                start_new_session=True,
            )
        with watch_group(process.pid):  # if this process is killed, the attempt is, too
            try:
                output, _ = await process.communicate(self.prompt.encode("utf-8", "replace"))
            finally:
                await _stop_process(process)
        try:
            end = json.loads(output.splitlines()[-1])
        except (IndexError, ValueError):  # killed, or worse: its output is kept
            return {}
        return end if isinstance(end, dict) else {}

    def _keep_log(self, number: int, folder: Path) -> None:
        """Move the attempt's log to the session's folder; delete the other data kept for its temporary worktree."""
        project = self.home.get_project_folder(folder.resolve())
        for log in (project / "sessions").glob("*/log.jsonl"):
            with suppress(OSError):
                log.replace(self.log_folder / f"{number}.jsonl")
        shutil.rmtree(project, ignore_errors=True)


async def _stop_process(process: asyncio.subprocess.Process) -> None:
    """Terminate a running session with all its child processes."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def choose_best(attempts: Sequence[Attempt]) -> Attempt:
    """Return the best attempt. Of unchanged tests, those that pass in one attempt should pass in each."""
    untouched = [each.count_tests("passed") for each in attempts if each.patch and not each.changes_tests]
    return min(attempts, key=lambda each: each.compute_sort_key(max(untouched, default=0)))


def _inspect_worktree(tree: Worktree) -> tuple[bytes, int, bool]:
    """Return a worktree's patch, the number of tests it weakens, and whether it changes test files."""
    patch = tree.build_patch()
    if not patch:
        return b"", 0, False
    change = read_committed_change(tree.git, tree.base, tree.git.run_text("write-tree"))
    change.load_contents()
    changes_tests = any(weakened.is_test_file(file.path) for file in change.files)
    return patch, len(list(weakened.check(change))), changes_tests


def _build_finish_reply(summary: str, status: str, usage: Usage, number: int) -> Reply:
    arguments = {"summary": summary, "status": status}
    action = Action(id=f"finish-{number}", tool="finish", arguments=arguments)
    return Reply(text="", actions=(action,), usage=usage, stop="actions")


def _sum_usage(all_used: Sequence[Mapping[str, Any]]) -> Usage:
    """Sum the usage of the attempts; an unknown price makes the sum unknown."""
    names = ("input", "cached", "written", "output", "reasoning")
    costs = [used.get("cost") for used in all_used]
    cost = None if any(each is None for each in costs) else float(sum(each or 0.0 for each in costs))
    return Usage(**{name: sum(int(used.get(name) or 0) for used in all_used) for name in names}, cost=cost)
