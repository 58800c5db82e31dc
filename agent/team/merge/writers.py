"""Children that write: started in a worktree of their own, merged into the parent's files, verified as a whole.

    writer = await start_writer(children, ChildSpec(prompt="…"))
    async with writer.child as child:
        result = await child.run()
        outcome = await merge_writer(runtime, writer)
        if isinstance(outcome, Conflicts):  # nothing was written: the child sees both sides, and goes on
            await child.ask(await prepare_resolution(runtime, writer, outcome))
            outcome = await merge_writer(runtime, writer)  # what is left now is the parent's to solve
    verdict = await verify_merged(runtime, prompt)  # once, when all writers are merged

The worktree has the parent's present files, uncommitted and new ones included; ignored files and those of submodules
are not in it. It is removed with the child; after a kill by the next session, or the next worktree, of the repository.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agent.children.child import Child
from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.team.merge.merge_action import MOST_NAMED, merge_changes, open_git, plan_merge
from agent.team.merge.merge_result import Conflicts, Merged
from agent.team.merge.resolution import write_resolution
from agent.turn.runtime import Runtime
from agent.verify.verdict import Claim, Verdict
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.text import join_names
from tools.git.git_process import GitFailed
from tools.git.worktrees import commit_patch

MOST_RETRIES = 3
"""How often a merge is planned again because somebody changed a file at that moment."""

MOST_LEFT_OUT = 20
"""Ignored files that are named."""


@dataclass(slots=True, kw_only=True)
class Writer:
    """A child session in a worktree of its own.

    start: commit that the worktree was made from, to which the child's patch applies
    base: commit that the next merge takes as the common one: `start`, until a conflict was handed to the child
    """

    child: Child
    start: str
    base: str


async def start_writer(children: Children, spec: ChildSpec) -> Writer:
    """Start a child in a new worktree with the parent's present files. Raises UserError, as in a folder without git.

    The child's place is a worktree, whatever the spec says.
    """
    start = spec.base or await children.worktrees.commit_files()
    child = await children.start(replace(spec, place="worktree", base=start))
    return Writer(child=child, start=start, base=start)


async def merge_writer(runtime: Runtime, writer: Writer) -> Merged | Conflicts:
    """Merge the child's present changes into the parent's files: all of them, or none.

    An action of the parent's session: judged by its policy, logged, undone by one undo. Raises UserError if it was
    denied.
    """
    theirs = await commit_work(runtime, writer)
    outcome = await merge_commit(runtime, writer.base, theirs)
    if isinstance(outcome, Conflicts):
        return outcome
    if outcome.paths:
        writer.base = theirs
    return replace(outcome, left_out=await list_left_out(writer))


async def commit_work(runtime: Runtime, writer: Writer) -> str:
    """Commit the child's present files, without ignored ones; no reference changes. Returns the commit's id."""
    patch = await asyncio.to_thread(writer.child.place.build_patch)
    try:
        return await asyncio.to_thread(commit_patch, open_git(runtime.workspace), writer.start, patch)
    except GitFailed as error:
        raise UserError(Fault.USAGE, f"a child's changes cannot be merged: {error}") from None


async def list_left_out(writer: Writer) -> tuple[str, ...]:
    """Return the first of the ignored files that a child made, which are not merged."""
    return tuple((await asyncio.to_thread(writer.child.place.list_ignored))[:MOST_LEFT_OUT])


async def merge_commit(runtime: Runtime, base: str, theirs: str) -> Merged | Conflicts:
    """Merge the changes between two commits into the parent's files, as `merge_writer` does."""
    at = runtime.workspace
    try:
        plan, conflicts = await asyncio.to_thread(plan_merge, at, base, theirs)
        for _ in range(MOST_RETRIES):
            if conflicts is not None:
                return conflicts
            if not plan.files:
                return Merged()
            runtime.toolbox.add(accepted=[merge_changes])
            done = await runtime.run_harness_action("merge_changes", {"base": base, "theirs": theirs})
            if not done.failed:
                return Merged(paths=tuple(done.data["changed"]), base=base, theirs=theirs)
            plan, conflicts = await asyncio.to_thread(plan_merge, at, base, theirs)
    except GitFailed as error:
        raise UserError(Fault.USAGE, f"a child's changes cannot be merged: {error}") from None
    raise UserError(Fault.DENIED, f"a child's changes were not merged: {done.text}")


async def prepare_resolution(runtime: Runtime, writer: Writer, conflicts: Conflicts) -> str:
    """Bring the parent's changes into the child's worktree, with marks in lines that both changed.

    Returns a prompt that asks the child to solve them. The next merge then begins from the parent's present files; a
    conflict that has no marks, as of a binary file, stays one until the child takes the parent's side.
    """
    folder = writer.child.place.folder
    found = await asyncio.to_thread(write_resolution, open_git(runtime.workspace), folder, conflicts)
    marked, writer.base = found.marked, found.base
    where = f" Files with marks: {join_names(marked, MOST_NAMED)}." if marked else ""
    return (
        "Your changes and those of others meet in the same places. The others' changes are now in your files too."
        f" Solve each conflict so that both aims are met, and leave no marks (<<<<<<<, >>>>>>>).{where}\n\n"
        f"{conflicts.describe()}"
    )


async def verify_merged(runtime: Runtime, prompt: str) -> Verdict | None:
    """Run the tests on the parent's files as a whole, and judge them as at the end of a turn.

    prompt: the parent's task; None where no file was changed
    """
    return await runtime.conclusion.suite.verify(Claim(prompt=prompt, answer="", is_done=True))
