"""Removal of wrappings around `new` only, `old` being exact, if they cannot be intended.

They cannot if only the unwrapped result parses; nor can some in any language: numbers that are those of the
lines, a fence in a file that is no prose and has none, white space at the end of every line of code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.edit.formats.cleanup import (
    FENCES,
    has_fence,
    parse_first_line_number,
    strip_diff_marks,
    strip_fences,
    strip_line_numbers,
    undo_escapes,
)
from tools.edit.indentation import indent_of
from tools.edit.look_alikes import replace_look_alikes
from tools.edit.match.matchers import Source
from tools.edit.parse.readings import NUMBERED, strip_numbers_keeping_space


def unwrap_new_text(path: str, source: Source, start: int, old: str, new: str) -> tuple[str, str]:
    """Return (the intended `new`, the correction made: "" if none), for `old` found at `start`."""
    text = source.text
    if sure := _strip_unintended_wrapping(path, text, source.line_at(start) + 1, old, new):
        return sure
    candidates = list(_generate_candidates(old, new))
    if not candidates:
        return new, ""
    from tools.code.syntax import find_new_problems

    head, tail = text[:start], text[start + len(old) :]
    if not find_new_problems(path, text, head + new + tail):
        return new, ""
    for note, plain in candidates:
        if not find_new_problems(path, text, head + plain + tail):
            return plain, note
    return new, ""


_PROSE = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org")
_HOLD_FENCES = (*_PROSE, ".ipynb", ".py", ".pyi")
"""Extensions of files that may have fences: prose, and docstrings (in Python the syntax decides)."""


def _strip_unintended_wrapping(path: str, text: str, line: int, old: str, new: str) -> tuple[str, str] | None:
    """Strip wrappings that no language allows. text: of the file; line: number, from 1, of the start of `old`"""
    if parse_first_line_number(new) == line and parse_first_line_number(old) is None:
        for plain in (strip_line_numbers(new, like=new), strip_numbers_keeping_space(new, like=new)):
            if plain is not None and _measure_min_indent(plain) == _measure_min_indent(old):
                return plain, NUMBERED
    nameless = "." not in path.rpartition("/")[2]
    prose = nameless or path.lower().endswith(_PROSE)
    holds_fences = nameless or path.lower().endswith(_HOLD_FENCES) or has_fence(text)  # in comments, say
    fenced = new.lstrip("\n").startswith(FENCES)  # tags may be the file's own
    if fenced and not holds_fences and strip_fences(old) is None and (plain := strip_fences(new)) is not None:
        ended = old.endswith("\n") and not plain.endswith("\n")
        return f"{plain}\n" if ended else plain, "fence removed"
    lines = [each for each in new.split("\n") if each.strip()]
    olds = [each for each in old.split("\n") if each.strip()]
    breaks = holds_fences and all(each.endswith("  ") for each in lines)  # Markdown's, in docstrings too
    trail = (
        len(lines) > 1
        and _has_trailing_space_throughout(lines)
        and all(each == each.rstrip() for each in olds)
    )
    changes = [each.strip() for each in lines] != [each.strip() for each in olds]
    if trail and changes and not (prose or breaks):
        return "\n".join(each.rstrip() for each in new.split("\n")), "trailing space removed"
    return None


def _measure_min_indent(text: str) -> int:
    """Return the indentation of the least indented line."""
    return min((len(indent_of(line)) for line in text.split("\n") if line.strip()), default=0)


def _has_trailing_space_throughout(lines: Sequence[str]) -> bool:
    return all(each != each.rstrip() for each in lines)


def _generate_candidates(old: str, new: str) -> Iterator[tuple[str, str]]:
    for note, undo in (
        ("fence removed", strip_fences),
        (NUMBERED, strip_line_numbers),
        ("escapes undone", undo_escapes),
        ("diff marks removed", strip_diff_marks),
        ("quotes and dashes made plain", replace_look_alikes),
        ("indented as `old`", lambda text: _indent_like_old(old, text)),
    ):
        plain = undo(new)
        if plain is not None and plain != new:
            yield note, plain
            if old.endswith("\n") and not plain.endswith("\n"):
                yield note, f"{plain}\n"


def _indent_like_old(old: str, new: str) -> str | None:
    """Shift all lines by the indentation of the first line of `old`, when that of `new` has none."""
    first = next((line for line in old.split("\n") if line.strip()), "")
    given = next((line for line in new.split("\n") if line.strip()), "")
    indent = indent_of(first)
    if not indent or indent_of(given):
        return None
    return "\n".join(indent + line if line.strip() else line for line in new.split("\n"))
