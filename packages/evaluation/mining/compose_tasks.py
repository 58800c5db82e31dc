"""Tasks chained to longer ones: several faults of one commit at once, or several small projects side by side."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

from packages.evaluation.mining.task_copy import copy_draft
from packages.evaluation.suites.built_task import BASE, make_task_name
from packages.evaluation.suites.patched_files import list_patched_paths, move_patch, split_patch
from packages.evaluation.tasks.folder_files import list_folder_files
from packages.evaluation.tasks.suite_folder import SUITE_FILE
from packages.evaluation.tasks.task_file import BaseFiles, SuiteFile, TaskFile, TaskLimits
from packages.evaluation.tasks.task_folder import BASE_PATCH_FILE, TASK_FILE, Task
from packages.evaluation.tasks.task_writer import TaskDraft, create_suite_folder, write_suite_file, write_task
from sandbox.errors import Fault, UserError

CHECKER = "patchwright_parts.sh"

MOST_TRIED = 10_000
"""Combinations that are looked at for parts that fit together."""


def compose_tasks(
    tasks: Sequence[Task], output: Path, *, length: int, limit: int, seed: int = 0
) -> tuple[list[str], int]:
    """Write tasks of `length` parts each, at most `limit`; return their names and how many were there already.

    Parts of one commit are merged where their changes touch different files; tasks whose base is a folder become
    subfolders. Raises UserError if no parts fit together.
    """
    create_suite_folder(output)
    written: list[str] = []
    kept = 0
    for parts in _draw_combinations(tasks, length, seed):
        if len(written) + kept >= limit:
            break
        name = make_task_name("chain", *(each.name[:24] for each in parts))
        if (output / name / TASK_FILE).is_file():
            kept += 1
            continue
        draft = merge_folders(parts) if parts[0].file.base.folder else merge_commits(parts)
        if draft is not None:
            write_task(output / name, draft)
            written.append(name)
    if not written and not kept:
        raise UserError(
            Fault.USAGE,
            f"no {length} of {len(tasks)} tasks fit together",
            "Parts need a solution, and a folder as their base or the same commit with changes of different files.",
        )
    if not (output / SUITE_FILE).is_file():
        write_suite_file(
            output, SuiteFile(name=output.resolve().name, description=f"chains of {length} tasks")
        )
    return written, kept


def _draw_combinations(tasks: Sequence[Task], length: int, seed: int) -> Iterator[tuple[Task, ...]]:
    """Yield combinations of tasks with equal kinds of base, in random order."""
    groups: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        base = task.file.base
        if task.reference and not base.bundle and task.file.check:
            place = "" if base.folder else str((task.folder / base.repository).resolve())
            groups.setdefault((place, base.commit or ""), []).append(task)
    draw = Random(seed)
    for group in groups.values():
        draw.shuffle(group)
        for number, parts in enumerate(combinations(group, length)):
            if number == MOST_TRIED:
                break
            yield parts


def merge_commits(parts: Sequence[Task]) -> TaskDraft | None:
    """Return one task with the faults of several at one commit, None where they touch the same files."""
    drafts = [copy_draft(each) for each in parts]
    base_patch: dict[str, bytes] = {}
    checker: dict[str, bytes] = {}
    changed: set[str] = set()
    for part, draft in zip(parts, drafts, strict=True):
        own = set(list_patched_paths(part.reference or b""))
        patch = split_patch(draft.other_files.get(part.file.base.patch, b""))
        clash = any(base_patch.get(path, text) != text for path, text in patch.items())
        clash |= any(checker.get(path, content) != content for path, content in draft.checker_files.items())
        if clash or changed & own:
            return None
        base_patch |= patch
        checker |= draft.checker_files
        changed |= own
    base = drafts[0].file.base.model_copy(update={"patch": BASE_PATCH_FILE if base_patch else ""})
    references = [each.reference or b"" for each in parts]
    draft = _build_chain(parts, [""] * len(parts), base, references)
    return replace(
        draft,
        checker_files={**checker, **draft.checker_files},
        other_files={BASE_PATCH_FILE: b"".join(base_patch.values())} if base_patch else {},
    )


def merge_folders(parts: Sequence[Task]) -> TaskDraft:
    """Return one task with the projects of several as subfolders."""
    places = [f"part-{number}" for number in range(1, len(parts) + 1)]
    references = [move_patch(each.reference or b"", place) for each, place in zip(parts, places, strict=True)]
    base: dict[str, bytes] = {}
    checker: dict[str, bytes] = {}
    for part, place in zip(parts, places, strict=True):
        files = [each for each in list_folder_files(part.base_folder) if each.kind != "link"]
        base |= {f"{place}/{each.path}": each.read() for each in files}
        checker |= {f"{place}/{each.path}": each.read() for each in part.list_checker_files()}
    draft = _build_chain(parts, places, BaseFiles(folder=BASE), references)
    return replace(draft, base_files=base, checker_files={**checker, **draft.checker_files})


def _build_chain(
    parts: Sequence[Task], places: Sequence[str], base: BaseFiles, references: Sequence[bytes]
) -> TaskDraft:
    steps = []
    for number, (part, place) in enumerate(zip(parts, places, strict=True), 1):
        where = f" (in the folder `{place}`, where paths begin)" if place else ""
        steps.append(f"## Part {number}{where}\n\n{part.prompt}")
    limits = [each.file.limits for each in parts]
    setup = [line if not place else f"cd {shlex.quote(place)} && {line}"
             for part, place in zip(parts, places, strict=True) for line in part.file.setup]  # fmt: skip
    languages = {each.file.language for each in parts}
    file = TaskFile(
        base=base,
        setup=tuple(dict.fromkeys(setup)),
        check=f"sh {CHECKER}",
        limits=TaskLimits(
            seconds=min(86_400, sum(each.seconds for each in limits)),
            steps=sum(each.steps for each in limits),
            setup_seconds=min(86_400, sum(each.setup_seconds for each in limits)),
            check_seconds=min(86_400, sum(each.check_seconds for each in limits)),
        ),
        tags=("composed", f"length-{len(parts)}"),
        language=languages.pop() if len(languages) == 1 else "",
        description=" + ".join(each.name for each in parts),
    )
    failures = {f"only-part-{number}.patch": patch for number, patch in enumerate(references, 1)}
    return TaskDraft(
        file=file,
        prompt="Do all of the following parts.\n\n" + "\n\n".join(steps),
        reference=b"".join(references),
        failures=failures,
        checker_files={CHECKER: _write_checker(parts, places).encode()},
    )


def _write_checker(parts: Sequence[Task], places: Sequence[str]) -> str:
    lines = ["passed=0"]
    for part, place in zip(parts, places, strict=True):
        lines.append(f"( cd {shlex.quote(place or '.')} && {part.file.check} ) && passed=$((passed + 1))")
    number = len(parts)
    lines += [
        f'echo "$passed of {number} parts are solved"',
        f'awk "BEGIN {{ print \\"score: \\" $passed / {number} }}"',
        f'[ "$passed" -eq {number} ]',
    ]
    return "\n".join(lines) + "\n"
