"""Task folders run as a trial runs them: base, a patch, the checker's files over both, its command in the sandbox."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.evaluation.suites.suite_builder import BuildSummary, build_suite
from packages.evaluation.tasks.folder_files import list_folder_files, write_files
from packages.evaluation.tasks.suite_folder import load_suite
from packages.evaluation.tasks.task_folder import Task
from sandbox.process.command import Command
from tools.core.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Exit code and output of a checker."""

    code: int
    output: str


class Checkers:
    """Runs checkers in one sandbox, each task in a folder of its own."""

    def __init__(self, at: Workspace) -> None:
        self._at = at
        self._number = 0

    def run(self, task: Task, patch: bytes = b"") -> Checked:
        """Lay the base out, apply a patch, lay the checker's files over it and run the checker."""
        self._number += 1
        folder = self._at.root / str(self._number)
        folder.mkdir()
        if task.file.base.folder:
            write_files(list_folder_files(task.base_folder), folder)
        else:
            repository = (task.folder / task.file.base.repository).resolve()
            archive = ["git", "-C", repository, "archive", task.file.base.commit]
            piped = subprocess.run(archive, check=True, capture_output=True).stdout
            subprocess.run(["tar", "x", "-C", folder], input=piped, check=True)
        apply = ["git", "apply", "-"]
        for each in (_read_base_patch(task), patch):
            if each:
                subprocess.run(
                    apply, cwd=folder, input=each, check=True, env={"GIT_CEILING_DIRECTORIES": str(folder)}
                )
        write_files(task.list_checker_files(), folder)
        command = Command(
            argv=("sh", "-c", task.file.check),
            cwd=folder,
            env={"PYTHON": sys.executable},
            timeout=task.file.limits.check_seconds,
        )
        done = asyncio.run(self._at.sandbox.run(command))
        return Checked(code=done.returncode, output=done.stdout.text())


def _read_base_patch(task: Task) -> bytes:
    return (task.folder / task.file.base.patch).read_bytes() if task.file.base.patch else b""


@contextmanager
def open_checkers() -> Iterator[Checkers]:
    """Open a sandbox for checkers."""
    with open_scratch() as at:
        yield Checkers(at)


def build(name: str, source: Path, output: Path, **options: object) -> tuple[BuildSummary, tuple[Task, ...]]:
    """Build a suite and load it."""
    summary = build_suite(name, source, output, cache=output.parent / "cache", **options)  # type: ignore[arg-type]
    return summary, load_suite(output).tasks


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    """Write files by path, and return the folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder
