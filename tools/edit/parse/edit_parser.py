"""Parse one edit: the text as given, and its readings without wrappings."""

from __future__ import annotations

from dataclasses import replace

from tools.edit.edit_model import Hunk, Replace
from tools.edit.formats.cleanup import has_fence
from tools.edit.match.matchers import Source
from tools.edit.parse.line_numbers import filter_by_line_numbers, strip_hunk_numbers
from tools.edit.parse.readings import OLD_FENCED, generate_readings
from tools.edit.refusal import EditRefused
from tools.edit.stage_values import Parsed, Reading


def parse_edit(source: Source, edit: Replace | Hunk, *, strictest: bool) -> Parsed:
    """Return the readings of an edit. Raises EditRefused for a replacement that names nothing to change."""
    if isinstance(edit, Replace):
        edit = _normalize_replacement(source, edit)
        readings = [each for each in generate_readings(edit) if not _has_file_fence(source, each)]
    else:
        readings = [Reading(marked=edit)]
    parsed = Parsed(edit=edit, readings=tuple(readings), strictest=strictest)
    if strictest:
        return replace(parsed, readings=parsed.readings[:1])
    try:
        return replace(parsed, readings=tuple(_apply_line_numbers(source, edit, readings)))
    except EditRefused as refusal:
        return replace(parsed, doubt=str(refusal))


def _normalize_replacement(source: Source, edit: Replace) -> Replace:
    """Return the replacement with the file's line endings and without a final newline that the file lacks."""
    if not edit.old.strip():
        raise EditRefused("`old` is empty: give the text to replace")
    if edit.old == edit.new:
        raise EditRefused("`old` and `new` are the same")
    if "\r" in edit.old + edit.new and "\r" not in source.text:
        edit = replace(edit, old=_normalize_newlines(edit.old), new=_normalize_newlines(edit.new))
    if edit.old.endswith("\n") and not source.text.endswith("\n") and source.text.endswith(edit.old[:-1]):
        old, new = edit.old[:-1], edit.new.removesuffix("\n")
        whole = not new and source.is_whole_lines(len(source.text) - len(old), old)
        edit = replace(edit, old=old, new=new, whole_lines=edit.whole_lines or whole)
    return edit


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\r")


def _has_file_fence(source: Source, reading: Reading) -> bool:
    """Return whether a Markdown fence stripped from `old` only may be one of the file's."""
    return OLD_FENCED in reading.note and has_fence(source.text)


def _apply_line_numbers(source: Source, edit: Replace | Hunk, readings: list[Reading]) -> list[Reading]:
    if isinstance(edit, Replace):
        return filter_by_line_numbers(source, edit.old, readings)
    return [*readings, *strip_hunk_numbers(source, edit)]
