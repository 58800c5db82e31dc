"""Values that a suite module yields: a task that can be written, or the reason why one is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import sha1
from pathlib import Path
from typing import Literal

from packages.evaluation.suites.file_patch import render_patch
from packages.evaluation.tasks.task_file import BaseFiles, TaskFile, TaskLimits
from packages.evaluation.tasks.task_writer import TaskDraft
from sandbox.access_settings import AccessSettings
from sandbox.lazy_dataclass import dataclass

HalfName = Literal["development", "test"]

BASE = "base"
"""Folder of a task folder with the files that a trial begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltTask:
    """A task to write. name: of its folder; draft: all that the folder holds"""

    name: str
    draft: TaskDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTask:
    """A task of the data set that cannot be made here. reason: a clause, the same for tasks that lack the same"""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """Arguments of a suite module.

    source: folder with the data set; half: only its tasks; languages: only tasks in these, () for all
    is_wanted: false for a task that is not to be made (it exists already), asked before costly work
    repositories: folder with clones, for a suite whose tasks are commits; output: the suite's folder
    access: the user's settings, for the sandbox that programs of the data set run in
    """

    source: Path
    output: Path
    half: HalfName | None = None
    languages: Sequence[str] = ()
    repositories: Path | None = None
    access: AccessSettings = field(default_factory=AccessSettings)
    is_wanted: Callable[[str], bool] = lambda name: True

    def selects(self, key: str, language: str = "") -> bool:
        """Return whether a task is of the wanted half and language. key: the data set's own id of it"""
        spoken = not (self.languages and language) or language in self.languages
        return spoken and (self.half is None or compute_half(key) == self.half)


Suite = Callable[[BuildRequest], Iterator[BuiltTask | MissingTask]]


def compute_half(key: str) -> HalfName:
    """Return the half that a task belongs to: development where the SHA-1 of its id is even."""
    return "test" if int(sha1(key.encode(), usedforsecurity=False).hexdigest(), 16) % 2 else "development"


def make_task_name(*parts: str) -> str:
    """Return a name of a task folder: letters, digits, dots, dashes and underscores."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts)).strip("-._").lower()


def build_program_task(
    name: str,
    *,
    prompt: str,
    files: Mapping[str, bytes],
    check: str,
    checker_files: Mapping[str, bytes],
    solution: Mapping[str, bytes],
    language: str,
    tags: Sequence[str],
    seconds: float,
    check_seconds: float = 120.0,
) -> BuiltTask:
    """Build a task whose base is a few files. solution: files as the reference has them, by path"""
    file = TaskFile(
        base=BaseFiles(folder=BASE),
        check=check,
        limits=TaskLimits(seconds=seconds, check_seconds=check_seconds),
        tags=tuple(make_task_name(each) for each in tags),
        language=language,
    )
    draft = TaskDraft(
        file=file,
        prompt=prompt,
        reference=render_patch(files, {**files, **solution}),
        base_files=files,
        checker_files=checker_files,
    )
    return BuiltTask(name=name, draft=draft)
