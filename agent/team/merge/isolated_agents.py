"""Agents in worktrees: their changes come into the session's files when they report, or are kept apart and named."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Literal

from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.events import MergeEvent
from agent.exit_codes import Exit
from agent.team.activity import AgentRow
from agent.team.merge.merge_action import MOST_NAMED, open_git
from agent.team.merge.merge_result import Conflicts, Merged
from agent.team.merge.writers import (
    Writer,
    commit_work,
    list_left_out,
    merge_commit,
    prepare_resolution,
    start_writer,
)
from agent.team.report import Report
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.text import join_names
from tools.git.git_process import Git, GitFailed

MOST_RESOLUTIONS = 2
"""How often a conflict goes back to the agent; then it is the session's to solve."""

MERGED_ENDS = (Exit.DONE, Exit.NO_TEST_RUNNER, Exit.NOTHING_TO_DO, Exit.TESTS_FAIL)
"""Ends of an agent whose changes are merged; the tests are run on the whole at the end of the turn."""

MARK = b"\n+<<<<<<< yours"
"""Of a conflict that was not solved, in a patch."""

STILL_MARKED = """Your files still have marks of conflicts (<<<<<<<, >>>>>>>). Solve each so that both aims are met, \
and leave none."""

KEPT_FILES = "(Your files are as you reported them last; they are not merged yet.)"

NEW_FILES = """(Your files are the present ones of the session that started you: with changes of others, and with \
those of yours that were merged.)"""


Outcome = Literal["reported", "kept", "merged", "conflicts"]

Ask = Callable[[str], Awaitable[Report]]
"""Gives an agent a prompt in its worktree, and returns its report."""


@dataclass(frozen=True, slots=True)
class Unsolved:
    """Work that has no merge yet. conflicts: with the session's files, None for marks that the agent left in its own"""

    conflicts: Conflicts | None


class IsolatedAgents:
    """Starts the agents of one session that work in worktrees, and merges what they report, one at a time."""

    def __init__(self, runtime: Runtime, children: Children) -> None:
        self._runtime = runtime
        self._children = children
        self._merging = asyncio.Lock()
        self._resolutions: Counter[str] = Counter()

    async def start(self, spec: ChildSpec, earlier: AgentRow | None = None) -> Writer:
        """Start an agent with the session's present files; an earlier one with its work that is not merged, if any.

        Raises UserError that says why where a worktree would lack files.
        """
        if earlier is None or not earlier.has_unmerged_work:
            base = await self._children.worktrees.commit_files()
            await asyncio.to_thread(self._check_nested, base)
            return await start_writer(self._children, replace(spec, base=base))
        patch = await asyncio.to_thread(self._diff, earlier.base, earlier.commit)
        return await start_writer(self._children, replace(spec, base=earlier.base, patch=patch))

    async def bring_in(self, writer: Writer, report: Report, ask: Ask) -> Report:
        """Merge the work that an agent reports, and return the report with what became of it.

        A conflict goes back to the agent with both sides; what it cannot solve is named, and kept in a commit.
        """
        conflicts: Conflicts | None = None
        for resolutions in range(MOST_RESOLUTIONS + 1):
            commit = await commit_work(self._runtime, writer)
            patch = await asyncio.to_thread(self._diff, writer.base, commit)
            if not patch and conflicts is None:
                self._record(writer.child.id, "merged", writer.base, commit)
                return replace(report, merge="It changed no file.")
            is_kept = bool(report.question) or report.exit_code not in MERGED_ENDS
            self._record(writer.child.id, "kept" if is_kept else "reported", writer.base, commit)
            if is_kept:
                return _describe_kept(report, writer.base, commit)
            is_marked = conflicts is not None and MARK in patch
            if not is_marked:
                try:
                    outcome = await self._merge(
                        writer.child.id, writer.base, commit, await list_left_out(writer)
                    )
                except UserError as error:
                    self._record(writer.child.id, "kept", writer.base, commit)
                    return _describe_kept(report, writer.base, commit, error.message)
                if isinstance(outcome, Merged):
                    return _describe_merged(report, outcome)
                conflicts = outcome
            if conflicts is None or resolutions == MOST_RESOLUTIONS:
                break
            told = STILL_MARKED if is_marked else await prepare_resolution(self._runtime, writer, conflicts)
            solved = await ask(told)
            report = replace(
                solved, text="\n\n".join(filter(None, (report.text.strip(), solved.text.strip())))
            )
        paths = [] if conflicts is None else [each.path for each in conflicts.files]
        self._record(writer.child.id, "conflicts", writer.base, commit, paths)
        return _describe_conflicts(report, paths, writer.base, commit)

    async def keep_work(self, writer: Writer) -> None:
        """Keep what an agent in the background has done in a commit, until its report is taken."""
        commit = await commit_work(self._runtime, writer)
        has_changes = bool(await asyncio.to_thread(self._diff, writer.base, commit))
        left_out = list(await list_left_out(writer))
        outcome: Outcome = "reported" if has_changes else "merged"
        self._record(writer.child.id, outcome, writer.base, commit, [], left_out)

    async def bring_in_kept(self, row: AgentRow, report: Report) -> Report | Unsolved:
        """Merge the work of an agent in the background, whose report is taken now, as `bring_in` does it.

        Unsolved: a conflict goes back to the agent; see `begin_resolution`.
        """
        if row.merge != "reported":
            return replace(report, merge="It changed no file.")
        if report.question or report.exit_code not in MERGED_ENDS:
            self._record(row.child, "kept", row.base, row.commit)
            return _describe_kept(report, row.base, row.commit)
        sent_back = self._resolutions[row.child]
        conflicts: Conflicts | None = None
        if not sent_back or MARK not in await asyncio.to_thread(self._diff, row.base, row.commit):
            try:
                outcome = await self._merge(row.child, row.base, row.commit, row.left_out)
            except UserError as error:
                return self.give_up(row, report, error.message)
            if isinstance(outcome, Merged):
                del self._resolutions[row.child]
                return _describe_merged(report, outcome)
            conflicts = outcome
        if sent_back < MOST_RESOLUTIONS:
            return Unsolved(conflicts)
        del self._resolutions[row.child]
        paths = [] if conflicts is None else [each.path for each in conflicts.files]
        self._record(row.child, "conflicts", row.base, row.commit, paths)
        return _describe_conflicts(report, paths, row.base, row.commit)

    async def begin_resolution(
        self, spec: ChildSpec, row: AgentRow, unsolved: Unsolved
    ) -> tuple[Writer, str]:
        """Start an agent again in a worktree with its work and what conflicts with it; return it with its prompt."""
        writer = await self.start(spec, row)
        self._resolutions[row.child] += 1
        if unsolved.conflicts is None:
            return writer, STILL_MARKED
        try:
            return writer, await prepare_resolution(self._runtime, writer, unsolved.conflicts)
        except BaseException:  # nothing has begun: release it
            await writer.child.close()
            raise

    def give_up(self, row: AgentRow, report: Report, why: str) -> Report:
        """Leave the work of an agent in its commit, and say so in its report."""
        self._record(row.child, "kept", row.base, row.commit)
        return _describe_kept(report, row.base, row.commit, why)

    @asynccontextmanager
    async def keep_if_cancelled(self, writer: Writer) -> AsyncIterator[None]:
        """Keep the work of an agent whose session is interrupted, before its worktree is removed."""
        try:
            yield
        except asyncio.CancelledError:
            with suppress(UserError):  # the interruption goes on in any case
                commit = await commit_work(self._runtime, writer)
                if await asyncio.to_thread(self._diff, writer.base, commit):
                    self._record(writer.child.id, "kept", writer.base, commit)
            raise

    async def merge_kept(self, row: AgentRow, report: Report) -> Report:
        """Merge the work of an earlier agent, as after a kill; return the report with what came of it."""
        outcome = await self._merge(row.child, row.base, row.commit, row.left_out)
        if isinstance(outcome, Merged):
            return _describe_merged(report, outcome)
        paths = [each.path for each in outcome.files]
        self._record(row.child, "conflicts", row.base, row.commit, paths)
        return _describe_conflicts(report, paths, row.base, row.commit)

    async def _merge(
        self, child: str, base: str, commit: str, left_out: tuple[str, ...] = ()
    ) -> Merged | Conflicts:
        async with self._merging:
            outcome = await merge_commit(self._runtime, base, commit)
        if isinstance(outcome, Conflicts):
            return outcome
        self._record(child, "merged", base, commit, list(outcome.paths), list(left_out))
        return replace(outcome, left_out=left_out)

    def _record(self, child: str, outcome: Outcome, base: str, commit: str, *lists: list[str]) -> None:
        paths, left_out = [*lists, [], []][:2]
        self._runtime.session.append(
            MergeEvent(child=child, outcome=outcome, paths=paths, left_out=left_out, base=base, commit=commit)
        )

    def _check_nested(self, commit: str) -> None:
        """Raise UserError where the files of repositories inside the workspace would be missing. Blocking."""
        fields = self._open_git().run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
        nested = [os.fsdecode(each.partition(b"\t")[2]) for each in fields if each.startswith(b"160000 ")]
        if nested:
            raise UserError(
                Fault.USAGE,
                f"no worktree could be made: {join_names(nested, 3)} has git of its own, and would be missing in it",
                "Take the field `isolation` out of the agent's file.",
            )

    def _diff(self, base: str, commit: str) -> bytes:
        options = ("--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames")
        try:
            return self._open_git().run("diff", *options, base, commit)
        except GitFailed as error:
            raise UserError(Fault.USAGE, f"the work of an agent is not there any more: {error}") from None

    def _open_git(self) -> Git:
        return open_git(self._runtime.workspace)


def _describe_merged(report: Report, merged: Merged) -> Report:
    told = (
        f"Merged into your files: {join_names(merged.paths, MOST_NAMED)}."
        if merged.paths
        else "All is merged."
    )
    if merged.left_out:
        told += f" Not merged, since git ignores it: {join_names(merged.left_out, 5)}."
    return replace(report, merge=told, merged=merged.paths)


def _describe_conflicts(report: Report, paths: list[str], base: str, commit: str) -> Report:
    told = (
        f"Nothing of it is merged: you and the agent changed the same places of {join_names(paths, MOST_NAMED)}."
        f" {_name_work(base, commit)} Solve it in your files, or give it another task."
    )
    return replace(report, merge=told, conflicts=tuple(paths))


def _describe_kept(report: Report, base: str, commit: str, why: str = "") -> Report:
    why = why or ("it waits for your answer" if report.question else f"it has ended with {report.outcome!r}")
    told = f"Nothing of it is merged, since {why}. {_name_work(base, commit)}"
    if not report.question:
        told += f' To take it over as it is: delegate(child="{report.child}")'
    return replace(report, merge=told, unmerged=bool(not report.question))


def _name_work(base: str, commit: str) -> str:
    return f"Its work: git diff {base[:12]} {commit[:12]}"
