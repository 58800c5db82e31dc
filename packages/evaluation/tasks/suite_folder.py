"""Reading a suite: a folder of task folders, with an optional `suite.toml`; a single task folder is a suite of one."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from packages.evaluation.tasks.task_file import SuiteFile
from packages.evaluation.tasks.task_folder import TASK_FILE, Task, load_task, parse_table
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SETTINGS
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass

SUITE_FILE = "suite.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tasks that are reported together, by name. folder: resolved"""

    name: str
    folder: Path
    file: SuiteFile
    tasks: tuple[Task, ...]


def load_suite(folder: Path) -> Suite:
    """Read a suite. Raises UserError with the path and the field for the first task that is not valid."""
    folder = folder.resolve()
    if not folder.is_dir():
        raise UserError(Fault.USAGE, f"no suite: there is no folder {str(folder)!r}")
    if (folder / TASK_FILE).is_file():
        return Suite(name=folder.name, folder=folder, file=SuiteFile(), tasks=(load_task(folder),))
    content = read_workspace_file(folder, SUITE_FILE, SETTINGS)
    file = SuiteFile() if content is None else parse_table(SuiteFile, content, folder / SUITE_FILE)
    places = sorted(
        each
        for each in folder.iterdir()
        if not each.name.startswith(".") and not each.is_symlink() and (each / TASK_FILE).is_file()
    )
    if not places:
        raise UserError(
            Fault.USAGE,
            f"no tasks in {str(folder)!r}",
            "A suite is a folder of task folders, each with a task.toml: docs/evaluation.md.",
        )
    return Suite(
        name=file.name or folder.name,
        folder=folder,
        file=file,
        tasks=tuple(load_task(each) for each in places),
    )


def select_tasks(tasks: Sequence[Task], filters: Sequence[str], limit: int | None = None) -> list[Task]:
    """Return the tasks that fit all filters, at most `limit`.

    A filter is a tag, a language, or a pattern of names such as `cart-*`; one that begins with "!" leaves out what
    fits. Raises UserError if none is left.
    """
    found = [each for each in tasks if all(_fits(each, wanted) for wanted in filters)][:limit]
    if not found:
        known = sorted({tag for each in tasks for tag in (*each.file.tags, each.file.language) if tag})
        raise UserError(
            Fault.USAGE,
            f"no task fits {' and '.join(map(repr, filters))}",
            f"Tags and languages: {', '.join(known) or 'none'}; names: {', '.join(each.name for each in tasks[:5])}.",
        )
    return found


def _fits(task: Task, wanted: str) -> bool:
    if wanted.startswith("!"):
        return not _fits(task, wanted[1:])
    return wanted in task.file.tags or wanted == task.file.language or fnmatchcase(task.name, wanted)
