"""Result of every parser, and the merge of separate updates of one file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sandbox.lazy_dataclass import dataclass
from tools.edit.edit_model import Edit, FileChange, Hunk, Update


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEdits:
    """The changes in a text, and the ranges of their lines (first, end) from 0; all others are prose."""

    changes: list[FileChange]
    used: list[tuple[int, int]]


def merge_updates(changes: Iterable[FileChange]) -> list[FileChange]:
    """Merge updates of one file at the place of the first; not across its creation, removal, move elsewhere or
    copy. The hunks of each keep their section.
    """
    result: list[FileChange] = []
    latest: dict[str, int] = {}
    for change in changes:
        index = latest.get(change.path)
        if index is not None:
            before = result[index]
            if isinstance(before, Update) and isinstance(change, Update) and _is_same_target(before, change):
                edits = before.edits + _number_section(before, change)
                mode = before.mode if change.mode is None else change.mode
                result[index] = replace(before, edits=edits, to=before.to or change.to, mode=mode)
                continue
        latest[change.path] = len(result)
        if isinstance(change, Update) and change.to:
            latest.pop(change.to, None)  # from here on, that path is another file
            if change.copies:
                latest.pop(change.path, None)
        result.append(change)
    return result


def _number_section(before: Update, after: Update) -> tuple[Edit, ...]:
    last = before.edits[-1] if before.edits else None
    section = last.section + 1 if isinstance(last, Hunk) else 0
    return tuple(replace(each, section=section) if isinstance(each, Hunk) else each for each in after.edits)


def _is_same_target(before: Update, after: Update) -> bool:
    if before.copies or after.copies:
        return False
    return not before.to or not after.to or before.to == after.to
