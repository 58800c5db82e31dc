"""What is wrapped around `new` only, `old` being exact: taken off if the result parses then, and else does not."""

from __future__ import annotations

from collections.abc import Iterator

from tools.edit.formats.clean import unescaped, without_diff_marks, without_fence, without_line_numbers
from tools.edit.indentation import indent_of


def unwrapped(path: str, text: str, start: int, old: str, new: str) -> tuple[str, str]:
    """(`new` as it is meant, what was undone: "" if it is meant as given), for `old` found at `start`.

    Only the syntax decides, so files of unknown languages get what was given.
    """
    candidates = list(_candidates(old, new))
    if not candidates:
        return new, ""
    from tools.syntax import new_problems

    head, tail = text[:start], text[start + len(old) :]
    if not new_problems(path, text, head + new + tail):
        return new, ""
    for note, plain in candidates:
        if not new_problems(path, text, head + plain + tail):
            return plain, note
    return new, ""


def _candidates(old: str, new: str) -> Iterator[tuple[str, str]]:
    for note, undo in (
        ("fence removed", without_fence),
        ("line numbers removed", without_line_numbers),
        ("escapes undone", unescaped),
        ("diff marks removed", without_diff_marks),
        ("indented as `old`", lambda text: _indented(old, text)),
    ):
        plain = undo(new)
        if plain is not None and plain != new:
            yield note, plain
            if old.endswith("\n") and not plain.endswith("\n"):
                yield note, f"{plain}\n"


def _indented(old: str, new: str) -> str | None:
    """All lines moved by the indentation of the first line of `old`, when that of `new` has none."""
    first = next((line for line in old.split("\n") if line.strip()), "")
    given = next((line for line in new.split("\n") if line.strip()), "")
    indent = indent_of(first)
    if not indent or indent_of(given):
        return None
    return "\n".join(indent + line if line.strip() else line for line in new.split("\n"))
