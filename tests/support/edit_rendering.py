"""Rendering of changes as text in each format, such that parsing it gives the same changes again.

Raises ValueError for what a format cannot express:
- blocks: removals, moves and modes; hunks, line ranges and symbols; parts of lines and `all`; a blank text to
  find; lines that look like markers of every size
- patch: modes; anything but hunks; line numbers, missing final newlines, the content of a removed file;
  context lines that look like markers
- diff: anything but hunks; heads together with line numbers; the end-of-file mark; `appends`; counts marked
  as wrong; lines in a hunk without numbers that look like the headers of a file
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.edit.edit_model import Create, Delete, FileChange, Hunk, Line, Replace, Update
from tools.edit.formats import path_syntax, search_replace
from tools.edit.formats.diff_file import MODES
from tools.edit.formats.hunks import Head, parse_hunk_header
from tools.edit.formats.parse_result import merge_updates
from tools.edit.formats.patch_format import parse_marker


def render_blocks(changes: Sequence[FileChange]) -> str:
    """Render search/replace blocks. Raises ValueError."""
    _refuse_duplicate_updates(changes)
    return "\n".join(_render_file_blocks(change) for change in changes)


def render_patch(changes: Sequence[FileChange]) -> str:
    """Render the `*** Begin Patch` format. Raises ValueError."""
    _refuse_duplicate_updates(changes)
    lines = [line for change in changes for line in _render_patch_section(change)]
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def render_diff(changes: Sequence[FileChange]) -> str:
    """Render a unified diff with git's headers. Raises ValueError."""
    _refuse_duplicate_updates(changes)
    return "".join(line + "\n" for change in changes for line in _render_diff_section(change))


def _refuse_duplicate_updates(changes: Sequence[FileChange]) -> None:
    """Raise ValueError if rendered changes would be parsed as fewer."""
    if len(merge_updates(changes)) != len(changes):
        raise ValueError("two updates of one file: bring them together in one Update")


def _render_file_blocks(change: FileChange) -> str:
    match change:
        case Create(mode=None):
            pairs = [("", change.content)]
        case Update(to="", mode=None):
            pairs = [_extract_replacement(edit) for edit in change.edits]
        case _:
            raise ValueError(f"blocks can't say removals, moves and modes: {change.path!r}")
    name = next(
        (name for name in (change.path, f"`{change.path}`") if _is_parsed_as(name, change.path)), None
    )
    if name is None:
        raise ValueError(f"blocks can't name the file {change.path!r}")
    return "\n".join(_render_block(name, old, new) for old, new in pairs)


def _is_parsed_as(line: str, path: str) -> bool:
    return "\n" not in line and path_syntax.find_path_before([line], 1, 0) == (path, 0)


def _extract_replacement(edit: object) -> tuple[str, str]:
    if not isinstance(edit, Replace) or not edit.whole_lines or edit.all:
        raise ValueError("blocks replace whole lines at one place")
    if not edit.old.strip():
        raise ValueError("a block can't look for blank lines alone: that creates a file")
    return edit.old, edit.new


def _render_block(name: str, old: str, new: str) -> str:
    search, replace = _split_whole_lines(old), _split_whole_lines(new)
    if search and search_replace.is_start_line_header(search[0]):
        raise ValueError(f"a block can't begin with {search[0]!r}: that is read as its position")
    sizes = sorted(search_replace.SIGNS, key=lambda size: abs(size - 7))
    free = (
        n for n in sizes if not any(search_replace.looks_like_marker(line, n) for line in search + replace)
    )
    size = next(free, 0)
    if not size:
        raise ValueError("lines look like markers of every size that a block can have")
    return "\n".join(
        [name, "<" * size + " SEARCH", *search, "=" * size, *replace, ">" * size + " REPLACE", ""]
    )


def _split_whole_lines(text: str) -> list[str]:
    if text and not text.endswith("\n"):
        raise ValueError("the last line has no line ending: the format writes whole lines")
    return text.split("\n")[:-1]


def _render_patch_section(change: FileChange) -> Iterable[str]:
    if not isinstance(change, Delete) and change.mode is not None:
        raise ValueError(f"a patch can't set the mode of {change.path!r}")
    match change:
        case Create():
            yield _render_patch_header("Add", "add", change.path)
            yield from ("+" + line for line in _split_whole_lines(change.content))
        case Delete():
            if change.hunks:
                raise ValueError("a patch can't say what a removed file contains")
            yield _render_patch_header("Delete", "delete", change.path)
        case Update():
            yield _render_patch_header("Update", "update", change.path)
            if change.to:
                yield _check_marker(f"*** Move to: {change.to}", ("move", change.to))
            elif not change.edits:
                raise ValueError(f"nothing changes in {change.path!r}")
            for edit in change.edits:
                yield from _render_patch_hunk(_require_hunk(edit))


def _render_patch_header(verb: str, kind: str, path: str) -> str:
    return _check_marker(f"*** {verb} File: {path}", (kind, path))


def _check_marker(line: str, meaning: tuple[str, str]) -> str:
    if "\n" in line or parse_marker(line) != meaning:
        raise ValueError(f"a patch can't name the file {meaning[1]!r}")
    return line


def _render_patch_hunk(hunk: Hunk) -> Iterable[str]:
    if hunk.start is not None or hunk.counted or hunk.no_newline or not hunk.appends:
        raise ValueError(
            "a patch has no line numbers, and says nothing of a missing final newline: it adds one"
        )
    yield from _render_heads(hunk.heads) or ["@@"]
    for line in hunk.lines:
        text = line.op + line.text
        found = parse_marker(text)
        if found and found[0] != "unknown":
            raise ValueError(f"a patch can't hold the context line {line.text!r}: it is read as a marker")
        yield text
    if hunk.at_end:
        yield "*** End of File"


def _require_hunk(edit: object) -> Hunk:
    if not isinstance(edit, Hunk):
        raise ValueError("patches and diffs are made of hunks")
    if all(line.op == " " for line in edit.lines):
        raise ValueError("a hunk changes something")
    if any("\n" in line.text for line in edit.lines):
        raise ValueError("a line of a hunk is one line")
    return edit


def _render_heads(heads: Sequence[str]) -> list[str]:
    for head in heads:
        if "\n" in head or parse_hunk_header(f"@@ {head}") != Head(name=head) or not head:
            raise ValueError(f"{head!r} can't stand after '@@': it is read as something else")
    return [f"@@ {head}" for head in heads]


def _render_diff_section(change: FileChange) -> Iterable[str]:
    to = change.to if isinstance(change, Update) else ""
    for path in (change.path, to):
        if (
            path in path_syntax.NO_FILE
            or "a/" + path in path_syntax.NO_FILE
            or (not path and path is change.path)
        ):
            raise ValueError(f"a diff can't name the file {path!r}")
    old, new = _quote_git_path("a/" + change.path), _quote_git_path("b/" + (to or change.path))
    yield f"diff --git {old} {new}"
    hunks: Sequence[Hunk]
    match change:
        case Create():
            yield f"new file mode {_format_mode(change.mode)}"
            hunks, old = _build_created_hunks(change.content), "/dev/null"
        case Delete():
            yield "deleted file mode 100644"
            if any(line.op != "-" for hunk in change.hunks for line in hunk.lines):
                raise ValueError("every line of a removed file is removed")
            hunks, new = change.hunks, "/dev/null"
        case Update():
            hunks = [_require_hunk(edit) for edit in change.edits]
            if change.mode is not None:
                yield f"old mode {'100644' if change.mode == 0o755 else '100755'}"
                yield f"new mode {_format_mode(change.mode)}"
            if to:
                yield f"rename from {_quote_git_path(change.path)}"
                yield f"rename to {_quote_git_path(to)}"
            if not hunks and not to and change.mode is None:
                raise ValueError(f"nothing changes in {change.path!r}")
    if hunks:
        yield f"--- {_terminate_path(old)}"
        yield f"+++ {_terminate_path(new)}"
    shift = 0
    for position, hunk in enumerate(hunks):
        yield from _render_diff_hunk(_require_hunk(hunk), shift, is_last=position == len(hunks) - 1)
        shift += len(hunk.new) - len(hunk.old)


def _quote_git_path(name: str) -> str:
    """Quote a name as git does: if it has quotes, backslashes, control characters or spaces at an end."""
    if name.strip() == name and all(c >= " " and c not in '"\\\x7f' for c in name) and name.isprintable():
        return name
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " else f"\\{ord(c):03o}" for c in plain) + '"'


def _terminate_path(name: str) -> str:
    """End a name that has spaces with a tab, lest a time stamp be parsed out of it."""
    return name + "\t" if " " in name and not name.startswith('"') else name


def _format_mode(mode: int | None) -> str:
    for written, meant in MODES.items():
        if meant == mode or (mode == 0o644 and written == "100644"):
            return written
    raise ValueError(f"a diff can't say the mode {mode:o}" if mode is not None else "no mode")


def _build_created_hunks(content: str) -> list[Hunk]:
    if not content:
        return []
    ended = content.endswith("\n")
    texts = content.split("\n")[: -1 if ended else None]
    lines = tuple(Line("+", text) for text in texts)
    return [Hunk(lines=lines, start=1, counted=True, no_newline="" if ended else "+")]


def _render_diff_hunk(hunk: Hunk, shift: int, *, is_last: bool) -> Iterable[str]:
    if hunk.at_end or hunk.appends:
        raise ValueError("a diff can't say that a hunk is the end of its file, or goes there")
    if hunk.counted != (hunk.start is not None) or (hunk.counted and hunk.heads):
        raise ValueError("a hunk of a diff has right counts and a line number, or heads and neither")
    if hunk.start is None:
        _refuse_header_lookalikes(hunk, is_last=is_last)
        yield from _render_heads(hunk.heads) or ["@@ ... @@"]
    else:
        old, new = len(hunk.old), len(hunk.new)
        yield f"@@ -{hunk.start - (old == 0)},{old} +{max(hunk.start + shift - (new == 0), 0)},{new} @@"
    marked = _find_unended_lines(hunk)
    for number, line in enumerate(hunk.lines):
        yield line.op + line.text
        if number in marked:
            yield "\\ No newline at end of file"


def _refuse_header_lookalikes(hunk: Hunk, *, is_last: bool) -> None:
    texts = [op + text for op, text in hunk.lines]
    for line, following in zip(texts, [*texts[1:], "" if is_last else "@@"], strict=True):
        if line.startswith(("--- ", "+++ ")) and following.startswith(("+++ ", "@@")):
            raise ValueError(f"without line numbers {line!r} is read as the header of a file")


def _find_unended_lines(hunk: Hunk) -> set[int]:
    """Return the lines that are followed by the mark of a missing final newline."""
    wanted = {" ": "-+"}.get(hunk.no_newline, hunk.no_newline)
    marked: set[int] = set()
    for side in wanted:
        last = max((n for n, line in enumerate(hunk.lines) if line.op in (side, " ")), default=-1)
        op = hunk.lines[last].op if last >= 0 else ""
        if op != side and (op != " " or wanted != "-+"):
            raise ValueError("the line without a newline is not the last one, before or after")
        marked.add(last)
    if len(marked) == 2 and any(hunk.lines[n].op == " " for n in marked):
        raise ValueError("the line without a newline is not the last one, before or after")
    return marked
