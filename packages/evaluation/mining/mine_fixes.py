"""Tasks out of a project's history: fixes whose tests fail before and pass after, executed in the sandbox."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from packages.evaluation.mining.fix_commits import FixCommit, list_fix_commits
from packages.evaluation.mining.fix_prompt import write_prompt
from packages.evaluation.mining.test_runs import (
    TestRun,
    build_check,
    list_generated_files,
    list_mended,
    read_judges,
    restore_files,
    run_tests,
)
from packages.evaluation.suites.built_task import compute_half, make_task_name
from packages.evaluation.suites.file_patch import render_patch
from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.evaluation.suites.source_folder import GitHistory, is_bare_repository
from packages.evaluation.tasks.suite_folder import SUITE_FILE
from packages.evaluation.tasks.task_file import BaseFiles, SuiteFile, TaskFile, TaskLimits
from packages.evaluation.tasks.task_folder import BASE_PATCH_FILE, TASK_FILE
from packages.evaluation.tasks.task_writer import TaskDraft, create_suite_folder, write_suite_file, write_task
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json

if TYPE_CHECKING:
    from sandbox.access_settings import AccessSettings
    from tools.core.workspace import Workspace

JOURNAL = ".mined.jsonl"
"""File of the suite with a line for each commit that was tried, so that a later run goes on behind it."""

SECONDS = 900.0

_OF_THE_MACHINE = frozenset({Fault.DENIED, Fault.STORAGE_FULL, Fault.READ_ONLY})
"""Faults that the next commit would have, too; any other one rejects its commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningLimits:
    """Limits of one run. newest: commits that are looked at; attempts: fixes whose tests are run; tasks: found in all;
    test_seconds: for one run of the changed tests; seconds: wall time after which no further fix is tried"""

    newest: int | None = None
    attempts: int | None = None
    tasks: int | None = None
    test_seconds: float = 120.0
    seconds: float | None = None


@dataclass(slots=True, kw_only=True)
class MiningSummary:
    """Counts of one run. tried: fixes whose tests were run; rejected: how many by reason"""

    candidates: int = 0
    tried: int = 0
    found: int = 0
    known: int = 0
    rejected: dict[str, int] = field(default_factory=dict)


class NotAFix(Exception):
    """A commit is no task: the text is the reason, a clause."""


def mine_fixes(
    repository: Path,
    output: Path,
    *,
    limits: MiningLimits,
    revision: str = "HEAD",
    half: str | None = None,
    show_tests: bool = False,
    access: AccessSettings | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> MiningSummary:
    """Write a task folder for each fix of a history that its tests prove. Raises UserError.

    half: only commits of it; show_tests: the failing tests are in the worktree, for an engine that goes by them
    report: called with a line for each fix that was tried; access: the user's settings, for the sandbox
    """
    history = GitHistory(find_git_folder(repository))
    create_suite_folder(output)
    tried = _read_journal(output)
    summary = MiningSummary(known=len(tried))
    name = (
        repository.resolve().name if repository.resolve().name != "repo" else repository.resolve().parent.name
    )
    if not (output / SUITE_FILE).is_file():
        about = SuiteFile(
            name=f"{make_task_name(name)}-mined", description=f"fixes from the history of {name}"
        )
        write_suite_file(output, about)
    generated = list_generated_files(repository)
    for path in generated:
        report(f"taken along, though git ignores it: {path}")
    with open_scratch(access):
        pass  # that no sandbox works is no fault of a commit
    began = time.monotonic()
    for fix in list_fix_commits(history, revision, limits.newest):
        if half is not None and compute_half(fix.commit) != half:
            continue
        summary.candidates += 1
        if fix.commit in tried:
            continue
        late = limits.seconds is not None and time.monotonic() - began > limits.seconds
        enough = limits.tasks is not None and summary.found >= limits.tasks
        if late or enough or (limits.attempts is not None and summary.tried >= limits.attempts):
            break
        summary.tried += 1
        task = make_task_name(fix.commit[:10], *fix.subject.split()[:5])[:60].strip("-._")
        try:
            if not (
                output / task / TASK_FILE
            ).is_file():  # one that was killed before its line in the journal
                draft = _prove_fix(
                    fix, history, repository, generated, limits.test_seconds, show_tests, access
                )
                write_task(output / task, draft)
            summary.found += 1
            outcome = "task"
        except (NotAFix, UserError) as reason:
            if isinstance(reason, UserError) and reason.fault in _OF_THE_MACHINE:
                raise
            outcome = str(reason) if isinstance(reason, NotAFix) else "its files or its task cannot be used"
            summary.rejected[outcome] = summary.rejected.get(outcome, 0) + 1
        _append_journal(output, fix.commit, outcome)
        report(f"{fix.commit[:10]} {outcome}: {fix.subject[:70]}")
    return summary


def find_git_folder(repository: Path) -> Path:
    """Return a repository's folder for git: itself. Raises UserError for one that is none."""
    if is_bare_repository(repository) or (repository / ".git").exists():
        return repository
    raise UserError(Fault.NOT_A_REPOSITORY, f"no git repository: {str(repository)!r}")


def _prove_fix(
    fix: FixCommit,
    history: GitHistory,
    repository: Path,
    generated: Mapping[str, bytes],
    seconds: float,
    show_tests: bool,
    access: AccessSettings | None,
) -> TaskDraft:
    """Run the fix's tests before and after it. Raises NotAFix."""
    try:
        parent = history.resolve(f"{fix.commit}^")
    except UserError:
        raise NotAFix("it has no parent") from None
    changed = (*fix.sources, *fix.tests, *fix.data)
    before = {path: history.read_blob(parent, path) for path in changed}
    after = {path: history.read_blob(fix.commit, path) for path in changed}
    with open_scratch(access) as at:
        history.export(parent, at.root)
        generated = {path: content for path, content in generated.items() if not (at.root / path).exists()}
        restore_files(at, {**generated, **{path: after[path] for path in (*fix.tests, *fix.data)}})
        first = _run_tests(at, fix, {}, seconds)
        if not first.failed:
            raise NotAFix("its tests pass before it")
        second = _run_tests(at, fix, {path: after[path] for path in fix.sources}, seconds)
    mended = list_mended(first, second)
    if not mended:
        raise NotAFix("none of its tests fails before and passes after")
    return _draft_task(fix, repository, parent, before, after, second, mended, generated, show_tests)


def _run_tests(at: Workspace, fix: FixCommit, files: Mapping[str, bytes | None], seconds: float) -> TestRun:
    """Run the tests with some files changed. Raises NotAFix if they cannot be told apart."""
    restore_files(at, files)
    run = run_tests(at, select_targets(fix), seconds)
    if not run.usable:
        raise NotAFix(
            "its tests cannot be run here" if not run.runner else f"its tests: {run.note.split(':')[0][:60]}"
        )
    return run


def select_targets(fix: FixCommit) -> list[str]:
    """Return the test files to run."""
    return [path for path in fix.tests if not path.endswith("conftest.py")]


def _draft_task(
    fix: FixCommit,
    repository: Path,
    parent: str,
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
    run: TestRun,
    mended: list[str],
    generated: Mapping[str, bytes],
    show_tests: bool,
) -> TaskDraft:
    hidden = {path: content for path in (*fix.tests, *fix.data) if (content := after[path]) is not None}
    old = {path: content for path, content in before.items() if content is not None}
    new = {path: content for path, content in after.items() if content is not None}
    visible = hidden if show_tests else {}
    patch = render_patch({p: c for p, c in old.items() if p in visible}, {**generated, **visible})
    shown = tuple(mended[:10]) if show_tests else ()
    file = TaskFile(
        base=BaseFiles(
            repository=str(repository.resolve()), commit=parent, patch=BASE_PATCH_FILE if patch else ""
        ),
        check=build_check(run, select_targets(fix)),
        limits=TaskLimits(seconds=SECONDS, check_seconds=max(120.0, 10 * run.seconds)),
        tags=("mined", *(("tests-shown",) if show_tests else ())),
        language=fix.language,
        description=f"{fix.commit} {fix.subject}"[:300],
    )
    return TaskDraft(
        file=file,
        prompt=write_prompt(fix, _list_changed_lines(fix, before, after), shown),
        reference=render_patch({p: old[p] for p in fix.sources}, {p: new[p] for p in fix.sources}),
        checker_files={**hidden, **read_judges(run)},
        other_files={BASE_PATCH_FILE: patch} if patch else {},
    )


def _list_changed_lines(
    fix: FixCommit, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> frozenset[str]:
    found: set[str] = set()
    for path in fix.sources:
        old = {line.strip() for line in (before[path] or b"").decode("utf-8", "replace").splitlines()}
        new = {line.strip() for line in (after[path] or b"").decode("utf-8", "replace").splitlines()}
        found |= new - old
    return frozenset(found - {""})


def _read_journal(output: Path) -> dict[str, str]:
    place = output / JOURNAL
    if not place.is_file():
        return {}
    found: dict[str, str] = {}
    for line in place.read_text("utf-8").splitlines():
        try:
            row = parse_json(line)
            found[row["commit"]] = row["outcome"]
        except (ValueError, KeyError, TypeError):  # the line that a killed run was writing
            continue
    return found


def _append_journal(output: Path, commit: str, outcome: str) -> None:
    line = json.dumps({"commit": commit, "outcome": outcome}) + "\n"
    with (output / JOURNAL).open("a", encoding="utf-8") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
