"""Search/replace blocks: the name of a file, the text to find in it and its replacement.

    src/cart.py
    <<<<<<< SEARCH
    =======
    >>>>>>> REPLACE

Accepted as well: markers of 5 to 9 signs, indented, with other words (ORIGINAL … UPDATED, HEAD), Cline's
(`------- SEARCH` … `+++++++ REPLACE`), Roo's `:start_line:` header (dropped, since the text is located by its
content) and its backslash before a line that looks like a marker, names in fences, tags and decoration, a
later block without a name (same file). A line of the text may look like a marker if the block's own markers
have another number of signs, the same in all three.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.edit.edit_model import Create, FileChange, Replace, Update
from tools.edit.formats.parse_errors import BLOCK_EXAMPLE, build_malformed_edit, quote_line
from tools.edit.formats.parse_result import ParsedEdits, merge_updates
from tools.edit.formats.path_syntax import find_path_before, parse_path_line

MAX_MARKER = 1000
"""Characters of a marker line: longer lines are text, and are not searched."""

SIGNS = range(5, 10)
"""Number of signs that a marker may have; 7 is usual."""

_TAGS = r"(?:</?\w+>|<!\[CDATA\[|\]\]>)*"
_BEGIN = compile_lazily(
    _TAGS + r"(?:(<{5,9}) ?(SEARCH|ORIGINAL|HEAD)\b|(-{5,9}) ?(SEARCH)\b)[>:]*(.*)", re.IGNORECASE
)
_DIVIDER = compile_lazily(r"={5,9}")
_END = compile_lazily(r"(>{5,9}|\+{5,9}) ?(?:REPLACE|UPDATED)\b[>\s`~]*" + _TAGS + r"[`~]*", re.IGNORECASE)
_LOOSE_END = compile_lazily(r">{5,9}")
_CONFLICT = compile_lazily(r"(<{5,9}|\|{5,9}|={5,9}|>{5,9})(?: .*)?")
_POSITION = compile_lazily(r":(?:start|end)_line:\s*\d*")
_POSITION_END = compile_lazily(r"-{5,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Line numbers of a block's markers and of the end of its second part, the number of signs of its
    markers, and the file name if the first marker gives one.
    """

    begin: int
    divider: int
    new_end: int
    end: int
    size: int
    name: str


def match_begin_marker(line: str) -> re.Match[str] | None:
    """Match the first marker of a block; groups 1 or 3 its signs, 2 or 4 its word, 5 the rest."""
    text = line.strip()
    if len(text) > MAX_MARKER or not ("<<<<<" in text or "-----" in text):
        return None
    match = _BEGIN.fullmatch(text)
    return None if match and match[3] and match[5].strip() else match


def match_end_marker(line: str) -> re.Match[str] | None:
    """Match the last marker of a block."""
    text = line.strip()
    return _END.fullmatch(text) if len(text) <= MAX_MARKER and text[:5] in (">>>>>", "+++++") else None


def looks_like_marker(line: str, size: int) -> bool:
    """Return whether a block whose markers have `size` signs cannot contain a line as text."""
    text = line.strip().lstrip("\\")
    begin, end = match_begin_marker(text), match_end_marker(text)
    conflict = _CONFLICT.fullmatch(text)
    return any(
        (
            begin is not None and len(begin[1] or begin[3]) == size,
            end is not None and len(end[1]) == size,
            conflict is not None and len(conflict[1]) == size,
        )
    )


def is_start_line_header(line: str) -> bool:
    """Return whether a line is Roo's `:start_line:12`."""
    return bool(_POSITION.fullmatch(line.strip()))


def parse_blocks(lines: Sequence[str]) -> ParsedEdits:
    """Parse the changes of all blocks in a text. Raises MalformedEdit.

    lines: split at "\\n", so that the last is "" after a final newline
    """
    changes: list[FileChange] = []
    used: list[tuple[int, int]] = []
    path, at, floor = "", 0, 0
    while at < len(lines):
        if match_end_marker(lines[at]):
            raise build_malformed_edit(
                at, f"{quote_line(lines[at])} ends a block that no '<<<<<<< SEARCH' began", BLOCK_EXAMPLE
            )
        match = match_begin_marker(lines[at])
        if match is None:
            at += 1
            continue
        block = _parse_block(lines, at, match)
        named = (block.name, at) if block.name else find_path_before(lines, at, floor)
        change = _build_change(lines, block, named[0] if named else path, is_named=named is not None)
        path = change.path
        changes.append(change)
        used.append((named[1] if named else at, block.end + 1))
        at = floor = block.end + 1
    return ParsedEdits(changes=merge_updates(changes), used=used)


def _parse_block(lines: Sequence[str], begin: int, match: re.Match[str]) -> _Block:
    size = len(match[1] or match[3])
    rest = match[5].strip()
    stop, same = begin + 1, False
    while stop < len(lines) and not same:
        again = match_begin_marker(lines[stop])
        if again and _is_next_block(again, match):
            break
        end = match_end_marker(lines[stop])
        same = end is not None and len(end[1]) == size
        stop += not same
    dividers = _find_dividers(lines, begin, stop, size) if same else []
    if not dividers:
        stop = _find_loose_end(lines, begin, stop)
        dividers = _find_dividers(lines, begin, stop, size) or _find_dividers(lines, begin, stop, 0)
    if not dividers:
        raise build_malformed_edit(
            begin, f"the block up to line {stop + 1} has no '=======' between its two parts", BLOCK_EXAMPLE
        )
    name = (parse_path_line(rest) or "") if rest else ""
    divider = _choose_divider(lines, begin, stop, dividers)
    stray = divider == dividers[0] and _has_closing_divider(dividers, stop)
    return _Block(begin=begin, divider=divider, new_end=stop - stray, end=stop, size=size, name=name)


def _is_next_block(again: re.Match[str], begin: re.Match[str]) -> bool:
    """Return whether this is another first marker of the same size; `<<<<<<< HEAD` may be a merge conflict in
    the text.
    """
    is_conflict = (again[2] or "").upper() == "HEAD" and (begin[2] or "").upper() != "HEAD"
    return len(again[1] or again[3]) == len(begin[1] or begin[3]) and not is_conflict


def _find_loose_end(lines: Sequence[str], begin: int, stop: int) -> int:
    """Return the end of a block whose last marker does not fit its first: the first end marker found."""
    loose = -1
    for at in range(begin + 1, stop + 1 if stop < len(lines) else stop):
        if match_end_marker(lines[at]):
            return at
        if match_begin_marker(lines[at]):
            stop = at
            break
        if loose < 0 and _LOOSE_END.fullmatch(lines[at].strip()):
            loose = at
    if loose >= 0:
        return loose
    where = f"before line {stop + 1}" if stop < len(lines) else "before the text ends"
    raise build_malformed_edit(
        begin, f"the block that begins here is not closed by '>>>>>>> REPLACE' {where}", BLOCK_EXAMPLE
    )


def _find_dividers(lines: Sequence[str], begin: int, end: int, size: int) -> list[int]:
    """Return candidate dividers: of `size` signs (0: any number), and not of a merge conflict in the text."""
    found: list[int] = []
    conflict: list[int] | None = None
    for at in range(begin + 1, end):
        text = lines[at].strip()
        match = _CONFLICT.fullmatch(text) if text[:5] in _SIGNS else None
        if match is None:
            continue
        sign = text[0]
        if sign == "<" and len(match[1]) == 7:
            conflict = []
        elif sign == "=" and _DIVIDER.fullmatch(text) and (not size or len(text) == size):
            if conflict is not None and not conflict and len(text) == 7:
                conflict.append(at)
            else:
                found.append(at)
        elif sign == ">" and conflict:
            conflict = None
    return sorted(found + conflict) if conflict else found


_SIGNS = frozenset(("<<<<<", "=====", ">>>>>", "|||||"))


def _choose_divider(lines: Sequence[str], begin: int, end: int, dividers: Sequence[int]) -> int:
    """Choose the divider. A line of signs as long as the text above it is a heading's underline (but not at
    the very end).
    """
    if len(dividers) == 1:
        return dividers[0]
    plain = [at for at in dividers if at == begin + 1 or len(lines[at - 1].strip()) != len(lines[at].strip())]
    if len(plain) == 1 and all(at + 1 < end for at in dividers if at != plain[0]):
        return plain[0]
    if _has_closing_divider(dividers, end) and (dividers[1] in plain or dividers[0] + 1 == dividers[1]):
        return dividers[0]
    numbers = ", ".join(str(at + 1) for at in dividers)
    raise build_malformed_edit(
        begin,
        f"lines {numbers} all look like the '=======' of this block. If one is part of the text, give the block's "
        "three markers another number of signs (5 to 9, the same in each); else leave one out",
        BLOCK_EXAMPLE.replace("<<<<<<<", "<<<<<<<<<")
        .replace("=======", "=========")
        .replace(">>>>>>>", ">>>>>>>>>"),
    )


def _has_closing_divider(dividers: Sequence[int], end: int) -> bool:
    """Return whether a second divider directly precedes the last marker: models end the second part as they
    did the first.
    """
    return len(dividers) == 2 and dividers[1] + 1 == end


def _build_change(lines: Sequence[str], block: _Block, path: str, *, is_named: bool) -> FileChange:
    if not path:
        raise build_malformed_edit(
            block.begin,
            f"no file is named before this block: write its path on the line before {quote_line(lines[block.begin])}",
            BLOCK_EXAMPLE,
        )
    old = _extract_text(lines, block.begin + 1, block.divider, block)
    new = _extract_text(lines, block.divider + 1, block.new_end, block)
    if any(line.strip() for line in old):
        old, new = _strip_positions(old, new)
        return Update(
            path=path, edits=(Replace(old=_join_lines(old), new=_join_lines(new), whole_lines=True),)
        )
    if not is_named:
        raise build_malformed_edit(
            block.begin,
            f"an empty SEARCH creates a file, and this block names none (the one before it names {path!r}): "
            "name the new file, or give the text to find",
            BLOCK_EXAMPLE,
        )
    return Create(path=path, content=_join_lines(_dedent_lines(new, lines[block.begin])))


def _extract_text(lines: Sequence[str], first: int, end: int, block: _Block) -> list[str]:
    return [_unescape_marker(lines[at], block.size) for at in range(first, end)]


def _unescape_marker(line: str, size: int) -> str:
    """Remove the backslash that keeps a line from being a marker."""
    text = line.lstrip()
    if text.startswith("\\") and looks_like_marker(text, size):
        return line.replace("\\", "", 1)
    return line


def _strip_positions(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    if not is_start_line_header(old[0]):
        return old, new
    return _strip_position(old), _strip_position(new)


def _strip_position(part: list[str]) -> list[str]:
    at = 0
    while at < len(part) and is_start_line_header(part[at]):
        at += 1
    if at and at < len(part):
        dashes = _POSITION_END.match(part[at].lstrip())
        if dashes:
            rest = part[at].lstrip()[dashes.end() :]
            return ([rest] if rest.strip() else []) + part[at + 1 :]
    return part[at:]


def _dedent_lines(part: list[str], begin: str) -> list[str]:
    """Dedent a new file's lines in a block that is indented as a whole, in a list for instance."""
    indent = begin[: len(begin) - len(begin.lstrip())]
    if indent and all(line.startswith(indent) for line in part if line.strip()):
        return [line[len(indent) :] for line in part]
    return part


def _join_lines(lines: Sequence[str]) -> str:
    return "".join(line + "\n" for line in lines)
