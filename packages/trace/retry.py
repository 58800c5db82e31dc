"""A failed session again from one of its steps, with the diagnosis, in a worktree of its own: did knowing it help?

The counterfactual of an attribution: what came before the step is kept, history and files; the rest is made anew.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.children.places import Worktrees
from agent.events import End, SnapshotEvent, UndoEvent
from agent.session.export_import import create_fork
from agent.session.foreign_log import strip_local_state
from agent.session.log import read_events
from agent.session.log_index import parse_event_id
from agent.session.session_starter import check_own_files
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from cli.output.formats.prediction import format_states
from packages.trace.diagnosis import Diagnosis, diagnose
from packages.trace.outcomes import SUCCESSES
from packages.trace.rows.session_trace import SessionTrace
from packages.trace.rows.traced_sessions import read_traces
from patchwright.version import VERSION
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import write_private_file
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approval
from sandbox.snapshots.workspace_snapshots import LostObjectError, Snapshots

PATCH = "retry.patch"
"""File in the folder of the new session: the difference between the present files and those that it made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedSession:
    """session: id of the new one; step: from which it ran on; helped: it did not fail, or fewer tests fail at its end

    before, after: outcomes; failing_before, failing_after: tests that failed at the end, None where none ran
    patch: path of a patch for the present files, "" without a change; next_error: where it went wrong this time
    """

    session: str
    step: int
    helped: bool
    before: str
    after: str
    failing_before: int | None
    failing_after: int | None
    patch: str
    next_error: Diagnosis | None


async def retry_session(
    folder: Path, root: Path, home: Home, settings: SessionSettings, diagnosis: Diagnosis, step: int = 0
) -> RetriedSession:
    """Run a session on from a step, 0 for that of the diagnosis, and tell it what went wrong. Raises UserError.

    folder: of the session; root: of its workspace, whose files stay as they are
    """
    if diagnosis.session != folder.name:
        hint = f"patchwright diagnose {diagnosis.session} --retry-from error"
        raise UserError(
            Fault.USAGE, f"the error was made by {diagnosis.agent}, in a session of its own", hint
        )
    check_own_files(folder, root)
    trace = read_traces(folder)[0]
    event = diagnosis.event
    if step:
        if (row := trace.find_step(step)) is None or row.off:
            raise UserError(Fault.USAGE, f"session {folder.name!r} has no step {step}")
        event = row.event
    if not (start := trace.find_parent(event)):
        raise UserError(Fault.USAGE, f"nothing is before {event}, from where it could run on")
    way_back = await asyncio.to_thread(_build_way_back, folder, root, home, event)
    async with Worktrees(root, home).open_worktree(patch=way_back) as place:
        fork = create_fork(folder, start, title=f"retry of {folder.name}", convert=strip_local_state)
        fork.close()
        settings = replace(settings, commit="never", access=replace(settings.access, approval=Approval.NEVER))
        request = SessionRequest(
            working=place.folder,
            session=fork.id,
            sessions=folder.parent,
            parent=folder.name,
            offer_commit=False,
            version=VERSION,
        )
        await _run_turn(settings, request, home, build_advice(diagnosis))
        if patch := await asyncio.to_thread(place.build_patch):
            write_private_file(fork.folder / PATCH, patch)
    return _judge(
        trace, read_traces(fork.folder), step or diagnosis.step, str(fork.folder / PATCH) if patch else ""
    )


def build_advice(diagnosis: Diagnosis) -> str:
    """Return what the model is told of the attempt that failed."""
    evidence = "\n".join(f"- {each}" for each in diagnosis.evidence)
    return (
        f"An earlier attempt went on from here and failed ({diagnosis.outcome}). The first error that this rests on:"
        f" {diagnosis.kind}: {diagnosis.reason}.\n{evidence}\n"
        "The files are as they were before that step. Do what was asked for, and do not repeat this error."
    )


async def _run_turn(settings: SessionSettings, request: SessionRequest, home: Home, prompt: str) -> End:
    runtime = assemble_runtime(settings, request, home)
    try:
        return await runtime.run_turn(prompt)
    finally:
        await runtime.close()


def _build_way_back(folder: Path, root: Path, home: Home, event: str) -> bytes:
    """Return the patch from the present files to those before an event. Raises UserError if they are lost."""
    if not (tree := find_tree_before(folder, event)):
        return b""
    snapshots = Snapshots(root, home.get_project_folder(root) / "snapshots")
    try:
        changes = snapshots.list_changes(snapshots.take(), tree)
        patch, left_out = format_states(snapshots, {each.path: (each.before, each.after) for each in changes})
    except LostObjectError:
        raise UserError(
            Fault.USAGE, f"the files before {event} are not kept any more", "See the setting snapshots.days."
        ) from None
    finally:
        snapshots.close()
    if left_out:
        raise UserError(Fault.USAGE, f"{left_out[0]!r} was another one before {event}, and is no text")
    return patch.encode("utf-8", "surrogateescape")


def find_tree_before(folder: Path, event: str) -> str:
    """Return the snapshot of the files before an event, "" if the session changed none.

    It is the last one before it, or the first after it: until then nothing was written.
    """
    tree = ""
    for each in read_events(folder):
        is_later = parse_event_id(each.id) > parse_event_id(event)
        if isinstance(each, SnapshotEvent):
            if is_later:
                return tree or each.tree
            tree = each.tree
        elif isinstance(each, UndoEvent) and not is_later:
            tree = each.after
    return tree


def _judge(before: SessionTrace, retried: list[SessionTrace], step: int, patch: str) -> RetriedSession:
    after = retried[0]
    code = after.facts.get("exit_code")
    was, now = _count_failing(before), _count_failing(after)
    return RetriedSession(
        session=after.id,
        step=step,
        helped=code in SUCCESSES or (now is not None and was is not None and now < was),
        before=str(before.facts.get("outcome", "")),
        after=str(after.facts.get("outcome", "")),
        failing_before=was,
        failing_after=now,
        patch=patch,
        next_error=diagnose(retried),
    )


def _count_failing(trace: SessionTrace) -> int | None:
    """Return how many tests failed when they last ran, None if none ran."""
    counts = [row.tests[1] for row in trace.rows if row.tests is not None and not row.off]
    return counts[-1] if counts else None
