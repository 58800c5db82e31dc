"""A task as a draft that can be changed and written elsewhere, and the contents of its files."""

from __future__ import annotations

from collections.abc import Iterable

from packages.evaluation.runs.base_repository import find_repository
from packages.evaluation.suites.patched_files import apply_patch, list_patched_paths
from packages.evaluation.suites.source_folder import GitHistory
from packages.evaluation.tasks.folder_files import list_folder_files
from packages.evaluation.tasks.task_folder import (
    CHECK_FOLDER,
    FAILURES_FOLDER,
    PROMPT_FILE,
    REFERENCE_FILE,
    TASK_FILE,
    Task,
)
from packages.evaluation.tasks.task_writer import TaskDraft
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file


def copy_draft(task: Task) -> TaskDraft:
    """Return a task as a draft; a repository is named by its absolute path. Raises UserError."""
    base = task.file.base
    if base.repository:
        base = base.model_copy(update={"repository": str(find_repository(task))})
    own = {TASK_FILE, PROMPT_FILE, REFERENCE_FILE}
    skipped = tuple(f"{each}/" for each in (CHECK_FOLDER, FAILURES_FOLDER, base.folder) if each)
    others = {
        each.path: each.read()
        for each in list_folder_files(task.folder)
        if each.path not in own and not each.path.startswith(skipped)
    }
    return TaskDraft(
        file=task.file.model_copy(update={"base": base, "prompt": ""}),
        prompt=task.prompt,
        reference=task.reference,
        failures=task.failures,
        checker_files={each.path: each.read() for each in task.list_checker_files()},
        base_copy=task.base_folder if base.folder else None,
        other_files=others,
    )


def read_base_files(task: Task, paths: Iterable[str]) -> dict[str, bytes]:
    """Return files as a trial begins with them; those that it does not have are missing. Raises UserError."""
    base = task.file.base
    wanted = set(paths)
    if base.folder:
        found = {path: read_workspace_file(task.base_folder, path, SOURCE) for path in wanted}
    elif base.repository:
        history = GitHistory(find_repository(task))
        assert base.commit is not None
        found = {path: history.read_blob(base.commit, path) for path in wanted}
    else:
        raise UserError(Fault.CONFIGURATION, f"{task.folder}: the files of a bundle are not read")
    files = {path: content for path, content in found.items() if content is not None}
    if not base.patch:
        return files
    patch = read_workspace_file(task.folder, base.patch, SOURCE) or b""
    touched = set(list_patched_paths(patch))
    before = {**files, **({} if touched <= wanted else _read_unpatched(task, touched - wanted))}
    after = apply_patch(before, patch)
    return {path: content for path, content in {**files, **after}.items() if path in wanted}


def _read_unpatched(task: Task, paths: set[str]) -> dict[str, bytes]:
    plain = task.file.base.model_copy(update={"patch": ""})
    return read_base_files(_replace_base(task, plain), paths)


def _replace_base(task: Task, base: object) -> Task:
    from dataclasses import replace

    return replace(task, file=task.file.model_copy(update={"base": base}))
