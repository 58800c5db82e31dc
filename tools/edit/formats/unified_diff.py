"""Unified diffs, of git or plain, with or without headers, with right or wrong numbers.

A hunk with correct counts is as long as they say; any other continues to the next header, to the end of its
fence, or to the prose after an empty line. Lines that lost the space before them are taken as context.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.lazy_pattern import compile_lazily
from tools.edit.formats import path_syntax
from tools.edit.formats.diff_file import DiffFile, build_changes, is_missing_stamp
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
from tools.edit.formats.parse_result import ParsedEdits

_EXTENDED = compile_lazily(
    r"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to"
    r"|similarity index|dissimilarity index|index) (.+)"
)
_FENCE = compile_lazily(r"[ \t]*(`{3,}|~{3,})")
_VERSION = compile_lazily(r"\d+(?:\.\w+)+(?: .*)?")
_BINARY = compile_lazily(
    r"GIT binary patch|Binary files |Binary file .* has changed|Cannot display: file marked as a binary type"
)
"""In place of a hunk: git and GNU diff, hg, svn."""

_SERIES = compile_lazily(r"From [0-9a-f]{40} |commit [0-9a-f]{7,64}\b|# HG changeset patch")
"""First lines of a patch in a series: of a mail, of `git log -p`, of `hg export`."""


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
        self.files: list[DiffFile] = []
        self.patch = 0
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
        return ParsedEdits(changes=build_changes(self.files), used=self.used)

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
        elif _BINARY.match(line) and (self.files or line.endswith(" differ")):
            raise build_malformed_edit(
                self.at, f"{quote_line(line)}: binary files can't be edited by a diff", DIFF_EXAMPLE
            )
        elif is_file_header(self.lines, self.at):
            self._read_header(DiffFile(number=self.at))
        elif is_hunk_header(line):
            self._read_hunk()
        elif line.startswith("Property changes on: ") and self._get_line(self.at + 1).startswith("_____"):
            self._skip_properties()
        elif _SERIES.match(line):
            self.patch += 1

    def _get_line(self, at: int) -> str:
        return self.lines[at] if 0 <= at < len(self.lines) else ""

    def _skip_properties(self) -> None:
        """Skip a property block of svn, up to the next file: its lines look like those of a hunk."""
        if self.files and not self.files[-1].hunks:
            self.files[-1].has_properties = True
        while self.at < len(self.lines) and not self.lines[self.at].startswith(("Index: ", "diff --git ")):
            self.at += 1

    def _track_fence(self, line: str) -> None:
        match = _FENCE.match(line)
        if match is None:
            return
        if not self.fence:
            self.fence = match[1]
        elif line.strip().startswith(self.fence) and not line.strip(" \t\r" + self.fence[0]):
            self.fence = ""

    def _read_git_header(self, line: str) -> None:
        file = DiffFile(number=self.at, git=True)
        file.set_git_names(path_syntax.parse_git_names(line[len("diff --git ") :]))
        self.at += 1
        while self.at < len(self.lines):
            match = _EXTENDED.match(self.lines[self.at])
            if match is None:
                break
            file.extended[match[1]] = match[2].rstrip("\r")
            self.at += 1
        self._read_header(file)

    def _read_header(self, file: DiffFile) -> None:
        file.patch = self.patch
        self.files.append(file)
        if self.at < len(self.lines) and is_file_header(self.lines, self.at):
            self._read_names(file)
            if self._is_hunk_line():
                self._read_hunk_lines([])  # the hunk has no head at all

    def _is_hunk_line(self) -> bool:
        if self.at >= len(self.lines) or is_file_header(self.lines, self.at):
            return False
        return read_line_mark(self.lines[self.at]) in ("-", "+", " ")

    def _read_names(self, file: DiffFile) -> None:
        old = new = ""
        file.is_indexed = any(self._get_line(self.at - back).startswith("Index: ") for back in (1, 2))
        if self.lines[self.at].startswith("--- "):
            old = path_syntax.parse_header_path(self.lines[self.at][4:])
            self.at += 1
        if self.lines[self.at].startswith("+++ "):
            new = path_syntax.parse_header_path(self.lines[self.at][4:])
            file.has_missing_stamp = is_missing_stamp(self.lines[self.at])
            self.at += 1
        if old and new:
            file.set_names(old, new)
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
                self.files.append(DiffFile(number=at, old=name, new=name))
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
