"""What every parser gives back, and how changes of one file that stand apart are brought together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tools.edit.edit_model import FileChange, Update


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEdits:
    """The changes of a text, and the lines that say them, as ranges (first, end) from 0; all others are prose."""

    changes: list[FileChange]
    used: list[tuple[int, int]]


def merge_updates(changes: Iterable[FileChange]) -> list[FileChange]:
    """Updates of one file as one, at the place of the first; not across its creation, removal or move elsewhere."""
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


def refuse_duplicate_updates(changes: Sequence[FileChange]) -> None:
    """Raises ValueError when rendered changes would be read back as fewer."""
    if len(merge_updates(changes)) != len(changes):
        raise ValueError("two updates of one file: bring them together in one Update")


def _is_same_target(before: Update, after: Update) -> bool:
    return not before.to or not after.to or before.to == after.to
