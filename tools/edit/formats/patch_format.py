"""The `*** Begin Patch` format: files added, deleted, updated and moved, hunks located by their content.

Accepted as well: markers with white space around them, several patches in one text, one without its first
line, a here-document or a fence around it, other words for the three operations, names and numbers of a
unified diff within an update. `*** End Patch` may be missing when nothing can have been cut off: the text
ends with a line ending, in a closed fence or here-document, or with context.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.edit.edit_model import Create, Delete, FileChange, Hunk, Update
from tools.edit.formats.hunks import (
    Head,
    build_hunk,
    is_hunk_header,
    is_no_newline_marker,
    parse_hunk_header,
    read_line_mark,
)
from tools.edit.formats.parse_errors import PATCH_EXAMPLE, build_malformed_edit, quote_line
from tools.edit.formats.parse_result import ParsedEdits, merge_updates
from tools.edit.formats.path_syntax import parse_header_path, strip_prefixes

Kind = Literal["begin", "end", "add", "delete", "update", "move", "eof", "environment", "unknown"]

_VERBS: dict[str, Kind] = {
    "add": "add",
    "create": "add",
    "new": "add",
    "delete": "delete",
    "remove": "delete",
    "update": "update",
    "edit": "update",
    "modify": "update",
    "change": "update",
}
"""The three operations, with the synonyms that models use."""

_FIXED: dict[str, Kind] = {"begin patch": "begin", "end patch": "end", "end of file": "eof"}
_FILE = compile_lazily(r"\*{3} ?([A-Za-z]{1,20}) files? ?: *(.*?)(?: \*{3})?", re.IGNORECASE)
_MOVE = compile_lazily(r"\*{3} ?(?:moved?|renamed?)(?: file)? to ?: *(.*?)(?: \*{3})?", re.IGNORECASE)
_UNKNOWN = compile_lazily(r"\*{3} ?[A-Za-z][A-Za-z ]{0,40}:(?: .*)?")
_HERE_DOCUMENT = compile_lazily(r"<<-?['\"]?([A-Za-z_]\w*)")
_FENCE = compile_lazily(r"\s*(`{3,}|~{3,})")
_VALID = "'*** Add File: PATH', '*** Update File: PATH' (then perhaps '*** Move to: PATH') or '*** Delete File: PATH'"


@dataclass(slots=True, kw_only=True)
class _Section:
    kind: Kind
    path: str
    number: int
    to: str = ""
    body: list[str] = field(default_factory=list)


def parse_marker(line: str) -> tuple[Kind, str] | None:
    """Parse a line with `***` into its kind and path; None if it is no marker."""
    text = line.strip()
    if not text.startswith("***") or len(text) > 1000:
        return None
    fixed = _FIXED.get(text.strip("* ").lower())
    if fixed:
        return fixed, ""
    file = _FILE.fullmatch(text)
    if file:
        return _VERBS.get(file[1].lower(), "unknown"), _clean_path(file[2])
    move = _MOVE.fullmatch(text)
    if move:
        return "move", _clean_path(move[1])
    if text.startswith("*** Environment ID:"):
        return "environment", ""
    return ("unknown", "") if _UNKNOWN.fullmatch(text) else None


def parse_patch(lines: Sequence[str]) -> ParsedEdits:
    """Parse the changes of all patches in a text. Raises MalformedEdit.

    lines: split at "\\n", so that the last is "" after a final newline
    """
    changes: list[FileChange] = []
    used: list[tuple[int, int]] = []
    markers = [(at, parse_marker(line)) for at, line in enumerate(lines)]
    frames = [(at, found[0]) for at, found in markers if found and found[0] in ("begin", "end")]
    at = 0
    while at < len(lines):
        found = markers[at][1]
        if found is None or found[0] == "environment":
            at += 1
            continue
        kind, _ = found
        if kind not in ("begin", "add", "update", "delete"):
            raise build_malformed_edit(
                at, f"{quote_line(lines[at])} stands outside a patch or is no header: {_VALID}", PATCH_EXAMPLE
            )
        first = at + 1 if kind == "begin" else at
        end, after = _find_extent(lines, frames, at, first)
        sections = _split_sections(_dedent_lines(lines, at, end), first)
        if not sections:
            raise build_malformed_edit(at, f"the patch is empty: it needs {_VALID}", PATCH_EXAMPLE)
        changes += [_build_change(section) for section in sections]
        used.append((at, after))
        at = after
    return ParsedEdits(changes=merge_updates(changes), used=used)


def _clean_path(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "`\"'" else text


def _find_extent(
    lines: Sequence[str], frames: Sequence[tuple[int, Kind]], begin: int, first: int
) -> tuple[int, int]:
    """Return the end of a patch and the line at which the text continues. frames: its begin and end markers"""
    number = bisect_left(frames, (first, ""))
    at, kind = frames[number] if number < len(frames) else (len(lines), "begin")
    if kind == "end":
        return at, at + 1
    stop, closed = _find_closing_line(lines, begin, first, at)
    if not closed:
        stop = _find_unclosed_end(lines, first, stop)
        _refuse_truncated(lines, begin, first, stop)
    return stop, stop


def _find_unclosed_end(lines: Sequence[str], first: int, stop: int) -> int:
    """Return the end of an unclosed patch: its last marked line and the lines that follow without an empty
    one.
    """
    end = stop
    while end > first and read_line_mark(lines[end - 1]) in ("", "?") and not parse_marker(lines[end - 1]):
        end -= 1
    found = parse_marker(lines[end - 1]) if end > first else None
    if found and found[0] == "add" and any(line.strip() for line in lines[end:stop]):
        raise build_malformed_edit(
            end - 1,
            f"nothing says where the new file {found[1]!r} ends: begin its lines with '+'",
            PATCH_EXAMPLE,
        )
    while end < stop and lines[end]:
        end += 1
    return end


def _find_closing_line(lines: Sequence[str], begin: int, first: int, end: int) -> tuple[int, bool]:
    """Find the end of the fence or here-document opened directly before a patch that has no end marker."""
    word = fence = ""
    for line in reversed(lines[max(begin - 3, 0) : begin]):
        here = _HERE_DOCUMENT.search(line[:200])
        opened = _FENCE.match(line)
        word = word or (here[1] if here else "")
        fence = fence or (opened[1] if opened else "")
    for at in range(first, end):
        text = lines[at].strip()
        if (word and text == word) or (fence and text.startswith(fence) and not text.strip(fence[0])):
            return at, True
    return end, False


def _refuse_truncated(lines: Sequence[str], begin: int, first: int, stop: int) -> None:
    """Raise MalformedEdit if a patch without an end marker may be cut off within a hunk, or a line."""
    last = lines[stop - 1] if stop > first else lines[begin]
    found = parse_marker(last)
    whole = found is not None and found[0] in ("delete", "eof")
    if not (whole or read_line_mark(last) in (" ", "\\") or stop < len(lines)):
        raise build_malformed_edit(
            stop - 1,
            f"the text ends after {quote_line(last)} without '*** End Patch': it may be cut off",
            PATCH_EXAMPLE,
        )


def _dedent_lines(lines: Sequence[str], begin: int, end: int) -> list[str]:
    """Dedent a patch that is indented as a whole; line numbers are unchanged."""
    first = lines[begin]
    indent = first[: len(first) - len(first.lstrip())]
    part = list(lines[begin:end])
    if indent and all(line.startswith(indent) for line in part if line.strip()):
        part = [line[len(indent) :] for line in part]
    return part[1:] if (parse_marker(first) or ("", ""))[0] == "begin" else part


def _split_sections(lines: Sequence[str], first: int) -> list[_Section]:
    sections: list[_Section] = []
    for number, line in enumerate(lines, first):
        found = parse_marker(line)
        if found is None or found[0] == "eof" or (found[0] == "unknown" and sections and line[0] == " "):
            if sections:
                sections[-1].body.append(line)
            elif line.strip():
                raise build_malformed_edit(
                    number, f"{quote_line(line)} stands where a header should: {_VALID}", PATCH_EXAMPLE
                )
            continue
        kind, path = found
        if kind == "environment":
            continue
        if kind == "move":
            _add_move(sections, number, line, path)
            continue
        if kind not in ("add", "update", "delete"):
            raise build_malformed_edit(
                number, f"{quote_line(line)} is no header of this format: {_VALID}", PATCH_EXAMPLE
            )
        if not path:
            raise build_malformed_edit(number, f"{quote_line(line)} names no file", PATCH_EXAMPLE)
        sections.append(_Section(kind=kind, path=path, number=number))
    return sections


def _add_move(sections: list[_Section], number: int, line: str, path: str) -> None:
    last = sections[-1] if sections else None
    if (
        last is None
        or last.kind != "update"
        or last.to
        or any(text.strip() for text in last.body)
        or not path
    ):
        raise build_malformed_edit(
            number,
            f"{quote_line(line)} must follow directly on '*** Update File: PATH' and name a file",
            PATCH_EXAMPLE,
        )
    last.to = path
    last.number += 1 + len(last.body)
    last.body.clear()


def _build_change(section: _Section) -> FileChange:
    match section.kind:
        case "add":
            return Create(path=section.path, content=_extract_content(section))
        case "delete":
            return Delete(path=section.path, hunks=_build_deleted_hunks(section))
        case _:
            return _build_update(section)


def _extract_content(section: _Section) -> str:
    """Return the content of a new file. If none of its lines has a "+", they are taken literally."""
    first, body = section.number + 1, section.body
    blank = _count_leading_blank(body)
    if blank < len(body) and is_hunk_header(body[blank]):
        first, body = first + blank + 1, body[blank + 1 :]
    body = [line for line in body if not _is_eof_marker(line)]
    while body and not body[-1].strip("\r"):
        body = body[:-1]
    ended = not (body and is_no_newline_marker(body[-1]))
    body = body if ended else body[:-1]
    if any(line.startswith("+") for line in body):
        for offset, line in enumerate(body):
            if line.strip() and not line.startswith("+"):
                raise build_malformed_edit(
                    first + offset,
                    f"{quote_line(line)} in '*** Add File: {section.path}': every line of a new file begins with '+'",
                    "*** Begin Patch\n*** Add File: src/cart.py\n+def total():\n+    return 0\n*** End Patch",
                )
        body = [line[1:] if line.strip() else "" for line in body]
    elif body and all(line[:1] in (" ", "-", "@", "") for line in body):
        raise build_malformed_edit(
            first,
            f"{quote_line(body[0])} in '*** Add File: {section.path}': every line of a new file begins with '+'",
            "*** Begin Patch\n*** Add File: src/cart.py\n+def total():\n+    return 0\n*** End Patch",
        )
    return "\n".join(body) + ("\n" if body and ended else "")


def _build_deleted_hunks(section: _Section) -> tuple[Hunk, ...]:
    """Return the stated content of a removed file: this format has no place for it, but models give it."""
    body = [line for line in section.body if not _is_eof_marker(line) and not is_hunk_header(line)]
    while body and not body[-1]:
        body.pop()
    for offset, line in enumerate(body):
        if line and read_line_mark(line) not in ("-", "\\"):
            raise build_malformed_edit(
                section.number + 1 + offset,
                f"{quote_line(line)} follows on '*** Delete File: {section.path}': nothing may, but another header",
                "*** Begin Patch\n*** Delete File: src/cart.py\n*** End Patch",
            )
    lines = [line or "-" for line in body]
    return (build_hunk(lines, section.number + 1, (), PATCH_EXAMPLE),) if lines else ()


def _build_update(section: _Section) -> Update:
    first, body = section.number + 1, section.body
    hunks: list[Hunk] = []
    heads: list[Head] = []
    start = at = _count_header_lines(section)
    while at <= len(body):
        line = body[at] if at < len(body) else None
        if line is not None and not is_hunk_header(line) and not _is_eof_marker(line):
            at += 1
            continue
        part = body[start:at]
        part = part[: _find_content_end(part)]
        if part or (heads and (line is None or _is_eof_marker(line)) and not _is_trailing_head(heads, hunks)):
            found = build_hunk(part, first + start, heads, PATCH_EXAMPLE)
            hunks.append(replace(found, at_end=line is not None and _is_eof_marker(line), appends=True))
            heads = []
        if line is not None and is_hunk_header(line):
            heads.append(parse_hunk_header(line))
        at += 1
        start = at
    if not hunks and not section.to:
        raise build_malformed_edit(
            section.number,
            f"'*** Update File: {section.path}' has no lines that begin with '-' or '+'",
            PATCH_EXAMPLE,
        )
    return Update(path=section.path, edits=tuple(hunks), to=section.to)


def _is_trailing_head(heads: Sequence[Head], hunks: Sequence[Hunk]) -> bool:
    """Return whether a bare `@@` follows the last hunk: models close a hunk with it, as in the head of a
    diff.
    """
    return bool(hunks) and len(heads) == 1 and not heads[0].name and heads[0].old is None


def _find_content_end(body: Sequence[str]) -> int:
    """Return how many lines remain without the empty ones at the end: those separate hunks more often than
    they are context.
    """
    end = len(body)
    while end and not body[end - 1].strip("\r"):
        end -= 1
    return end


def _count_leading_blank(body: Sequence[str]) -> int:
    at = 0
    while at < len(body) and not body[at].strip("\r"):
        at += 1
    return at


def _count_header_lines(section: _Section) -> int:
    """Count lines before the hunks without content: empty ones, `---` and `+++` with the file's names again."""
    body = section.body
    at = _count_leading_blank(body)
    if at + 2 >= len(body) or not (body[at].startswith("--- ") and body[at + 1].startswith("+++ ")):
        return at
    pair = strip_prefixes(parse_header_path(body[at][4:]), parse_header_path(body[at + 1][4:]))
    return at + 2 if section.path in pair and is_hunk_header(body[at + 2]) else at


def _is_eof_marker(line: str) -> bool:
    found = parse_marker(line) if line.lstrip().startswith("***") else None
    return found is not None and found[0] == "eof"
