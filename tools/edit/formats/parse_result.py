"""Result of every parser, and the merge of separate updates of one file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tools.edit.edit_model import FileChange, Update


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEdits:
    """The changes in a text, and the ranges of their lines (first, end) from 0; all others are prose."""

    changes: list[FileChange]
    used: list[tuple[int, int]]


def merge_updates(changes: Iterable[FileChange]) -> list[FileChange]:
    """Merge updates of one file at the place of the first; not across its creation, removal or move
    elsewhere.
    """
    result: list[FileChange] = []
    latest: dict[str, int] = {}
    for change in changes:
        index = latest.get(change.path)
        if index is not None:
            before = result[index]
            if isinstance(before, Update) and isinstance(change, Update) and _is_same_target(before, change):
                edits = before.edits + change.edits
                mode = before.mode if change.mode is None else change.mode
                result[index] = replace(before, edits=edits, to=before.to or change.to, mode=mode)
                continue
        latest[change.path] = len(result)
        result.append(change)
    return result


def _is_same_target(before: Update, after: Update) -> bool:
    return not before.to or not after.to or before.to == after.to
