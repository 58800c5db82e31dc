"""Variants of a suite: harder, told in other words, or by a user who answers and changes their mind.

A variant has the same checker: a system that solves a task and not its variant knew the words rather than the work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packages.evaluation.mining.mask_functions import mask_functions
from packages.evaluation.mining.rename_tools import rename_tools
from packages.evaluation.mining.reword_prompt import reword_prompt
from packages.evaluation.mining.task_copy import copy_draft, read_base_files
from packages.evaluation.suites.file_patch import render_patch
from packages.evaluation.suites.patched_files import apply_patch, list_patched_paths, split_patch
from packages.evaluation.tasks.folder_files import list_folder_files
from packages.evaluation.tasks.suite_folder import SUITE_FILE
from packages.evaluation.tasks.task_file import SuiteFile, UserScript
from packages.evaluation.tasks.task_folder import TASK_FILE, Task
from packages.evaluation.tasks.task_writer import TaskDraft, create_suite_folder, write_suite_file, write_task
from sandbox.errors import Fault, UserError

PATCH = "base.patch"

Variation = Callable[[Task, int, int], TaskDraft | None]
"""(task, level, seed) → draft, None for a task that cannot be varied so."""


def vary_masked(task: Task, level: int, seed: int) -> TaskDraft | None:
    """Empty the bodies of `level` functions in the files that the solution changes, those that it changes first."""
    if not task.reference:
        return None
    paths = [path for path in list_patched_paths(task.reference) if path.endswith(".py")]
    before = read_base_files(task, paths)
    solved = {**before, **apply_patch(before, task.reference)}
    masked: dict[str, bytes] = {}
    names: list[str] = []
    for path in paths:
        if path not in solved or len(names) >= level:
            continue
        text = solved[path].decode("utf-8", "surrogateescape")
        lines = _list_changed_lines(split_patch(task.reference)[path])
        emptied, found = mask_functions(text, level - len(names), lines)
        masked[path] = emptied.encode("utf-8", "surrogateescape")
        names += found
    if not names:
        return None
    draft = _replace_base_files(task, copy_draft(task), {**before, **masked}, before)
    listed = ", ".join(f"`{each}`" for each in dict.fromkeys(names))
    prompt = f"{task.prompt}\n\nThe bodies of these functions are missing and have to be written: {listed}."
    return replace(
        draft,
        prompt=prompt,
        reference=render_patch({**before, **masked}, solved),
        failures={},
        file=draft.file.model_copy(update={"tags": (*draft.file.tags, "masked", f"masked-{len(names)}")}),
    )


def vary_reworded(task: Task, level: int, seed: int) -> TaskDraft | None:
    """Tell the task in other words."""
    return _tell_otherwise(task, reword_prompt(task.prompt, seed), UserScript(), "reworded")


def vary_changed_mind(task: Task, level: int, seed: int) -> TaskDraft | None:
    """Have the user ask for a look first, and for the change only then."""
    if task.file.user.persona:  # who says when what is told
        return None
    first = (
        "Look into the following, but change no files yet: say where the cause is and what you would do.\n\n"
        f"{task.prompt}"
    )
    follow = "I have changed my mind: make the change yourself, all of it, as I described it."
    user = UserScript(answers={"*": "Decide yourself."}, follow_ups=(follow,))
    return _tell_otherwise(task, first, user, "changed-mind")


def vary_withheld(task: Task, level: int, seed: int) -> TaskDraft | None:
    """Tell only the beginning; the rest is the user's answer to a question, and comes as a second prompt at last."""
    if task.file.user.persona:
        return None
    parts = re.split(r"(?<=[.!?])\s+|\n\n", task.prompt, maxsplit=1)
    if len(parts) < 2 or not parts[1].strip():
        return None
    first = f"{parts[0].strip()}\n\nThere is more to it: ask me what you need to know before you begin."
    user = UserScript(
        answers={"*": parts[1].strip()}, follow_ups=(f"Here is the rest.\n\n{parts[1].strip()}",)
    )
    return _tell_otherwise(task, first, user, "withheld")


def vary_renamed_tools(task: Task, level: int, seed: int) -> TaskDraft | None:
    """Give the tools and their arguments other names and descriptions."""
    draft = copy_draft(task)
    tags = tuple(dict.fromkeys((*draft.file.tags, "renamed-tools")))
    file = draft.file.model_copy(update={"tools": rename_tools(f"{seed} {task.name}"), "tags": tags})
    return replace(draft, prompt=task.prompt, file=file)


VARIATIONS: Mapping[str, Variation] = {
    "masked": vary_masked,
    "reworded": vary_reworded,
    "changed-mind": vary_changed_mind,
    "withheld": vary_withheld,
    "renamed-tools": vary_renamed_tools,
}
"""Kinds of variants."""


def vary_tasks(
    tasks: Sequence[Task], output: Path, kind: str, *, level: int = 1, seed: int = 0, limit: int | None = None
) -> tuple[list[str], int, int]:
    """Write a variant of each task; return the names, how many were there already, and how many cannot be varied so.

    Raises UserError for an unknown kind, or if no task can.
    """
    variation = VARIATIONS.get(kind)
    if variation is None:
        raise UserError(Fault.USAGE, f"no kind of variants {kind!r}", f"Kinds: {', '.join(VARIATIONS)}.")
    create_suite_folder(output)
    written: list[str] = []
    kept = unfit = 0
    for task in tasks:
        if limit is not None and len(written) + kept >= limit:
            break
        if (output / task.name / TASK_FILE).is_file():
            kept += 1
            continue
        draft = variation(task, level, seed)
        if draft is None:
            unfit += 1
            continue
        write_task(output / task.name, draft)
        written.append(task.name)
    if not written and not kept:
        raise UserError(Fault.USAGE, f"none of {len(tasks)} tasks can be {kind}")
    if not (output / SUITE_FILE).is_file():
        write_suite_file(output, SuiteFile(name=output.resolve().name, description=f"{kind} variants"))
    return written, kept, unfit


def _tell_otherwise(task: Task, prompt: str, user: UserScript, tag: str) -> TaskDraft:
    draft = copy_draft(task)
    own = task.file.user
    told = own.model_copy(
        update={
            "answers": {**own.answers, **user.answers},
            "follow_ups": (*user.follow_ups, *own.follow_ups),
        }
    )
    tags = tuple(dict.fromkeys((*draft.file.tags, tag)))
    return replace(draft, prompt=prompt, file=draft.file.model_copy(update={"user": told, "tags": tags}))


def _replace_base_files(
    task: Task, draft: TaskDraft, files: Mapping[str, bytes], before: Mapping[str, bytes]
) -> TaskDraft:
    """Return a draft whose base has other contents of some files."""
    if task.file.base.folder:
        own = {each.path: each.read() for each in list_folder_files(task.base_folder) if each.kind != "link"}
        return replace(draft, base_copy=None, base_files={**own, **files})
    old = draft.other_files.get(task.file.base.patch, b"") if task.file.base.patch else b""
    plain = replace_patch_away(task, files)
    parts = {**split_patch(old), **split_patch(render_patch(plain, files))}
    base = draft.file.base.model_copy(update={"patch": PATCH})
    others = {path: content for path, content in draft.other_files.items() if path != task.file.base.patch}
    return replace(
        draft,
        file=draft.file.model_copy(update={"base": base}),
        other_files={**others, PATCH: b"".join(parts.values())},
    )


def replace_patch_away(task: Task, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return files as the commit has them, without the base's patch."""
    bare = replace(
        task, file=task.file.model_copy(update={"base": task.file.base.model_copy(update={"patch": ""})})
    )
    return read_base_files(bare, files)


def _list_changed_lines(patch: bytes) -> list[int]:
    """Return the lines of the new text that a patch of one file changes."""
    found: list[int] = []
    line = 0
    for row in patch.decode("utf-8", "replace").split("\n"):
        head = re.match(r"@@ -\S+ \+(\d+)", row)
        if head:
            line = int(head[1])
        elif line and row.startswith("+"):
            found.append(line)
            line += 1
        elif line and row.startswith("-"):
            found.append(line)
        elif line:
            line += 1
    return found
