"""Plan the changes of a tool call, check them against the versions the model saw, write them at once,
describe them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sandbox.fs.text_file import compute_fingerprint, show_odd_bytes
from sandbox.fs.transaction.transactions import Conflict, Transactions
from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.working_tree import MAX_WRITTEN_SIZE
from tools.changes.file_versions import (
    SeenVersion,
    create_version,
    diff_sequences,
    find_changed_ranges,
    update_after_edit,
)
from tools.code import syntax
from tools.code.syntax.compilers import Compilers
from tools.core.action import ToolFailure
from tools.core.content_guard import ContentGuard, FileContents
from tools.core.path_resolution import describe_missing_path, translate_path_errors
from tools.core.text import clip, count_diff_lines, format_count, format_unified_diff
from tools.core.workspace import Workspace
from tools.edit.apply.edit_plan import PlannedFile, PlanRefused, Problem, build_writes
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import FileChange
from tools.fs.pointer_files import describe_pointer, has_lost_data

NEIGHBOURHOOD = 3
"""Lines around an edit that must be as the model saw them, when the file has changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedChange:
    """A file that was changed, or already had the wanted content.

    notes: lines for the model about the change
    made_before: evidence that the change was already applied, when only its edits show it
    """

    planned: PlannedFile
    diff: str
    added: int
    removed: int
    notes: tuple[str, ...]
    made_before: str = ""

    @property
    def path(self) -> str:
        return self.planned.path

    def as_data(self) -> dict[str, Any]:
        rungs = [place.rung.value for place in self.planned.places]
        data: dict[str, Any] = {"path": self.path, "diff": self.diff}
        return {**data, "rungs": rungs} if rungs else data


def apply_changes(at: Workspace, tool: str, changes: Sequence[FileChange]) -> list[AppliedChange]:
    """Apply all changes or none. Raises ToolFailure, worded for the model, if one of them cannot be applied.

    The result includes unchanged files, with an empty diff, and those of a call of which every change had
    been applied before.
    """
    at.changes.action_writes = {}
    transactions = at.transactions
    with transactions.lock_tree() as recovery:
        try:
            made = _apply_exclusively(at, tool, changes, transactions)
            if recovery is not None:
                at.changes.action_writes = None
        except ToolFailure as failure:
            if recovery is None:
                raise
            raise ToolFailure(f"{failure}\nnote: {recovery}", **failure.data) from None
    if recovery is not None:
        made[0] = replace(made[0], notes=(f"note: {recovery}", *made[0].notes))
    return made


def write_planned_files(
    at: Workspace, transactions: Transactions, tool: str, planned: Sequence[PlannedFile]
) -> None:
    """Write planned contents, all or none; call it inside `transactions.lock_tree()`.

    The last stage of an edit, for changes that were planned elsewhere (a merge). Raises ToolFailure, worded for the
    model, if a rule forbids a content or a file is no longer as planned.
    """
    at.changes.action_writes = {}
    if not planned:
        return
    for each in planned:
        _refuse_redacted_overwrite(tool, each)
        _refuse_unkept(tool, each)
    if at.content_guard is not None:
        _ask_content_guard(at, at.content_guard, tool, planned)
    _write_planned(at, transactions, tool, planned)


def _apply_exclusively(
    at: Workspace, tool: str, changes: Sequence[FileChange], transactions: Transactions
) -> list[AppliedChange]:
    try:
        planned = plan_changes(at.files, changes, known=lambda path: path in at.read_versions)
    except PlanRefused as refusal:
        if refusal.already:
            return [_describe_already_made(each) for each in refusal.problems]
        raise ToolFailure(_format_refusal(at, tool, refusal)) from None
    foreign = {each.path: _check_conflicts(at, tool, each) for each in planned}
    for each in planned:
        _refuse_pointer_edit(tool, each)
        _refuse_redacted_overwrite(tool, each)
        _refuse_unkept(tool, each)
    problems = {each.path: _check_syntax(at, tool, each) for each in planned}
    if at.content_guard is not None:
        _ask_content_guard(at, at.content_guard, tool, planned)
    _write_planned(at, transactions, tool, planned)
    seen = {each.path: at.read_versions.get(each.source or each.path) for each in planned}
    for each in planned:
        _record_seen_version(at, each, seen[each.path], stale=bool(foreign[each.path]))
    return [
        _describe_change(each, (*foreign[each.path], *problems[each.path], *_note_generated(at, each)))
        for each in planned
        if not each.to
    ]


def _note_generated(at: Workspace, planned: PlannedFile) -> list[str]:
    """Return a note on a changed file that a program generates."""
    from tools.fs.generated_files import describe_generated

    if not planned.has_changes or planned.before is None:
        return []
    found = describe_generated(planned.old_text, planned.path, at.root)
    return [f"note: {planned.path} is {found}"] if found else []


def _describe_already_made(problem: Problem) -> AppliedChange:
    nothing = PlannedFile(path=problem.path, before=b"", after=b"", old_text="", new_text="")
    reason = "it is gone already" if problem.gone else problem.text
    return AppliedChange(planned=nothing, diff="", added=0, removed=0, notes=(), made_before=reason)


def _format_refusal(at: Workspace, tool: str, refusal: PlanRefused) -> str:
    problems = refusal.problems
    if len(problems) == 1:
        only = problems[0]
        if only.missing:
            problem = describe_missing_path(at, tool, only.missing)
            return f"{problem} To create it: write(path={only.missing!r}, content=…)"
        others = format_count(refusal.fitting, "other change")
        rest = f"\nNothing was written; {others} would fit." if refusal.fitting else ""
        return f"{tool}: {only.path}: no change: {_format_problem(at, tool, only)}{rest}"
    fits = f"; {format_count(refusal.fitting, 'other change')} would fit" if refusal.fitting else ""
    head = f"{tool}: nothing was written: {format_count(len(problems), 'problem')}{fits}"
    return "\n".join([head, *(f"{each.path}: {_format_problem(at, tool, each)}" for each in problems)])


def _format_problem(at: Workspace, tool: str, problem: Problem) -> str:
    if problem.missing:
        return describe_missing_path(at, tool, problem.missing).partition(": ")[2]
    if problem.folder:
        return f"{problem.text}: use list(path={problem.path + '/'!r})"
    return problem.text


def _write_planned(
    at: Workspace, transactions: Transactions, tool: str, planned: Sequence[PlannedFile]
) -> None:
    """Write all files after recording their previous content; drop the record if nothing was written."""
    changing = [each for each in planned if each.has_changes]
    at.changes.action_writes = None
    noted = [each.path for each in changing if each.path not in at.changes]
    try:
        for each in changing:
            with translate_path_errors(tool, each.path):
                at.changes.remember_content(at.root, each.path, each.before)
        with translate_path_errors(tool, planned[0].path):
            real = {_resolve_real_path(at, each): each.after for each in changing}
            _commit_transaction(at, transactions, tool, changing)
        at.changes.action_writes = real
    except BaseException:  # a conflict, a full disk, an interrupt: the error is re-raised
        if not _was_any_written(at, changing):
            at.changes.action_writes = {}
            for path in noted:
                at.changes.forget(path)
        raise


def _ask_content_guard(at: Workspace, guard: ContentGuard, tool: str, planned: Sequence[PlannedFile]) -> None:
    """Raise ToolFailure if the user's rules forbid one of the contents."""
    changes = []
    for each in planned:
        if each.has_changes:
            with translate_path_errors(tool, each.path):
                path = _resolve_real_path(at, each)
            changes.append(FileContents(path=path, before=each.before, after=each.after))
    if changes and (why := guard.check_writes(changes)):
        raise ToolFailure(f"{tool}: nothing was written: {why}", out_of_order=True)


def _resolve_real_path(at: Workspace, planned: PlannedFile) -> str:
    """Return the path actually written: the target of a link; the link itself if it is removed."""
    follows = planned.after is not None and planned.place == "target"
    with at.files.open_entry(planned.path, follow_last=follows) as place:
        return place.path


def _commit_transaction(
    at: Workspace, transactions: Transactions, tool: str, changing: Sequence[PlannedFile]
) -> None:
    try:
        transactions.commit(build_writes(changing))
    except Conflict as conflict:
        if _was_any_written(at, changing):
            rest = "The other files of this call were written: read all of them again"
        else:
            rest = "Read again, then edit"
        raise ToolFailure(f"{tool}: {conflict}. {rest}.") from None


def _was_any_written(at: Workspace, changing: Sequence[PlannedFile]) -> bool:
    """Return whether any file of a plan was written."""
    writes = [each for each in changing if each.after is not None and each.after != each.before]
    return any(_read_entry(at, each) == each.after for each in writes)


def _refuse_pointer_edit(tool: str, planned: PlannedFile) -> None:
    """Refuse a changed pointer file: it would point to data that nobody has. Its data may take its place."""
    if planned.has_changes and has_lost_data(planned.before, planned.after, planned.path):
        pointer = describe_pointer(planned.before, planned.path)
        raise ToolFailure(f"{tool}: {planned.path!r} is {pointer}\nNothing was written.")


def _refuse_unkept(tool: str, planned: PlannedFile) -> None:
    """Raise ToolFailure for a file whose earlier content snapshots do not keep: no undo would exist."""
    if len(planned.before or b"") > MAX_WRITTEN_SIZE:
        raise ToolFailure(
            f"{tool}: nothing was written: {planned.path} has over {MAX_WRITTEN_SIZE // 1_000_000} MB, so that undo "
            "could not restore it. Change it by a command, if the user wants that."
        )


def _read_entry(at: Workspace, planned: PlannedFile) -> bytes | None:
    """Return the content that a plan writes, as it is now; None where there is none."""
    if planned.place == "link":
        with at.files.open_entry(planned.path, follow_last=False) as place:
            found = place.stat()
            is_link = found is not None and stat.S_ISLNK(found.st_mode)
            return os.fsencode(os.readlink(place.name, dir_fd=place.folder)) if is_link else None
    return at.files.read(planned.path) if at.files.is_file(planned.path) else None


def _check_conflicts(at: Workspace, tool: str, planned: PlannedFile) -> list[str]:
    """Return notes on changes on disk since the model read the file. Raises ToolFailure if they touch the
    edit.
    """
    if planned.to or not planned.has_changes:
        return []
    if planned.source and (lost := _find_unseen_changes(at, planned.path, planned.before)):
        raise ToolFailure(_format_conflict(tool, planned.path, *lost, "where another file would move"))
    path = planned.source or planned.path
    content = planned.before
    if planned.source:
        content = at.files.read(path) if at.files.is_file(path) else None
    found = _find_unseen_changes(at, path, content)
    if found is None:
        return []
    lines, foreign = found
    whole = planned.after is None or not (planned.places or planned.source)
    touched = [] if planned.after is None else diff_sequences(lines, planned.new_text.split("\n"))
    if whole or any(_is_near_edit(first, end, touched) for first, end in foreign):
        raise ToolFailure(_format_conflict(tool, planned.path, lines, foreign, "where you would change it"))
    places = ", ".join(_format_line_range(first, end) for first, end in foreign[:5])
    return [f"note: {path} has changed on disk since you read it ({places}), away from this edit"]


def _find_unseen_changes(
    at: Workspace, path: str, content: bytes | None
) -> tuple[list[str], list[tuple[int, int]]] | None:
    """Return a file's lines and the ranges unseen by the model; None if it saw all, or never read the file."""
    seen = at.read_versions.get(path)
    if seen is None or content is None or seen.fingerprint == compute_fingerprint(content):
        return None
    text = at.files.decode(path, content).text
    foreign = find_changed_ranges(seen, text)
    return (text.split("\n"), foreign) if foreign else None


def _is_near_edit(first: int, end: int, touched: Sequence[tuple[int, int, int, int]]) -> bool:
    return any(
        first < mine_end + NEIGHBOURHOOD and mine_first - NEIGHBOURHOOD < max(end, first + 1)
        for mine_first, mine_end, _, _ in touched
    )


def _format_conflict(
    tool: str, path: str, lines: Sequence[str], foreign: Sequence[tuple[int, int]], where: str
) -> str:
    first, end = foreign[0]
    return (
        f"{tool}: {path}: no change: it changed on disk since you read it, {where}.\n"
        f"Now {_format_line_range(first, end)}:\n{_format_excerpt(lines, first, end)}\nRead it again, then edit."
    )


def _format_line_range(first: int, end: int) -> str:
    if end - first > 1:
        return f"lines {first + 1}–{end}"
    return f"line {first + 1}" if end > first else f"lines are gone before line {first + 1}"


def _format_excerpt(lines: Sequence[str], first: int, end: int) -> str:
    low, high = max(first - 2, 0), min(max(end, first + 1) + 2, len(lines), first + 20)
    return "\n".join(f"{number + 1:>6}\t{clip(lines[number])}" for number in range(low, high))


def _refuse_redacted_overwrite(tool: str, planned: PlannedFile) -> None:
    """Raise ToolFailure if text shown redacted to the model would overwrite the original."""
    from sandbox.secrets.child_environment import MARKER, explain_overwrite

    if MARKER in planned.new_text and (why := explain_overwrite(planned.old_text, planned.new_text)):
        raise ToolFailure(f"{tool}: {planned.path}: nothing was written: {why}")


def _check_syntax(at: Workspace, tool: str, planned: PlannedFile) -> list[str]:
    if planned.after is None or planned.before == planned.after:
        return []
    old = planned.old_text if planned.before is not None or planned.source else None
    compilers = Compilers(at.root, lambda: at.sandbox)
    problem = syntax.format_new_problems(planned.path, old, planned.new_text, compilers)
    if problem and at.settings.edit.syntax_errors == "refuse":
        raise ToolFailure(f"{tool}: nothing was written: the result would not parse\n{problem}")
    return [problem] if problem else []


def _record_seen_version(
    at: Workspace, planned: PlannedFile, seen: SeenVersion | None, *, stale: bool
) -> None:
    """Record the version that the model now knows: its own text; for a file that it never read, nothing more."""
    if planned.after is not None and seen is not None and stale:
        at.read_versions[planned.path] = update_after_edit(seen, planned.old_text, planned.new_text)
    elif planned.after is not None and (seen or (planned.before is None and not planned.source)):
        at.read_versions[planned.path] = create_version(compute_fingerprint(planned.after), planned.new_text)
    else:
        at.read_versions.pop(planned.path, None)


def _describe_change(planned: PlannedFile, notes: Sequence[str]) -> AppliedChange:
    old, new = map(show_odd_bytes, (planned.old_text, planned.new_text))
    diff = format_unified_diff(planned.path, old, new, planned.source)
    added, removed = count_diff_lines(diff) if diff else (0, 0)
    return AppliedChange(
        planned=planned, diff=diff, added=added, removed=removed, notes=(*planned.notes, *notes)
    )
