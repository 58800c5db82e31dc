"""`patchwright apply`: apply edits in any format to a folder, without a model."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from agent.app_dirs import Home, make_private_folder
from agent.exit_codes import BY_FAULT, Exit
from agent.workspace_root import resolve_folder
from cli.commands.options import EditFormat, Folder
from cli.output.error_output import write_user_error
from cli.output.standard_streams import write_error
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from sandbox.fs.workspace_tree import Tree
    from tools.edit.apply.edit_plan import PlannedFile, PlanRefused
    from tools.edit.edit_model import FileChange
    from tools.edit.formats import Form


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(apply)


def apply(
    patch: Annotated[
        str, typer.Argument(metavar="FILE", help="File with the edits; `-` reads standard input.")
    ],
    folder: Folder = Path("."),
    check: Annotated[bool, typer.Option("--check", help="Report what would change; write nothing.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Only edits whose old text matches exactly.")
    ] = False,
    form: Annotated[
        EditFormat, typer.Option("--format", help="Format of the edits; detected if not given.")
    ] = EditFormat.auto,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Apply edits to the files of a folder: all of them, or none. Needs no model and no repository.

    Formats: SEARCH/REPLACE blocks, *** Begin Patch, unified diff.
    """
    raise typer.Exit(apply_edits(folder, patch, form=form.value, check=check, exact=exact, as_json=as_json))


def apply_edits(folder: Path, patch: str, *, form: str, check: bool, exact: bool, as_json: bool) -> int:
    """Return the exit code: DONE, NOTHING_TO_DO if all edits are applied already, NOT_ACHIEVED if one does not match.

    Raises UserError. as_json: one object on standard output, also on failure
    """
    try:
        root = resolve_folder(folder)
        text = _read_edits(patch)
        changes = _parse_edits(text, _quote_source(patch), cast("Form", form))
        plan = partial(_plan_edits if check else _write_edits, exact=exact, by_bytes=not _is_utf8(text))
        return _apply_and_report(root, changes, plan, check=check, as_json=as_json)
    except UserError as error:
        if not as_json:
            raise
        write_user_error(error)
        code = BY_FAULT[error.fault]
        _print_json(applied=False, exit=code.label, problems=[{"path": "", "problem": error.message}])
        return code


def _parse_edits(text: str, name: str, form: Form) -> list[FileChange]:
    from tools.edit.edit_model import MalformedEdit
    from tools.edit.formats import parse_edits

    try:
        return parse_edits(text, form)
    except MalformedEdit as problem:
        raise UserError(
            Fault.USAGE, f"{name} cannot be read as edits: {sanitize_text(str(problem))}"
        ) from None


def _quote_source(patch: str) -> str:
    return "standard input" if patch == "-" else repr(patch)


def _read_edits(patch: str) -> str:
    """Return the edits as text; bytes that are not UTF-8, of files in other encodings, as lone surrogates."""
    try:
        content = sys.stdin.buffer.read() if patch == "-" else Path(patch).read_bytes()
    except OSError as error:
        raise UserError(
            Fault.USAGE,
            f"cannot read {_quote_source(patch)}: {error.strerror}",
            "Give the path of a file, or - for standard input.",
        ) from None
    return content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _apply_and_report(
    root: Path,
    changes: Sequence[FileChange],
    plan: Callable[[Tree, Sequence[FileChange]], list[PlannedFile]],
    *,
    check: bool,
    as_json: bool,
) -> int:
    from sandbox.fs.transaction.transactions import Conflict
    from sandbox.fs.workspace_tree import Tree
    from tools.edit.apply.edit_plan import PlanRefused

    tree = Tree(root)
    try:
        planned = plan(tree, changes)
    except PlanRefused as refusal:
        return _report_refusal(refusal, as_json)
    except Conflict as conflict:  # another process has just changed a file
        return _report_failure(str(conflict), "Try again.", as_json)
    except ValueError as problem:  # the tree's: two names of one file, a file where a folder has to be
        return _report_failure(str(problem), "", as_json)
    _report_applied(planned, check, as_json)
    return Exit.DONE if any(each.has_changes for each in planned) else Exit.NOTHING_TO_DO


def _plan_edits(
    tree: Tree, changes: Sequence[FileChange], *, exact: bool, by_bytes: bool
) -> list[PlannedFile]:
    """Plan the edits without writing anything, not even a lock."""
    from sandbox.fs.transaction.transaction_plan import plan_transaction
    from tools.edit.apply.edit_plan import build_writes
    from tools.edit.apply.planner import plan_changes

    planned = plan_changes(tree, changes, strictest=exact, by_bytes=by_bytes)
    plan_transaction(tree, build_writes(planned))
    return planned


def _write_edits(
    tree: Tree, changes: Sequence[FileChange], *, exact: bool, by_bytes: bool
) -> list[PlannedFile]:
    from sandbox.fs.transaction.transactions import Transactions
    from tools.edit.apply.edit_plan import build_writes
    from tools.edit.apply.planner import plan_changes

    journal = make_private_folder(Home.from_environment().get_project_folder(tree.root)) / "journal"
    transactions = Transactions(tree, journal)
    with transactions.lock_tree() as recovery:
        if recovery is not None:
            write_error(f"patchwright: {sanitize_text(str(recovery))}\n")
        planned = plan_changes(tree, changes, strictest=exact, by_bytes=by_bytes)
        transactions.commit(build_writes(planned))
    return planned


def _report_refusal(refusal: PlanRefused, as_json: bool) -> int:
    """Report "nothing to do" if all edits are applied already, else a failure."""
    from sandbox.fs.text_file import show_odd_bytes

    code = Exit.NOTHING_TO_DO if refusal.already else Exit.NOT_ACHIEVED
    if as_json:
        problems = [
            {"path": each.path, "problem": each.text, "already": each.already} for each in refusal.problems
        ]
        _print_json(applied=False, exit=code.label, problems=problems)
        return code
    for each in refusal.problems:
        write_error(sanitize_text(show_odd_bytes(f"{each.path}: {each.text}")) + "\n")
    write_error(f"patchwright: {'nothing to do' if refusal.already else 'nothing was written'}\n")
    return code


def _report_failure(problem: str, hint: str, as_json: bool) -> int:
    """Report an error that planning cannot detect: one of the tree as a whole."""
    if as_json:
        _print_json(applied=False, exit=Exit.NOT_ACHIEVED.label, problems=[{"path": "", "problem": problem}])
    write_error(f"patchwright: {sanitize_text(problem)}\n" + (f"  {hint}\n" if hint else ""))
    return Exit.NOT_ACHIEVED


def _report_applied(planned: Sequence[PlannedFile], check: bool, as_json: bool) -> None:
    from tools.core.text import count_changed_lines, format_count

    shown = [each for each in planned if not each.to]
    counts = [count_changed_lines(each.old_text, each.new_text) for each in shown]
    number = sum(each.has_changes for each in shown)
    if as_json:
        code = Exit.DONE if number else Exit.NOTHING_TO_DO
        files = [_as_data(each, *count) for each, count in zip(shown, counts, strict=True)]
        _print_json(applied=bool(number) and not check, exit=code.label, files=files)
        return
    for each, (added, removed) in zip(shown, counts, strict=True):
        print(sanitize_text(f"{each.path}: {_describe_change(each)} (+{added} −{removed})"))
        for place in each.places:
            lines = (
                f"line {place.first}" if place.last <= place.first else f"lines {place.first}–{place.last}"
            )
            note = f", {place.note}" if place.note else ""
            print(f"  edit {place.edit + 1}: {place.rung}, {lines}{note}")
        for text in each.notes:
            print(sanitize_text(f"  note: {text}"))
    total = f"+{sum(added for added, _ in counts)} −{sum(removed for _, removed in counts)}"
    print(f"{format_count(number, 'file')} {'would change' if check else 'changed'} ({total})")


def _describe_change(planned: PlannedFile) -> str:
    return next(verb for applies, verb in _VERBS if applies(planned)).format(planned.source)


_VERBS: tuple[tuple[Callable[[PlannedFile], bool], str], ...] = (
    (lambda each: each.after is None, "removed"),
    (lambda each: bool(each.source), "moved here from {}"),
    (lambda each: each.before is None, "created"),
    (lambda each: each.before != each.after, "changed"),
    (lambda each: each.has_changes, "mode changed"),
    (lambda each: True, "already so"),
)


def _as_data(planned: PlannedFile, added: int, removed: int) -> dict[str, Any]:
    edits = [
        {
            "edit": place.edit + 1,
            "rung": place.rung,
            "first": place.first,
            "last": place.last,
            "note": place.note,
        }
        for place in planned.places
    ]
    data = {
        "path": planned.path,
        "verb": _describe_change(planned),
        "added": added,
        "removed": removed,
        "edits": edits,
    }
    return {**data, "notes": list(planned.notes)}


def _print_json(**fields: Any) -> None:
    import json

    print(json.dumps(fields))
