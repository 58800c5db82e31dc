"""Writing task folders, for what makes tasks: each is read back, so that only valid ones are left."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from packages.evaluation.tasks.folder_files import list_folder_files, write_contents, write_files
from packages.evaluation.tasks.suite_folder import SUITE_FILE
from packages.evaluation.tasks.task_file import SuiteFile, TaskFile
from packages.evaluation.tasks.task_folder import (
    CHECK_FOLDER,
    FAILURES_FOLDER,
    PROMPT_FILE,
    REFERENCE_FILE,
    TASK_FILE,
    Task,
    load_task,
)
from sandbox.errors import Fault, UserError, translate_write_errors
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft:
    """A task before it is written.

    file: without a prompt, which goes to `prompt.md`
    checker_files, base_files: contents by relative path; the latter below `file.base.folder`
    base_copy: folder whose files are copied to `file.base.folder`, in place of `base_files`
    other_files: contents by relative path in the task folder (a bundle, a patch of the base)
    """

    file: TaskFile
    prompt: str
    reference: bytes | None = None
    failures: Mapping[str, bytes] = field(default_factory=dict)
    checker_files: Mapping[str, bytes] = field(default_factory=dict)
    base_files: Mapping[str, bytes] = field(default_factory=dict)
    base_copy: Path | None = None
    other_files: Mapping[str, bytes] = field(default_factory=dict)


def write_task(folder: Path, draft: TaskDraft) -> Task:
    """Write a task folder that does not exist yet, and load it. Raises UserError; then no folder is left."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UserError(
            Fault.USAGE, f"{str(folder)!r} exists already", "Remove it, or name another folder."
        ) from None
    try:
        _write(folder, draft)
        return load_task(folder)
    except BaseException:  # on any exception the half-written folder is removed, then it is raised again
        shutil.rmtree(folder, ignore_errors=True)
        raise


def create_suite_folder(folder: Path) -> None:
    """Create the folder for tasks unless it is there. Raises UserError where it cannot be one."""
    try:
        with translate_write_errors(str(folder)):
            folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UserError(
            Fault.USAGE, f"{str(folder)!r} is no folder", "Name another one with --output."
        ) from None


def write_suite_file(folder: Path, file: SuiteFile) -> None:
    """Write `suite.toml`. Raises UserError."""
    create_suite_folder(folder)
    (folder / SUITE_FILE).write_text(_render(file.model_dump(mode="json", exclude_defaults=True)), "utf-8")


def _write(folder: Path, draft: TaskDraft) -> None:
    values = draft.file.model_dump(mode="json", exclude_defaults=True)
    (folder / TASK_FILE).write_text(_render(values), "utf-8")
    (folder / PROMPT_FILE).write_text(draft.prompt.strip() + "\n", "utf-8")
    base = draft.file.base.folder
    if base and draft.base_copy is not None:
        (folder / base).mkdir(parents=True)
        write_files(list_folder_files(draft.base_copy), folder / base)
    contents = {
        **{f"{base}/{path}": content for path, content in draft.base_files.items()},
        **{f"{CHECK_FOLDER}/{path}": content for path, content in draft.checker_files.items()},
        **{f"{FAILURES_FOLDER}/{name}": content for name, content in draft.failures.items()},
        **draft.other_files,
    }
    if draft.reference is not None:
        contents[REFERENCE_FILE] = draft.reference
    write_contents(contents, folder)


def _render(values: dict[str, object]) -> str:
    import tomlkit

    return tomlkit.dumps({name: value for name, value in values.items() if value is not None})
