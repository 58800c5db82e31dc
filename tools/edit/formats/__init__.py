"""Parsers of the edit formats that models write.

Three formats: search/replace blocks (`blocks`), `*** Begin Patch` (`patch`) and unified diffs (`diff`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from tools.edit.edit_model import FileChange, MalformedEdit
from tools.edit.formats import format_detection
from tools.edit.formats.cleanup import undo_escapes
from tools.edit.formats.parse_errors import build_no_edit_found
from tools.edit.formats.parse_result import ParsedEdits
from tools.edit.formats.patch_format import parse_patch
from tools.edit.formats.search_replace import parse_blocks
from tools.edit.formats.transport import decode_mail, strip_colors, strip_line_prefix
from tools.edit.formats.unified_diff import parse_diff

__all__ = ["Form", "MalformedEdit", "parse_edits"]

Form = Literal["auto", "blocks", "patch", "diff"]

_PARSERS: dict[format_detection.Format, Callable[[Sequence[str]], ParsedEdits]] = {
    "blocks": parse_blocks,
    "patch": parse_patch,
    "diff": parse_diff,
}
_NAMES: dict[format_detection.Format, str] = {
    "blocks": "a search/replace block",
    "patch": "the '*** Begin Patch' format",
    "diff": "a unified diff",
}


def parse_edits(text: str, form: Form = "auto") -> list[FileChange]:
    """Parse the changes in a text, in order; prose around them is skipped.

    Raises MalformedEdit if there are none, if one is malformed, or if the text mixes two formats. Lines end
    at "\\n"; "\\r\\n" is treated the same if every line ends so.
    """
    lines, found = _read_lines(text)
    if found is None:
        raise build_no_edit_found()
    if form != "auto" and form != found:
        raise MalformedEdit(
            f"{_NAMES[form]} was asked for, but the text is in another format: {_NAMES[found]}"
        )
    parsed = _PARSERS[found](lines)
    other = format_detection.find_foreign_format(lines, parsed.used, found)
    if other is not None:
        raise MalformedEdit(
            f"line {other[0] + 1}: {_NAMES[other[1]]} begins here, but the text is in another format "
            f"({_NAMES[found]}). Use one format for all"
        )
    if not parsed.changes:
        raise build_no_edit_found()
    return parsed.changes


def _read_lines(text: str) -> tuple[list[str], format_detection.Format | None]:
    """Return the lines of a text and its format; if none is detected, undo what was done to the text and retry."""
    text = decode_mail(text) or text
    lines = _split_lines(text)
    found = format_detection.detect_format(lines)
    if found is None:
        for undone in _undo_wrappings(text):
            other = _split_lines(undone)
            form = format_detection.detect_format(other)
            if form is not None:
                return other, form
    return lines, found


def _undo_wrappings(text: str) -> Iterator[str]:
    """Yield the text without the colors and the line prefix of a terminal, and without one level of escaping."""
    import html

    plain = strip_colors(text) or text
    for undone in (plain, strip_line_prefix(plain), undo_escapes(_strip_quotes(text.strip()))):
        if undone is not None:
            yield undone
    yield html.unescape(text)


def _strip_quotes(text: str) -> str:
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text


def _split_lines(text: str) -> list[str]:
    text = text.removeprefix("\ufeff")
    breaks = text.count("\n")
    if breaks and text.count("\r\n") == breaks:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    indent = _measure_common_indent(lines)
    return [line[indent:] for line in lines] if indent else lines


def _measure_common_indent(lines: Sequence[str]) -> int:
    """Return the width of the white space that begins every line: no format has that of itself."""
    indents = (line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip())
    common = next(indents, "")
    for indent in indents:
        while not indent.startswith(common):
            common = common[:-1]
        if not common:
            break
    return len(common)
