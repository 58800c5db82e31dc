"""Unified diffs, of git or plain, with or without headers, with right or wrong numbers.

A hunk with correct counts is as long as they say; any other continues to the next header, to the end of its
fence, or to the prose after an empty line. Lines that lost the space before them are taken as context.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tools.edit.edit_model import Create, Delete, FileChange, Hunk, Update
from tools.edit.formats import path_syntax
from tools.edit.formats.hunks import (
    Head,
    build_hunk,
    find_body_end,
    is_hunk_header,
    is_no_newline_marker,
    parse_hunk_header,
    read_line_mark,
)
from tools.edit.formats.parse_errors import DIFF_EXAMPLE, build_malformed_edit, quote_line
from tools.edit.formats.parse_result import ParsedEdits, merge_updates

_EXTENDED = re.compile(
    r"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to"
    r"|similarity index|dissimilarity index|index) (.+)"
)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_VERSION = re.compile(r"\d+(?:\.\w+)+(?: .*)?")
MODES: dict[str, int | None] = {"100644": None, "100755": 0o755, "100664": None, "100600": 0o600}
"""Modes of new files; None: the default. Those missing are no plain files: links (120000), submodules
(160000).
"""

NEW_FILE_EXAMPLE = """\
--- /dev/null
+++ b/src/cart.py
@@ -0,0 +1,2 @@
+def total():
+    return 0"""


@dataclass(slots=True, kw_only=True)
class _File:
    """The parsed headers of one file, and its hunks. old, new: its names, "" until they are known."""

    number: int
    old: str = ""
    new: str = ""
    git: bool = False
    extended: dict[str, str] = field(default_factory=dict)
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        return self.old in path_syntax.NO_FILE or "new file mode" in self.extended

    @property
    def is_deleted(self) -> bool:
        return self.new in path_syntax.NO_FILE or "deleted file mode" in self.extended


def is_file_header(lines: Sequence[str], at: int) -> bool:
    """Return whether the lines `--- old`, `+++ new` begin here, or one of them with a path, and then a hunk."""
    line = lines[at]
    if not line.startswith(("--- ", "+++ ")) or not line[4:].strip():
        return False
    following = lines[at + 1] if at + 1 < len(lines) else ""
    if line[0] == "-" and following.startswith("+++ ") and following[4:].strip():
        return True
    return is_hunk_header(following) and path_syntax.is_path(path_syntax.parse_header_path(line[4:]))


def parse_diff(lines: Sequence[str]) -> ParsedEdits:
    """Parse the changes of all diffs in a text. Raises MalformedEdit.

    lines: split at "\\n", so that the last is "" after a final newline
    """
    return _Reader(lines[:-1] if lines and not lines[-1] else lines).read()


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0
        self.fence = ""
        self.files: list[_File] = []
        self.used: list[tuple[int, int]] = []
        self.floor = 0
        """The first line after the last hunk: from there on, prose may give a name that no header gives."""

    def read(self) -> ParsedEdits:
        while self.at < len(self.lines):
            first = self.at
            self._read_next(self.lines[first])
            if self.at > first:
                self.used.append((first, self.at))
            else:
                self._track_fence(self.lines[first])
                self.at += 1
        return ParsedEdits(changes=merge_updates(_build_change(file) for file in self.files), used=self.used)

    def _read_next(self, line: str) -> None:
        """Read the part that begins at a line; nothing if it is prose."""
        if line.startswith("diff --git "):
            self._read_git_header(line)
        elif line.startswith(("diff --cc ", "diff --combined ", "@@@ ")):
            raise build_malformed_edit(
                self.at,
                f"{quote_line(line)}: a combined diff has no single old file; give a plain one",
                DIFF_EXAMPLE,
            )
        elif line.startswith(("GIT binary patch", "Binary files ")) and (
            self.files or line.endswith(" differ")
        ):
            raise build_malformed_edit(
                self.at, f"{quote_line(line)}: binary files can't be edited by a diff", DIFF_EXAMPLE
            )
        elif is_file_header(self.lines, self.at):
            self._read_header(_File(number=self.at))
        elif is_hunk_header(line):
            self._read_hunk()

    def _track_fence(self, line: str) -> None:
        match = _FENCE.match(line)
        if match is None:
            return
        if not self.fence:
            self.fence = match[1]
        elif line.strip().startswith(self.fence) and not line.strip(" \t\r" + self.fence[0]):
            self.fence = ""

    def _read_git_header(self, line: str) -> None:
        file = _File(number=self.at, git=True)
        names = path_syntax.parse_git_names(line[len("diff --git ") :])
        if names:
            file.old, file.new = names
        self.at += 1
        while self.at < len(self.lines):
            match = _EXTENDED.match(self.lines[self.at])
            if match is None:
                break
            file.extended[match[1]] = match[2].rstrip("\r")
            self.at += 1
        self._read_header(file)

    def _read_header(self, file: _File) -> None:
        self.files.append(file)
        if self.at < len(self.lines) and is_file_header(self.lines, self.at):
            self._read_names(file)
            if self._is_hunk_line():
                self._read_hunk_lines([])  # the hunk has no head at all

    def _is_hunk_line(self) -> bool:
        if self.at >= len(self.lines) or is_file_header(self.lines, self.at):
            return False
        return read_line_mark(self.lines[self.at]) in ("-", "+", " ")

    def _read_names(self, file: _File) -> None:
        old = new = ""
        if self.lines[self.at].startswith("--- "):
            old = path_syntax.parse_header_path(self.lines[self.at][4:])
            self.at += 1
        if self.lines[self.at].startswith("+++ "):
            new = path_syntax.parse_header_path(self.lines[self.at][4:])
            self.at += 1
        if old and new:
            file.old, file.new = path_syntax.strip_prefixes(old, new)
        else:
            file.old = file.new = path_syntax.strip_lone_prefix(old or new)

    def _read_hunk(self) -> None:
        heads: list[Head] = []
        first = self.at
        if not self.files or self.fence:
            self._assign_headless_hunk(first)
        while self.at < len(self.lines) and is_hunk_header(self.lines[self.at]):
            heads.append(parse_hunk_header(self.lines[self.at]))
            self.at += 1
        self._read_hunk_lines(heads)

    def _read_hunk_lines(self, heads: Sequence[Head]) -> None:
        file, start = self.files[-1], self.at
        end = self._find_counted_end(start, heads[-1], file.git) if heads else None
        if end is None:
            end = start + find_body_end(self.lines[start : self._find_latest_end(start)])
        is_idle = end == start and file.hunks and len(heads) == 1 and not heads[0].name and not heads[0].old
        if not is_idle:
            file.hunks.append(build_hunk(self.lines[start:end], start, heads, DIFF_EXAMPLE))
        self.at = self.floor = end

    def _assign_headless_hunk(self, at: int) -> None:
        """Assign a hunk without a header to the file named in the prose before it, else to the last file."""
        named = (
            path_syntax.find_path_before(self.lines, at, self.floor) if not self._follows_header(at) else None
        )
        if named is not None:
            name = path_syntax.strip_lone_prefix(named[0])
            if not self.files or name not in (self.files[-1].old, self.files[-1].new):
                self.files.append(_File(number=at, old=name, new=name))
        elif not self.files:
            raise build_malformed_edit(
                at,
                f"no file is named before {quote_line(self.lines[at])}: begin with '--- a/PATH' and '+++ b/PATH'",
                DIFF_EXAMPLE,
            )

    def _follows_header(self, at: int) -> bool:
        return bool(self.used) and self.used[-1][1] == at

    def _find_counted_end(self, start: int, head: Head, git: bool) -> int | None:
        """Return the end of the hunk if the counts in its head match its lines, else None."""
        if head.old is None or head.new is None:
            return None
        old, new = head.old[1], head.new[1]
        at = start
        while old > 0 or new > 0:
            if at >= len(self.lines) or self._is_hunk_break(at, git):
                return None
            op = read_line_mark(self.lines[at])
            old -= op in ("-", " ", "", "?")
            new -= op in ("+", " ", "", "?")
            at += 1
        if old or new:
            return None
        while at < len(self.lines) and is_no_newline_marker(self.lines[at]):
            at += 1
        return None if at < len(self.lines) and self._is_hunk_continued(at) else at

    def _is_hunk_break(self, at: int, git: bool) -> bool:
        """Return whether a line ends a hunk whatever its counts. Under a git header even `--- x`, `+++ x` may
        be lines.
        """
        line = self.lines[at]
        if line.startswith(("@@", "diff --git ")):
            return True
        if git or at + 2 >= len(self.lines) or not is_hunk_header(self.lines[at + 2]):
            return False
        if not (line.startswith("--- ") and self.lines[at + 1].startswith("+++ ")):
            return False
        old, new = path_syntax.strip_prefixes(
            path_syntax.parse_header_path(line[4:]), path_syntax.parse_header_path(self.lines[at + 1][4:])
        )
        return bool(old) and (old == new or old in path_syntax.NO_FILE or new in path_syntax.NO_FILE)

    def _is_hunk_continued(self, at: int) -> bool:
        line = self.lines[at]
        if is_file_header(self.lines, at) or self._is_signature(at):
            return False
        return line.startswith(("+", "-")) or (line.startswith(" ") and bool(line.strip()))

    def _find_latest_end(self, start: int) -> int:
        """Return the last possible end of a hunk with wrong or missing counts."""
        at = start
        while at < len(self.lines):
            line = self.lines[at]
            if line.startswith(("@@", "diff --git ", "*** End Patch")) or is_file_header(self.lines, at):
                break
            if self._is_signature(at) or (
                line.startswith("Index: ")
                and self.lines[at + 1 : at + 2]
                and self.lines[at + 1].startswith("=====")
            ):
                break
            if self.fence and line.startswith(self.fence) and not line.strip(" \t\r" + self.fence[0]):
                break
            at += 1
        return at

    def _is_signature(self, at: int) -> bool:
        """Return whether a line begins the signature of `git format-patch` below a patch: `-- ` and its
        version.
        """
        if self.lines[at].rstrip("\r") not in ("-- ", "--"):
            return False
        return at + 1 < len(self.lines) and bool(_VERSION.fullmatch(self.lines[at + 1].rstrip("\r")))


def _build_change(file: _File) -> FileChange:
    extended = file.extended
    if "copy to" in extended:
        raise build_malformed_edit(
            file.number,
            f"a copy to {extended['copy to']!r} can't be made by a diff: give the new file's lines",
            NEW_FILE_EXAMPLE,
        )
    for key in ("new file mode", "new mode"):
        if extended.get(key, "100644") not in MODES:
            raise build_malformed_edit(
                file.number,
                f"{key} {extended[key]}: only plain files (100644, 100755) can be made",
                DIFF_EXAMPLE,
            )
    if file.is_new and file.is_deleted:
        raise build_malformed_edit(file.number, "both names are /dev/null: no file is named", DIFF_EXAMPLE)
    path, to = _resolve_paths(file)
    if file.is_new:
        return Create(
            path=path,
            content=_extract_content(file, path),
            mode=MODES[extended.get("new file mode", "100644")],
            new=True,
        )
    if file.is_deleted:
        _refuse_kept_lines(file, path)
        return Delete(path=path, hunks=tuple(file.hunks))
    mode = int(extended["new mode"][-3:], 8) if "new mode" in extended else None
    if not file.hunks and not to and mode is None:
        raise build_malformed_edit(file.number, f"no hunk follows on the header of {path!r}", DIFF_EXAMPLE)
    return Update(path=path, edits=tuple(file.hunks), to=to, mode=mode)


def _resolve_paths(file: _File) -> tuple[str, str]:
    """Return the file's path, and its new path ("" if it does not move). Raises MalformedEdit."""
    if "rename from" in file.extended and "rename to" in file.extended:
        source, target = (
            path_syntax.unquote_git_path(file.extended[key]) for key in ("rename from", "rename to")
        )
        return source, target if target != source else ""
    old, new = file.old, file.new
    if not old or not new:
        raise build_malformed_edit(
            file.number, "the header names no file, or two that can't be told apart", DIFF_EXAMPLE
        )
    if file.is_new:
        return (old if new in path_syntax.NO_FILE else new), ""
    if file.is_deleted or old == new:
        return (new if old in path_syntax.NO_FILE else old), ""
    if old in (new + ".orig", new + ".bak", new + ".old", new + "~"):
        return new, ""
    raise build_malformed_edit(
        file.number,
        f"the header names two files, {old!r} and {new!r}. To change one, name it twice; to move it, write it as git",
        "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py",
    )


def _extract_content(file: _File, path: str) -> str:
    """Return the content of a new file. Empty lines may have lost their mark."""
    if not file.hunks and "new file mode" not in file.extended:
        raise build_malformed_edit(
            file.number, f"no hunk follows on the header of the new file {path!r}", NEW_FILE_EXAMPLE
        )
    lines: list[str] = []
    for each in file.hunks:
        for op, text in each.lines:
            if op == "-" or (op == " " and text.strip()):
                raise build_malformed_edit(
                    file.number,
                    f"{path!r} is new, so every line of it begins with '+'; found {quote_line(text)}",
                    NEW_FILE_EXAMPLE,
                )
            lines.append(text if op == "+" else "")
    ended = not file.hunks or file.hunks[-1].no_newline not in ("+", " ")
    return "\n".join(lines) + ("\n" if lines and ended else "")


def _refuse_kept_lines(file: _File, path: str) -> None:
    for each in file.hunks:
        kept = next((text for op, text in each.lines if op == "+" or (op == " " and text.strip())), None)
        if kept is not None:
            raise build_malformed_edit(
                file.number,
                f"{path!r} is removed, so every line of it begins with '-'; found {quote_line(kept)}",
                DIFF_EXAMPLE,
            )
