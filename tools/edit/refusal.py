"""Refusals of edits, and their messages: the file's actual lines, and the input that would be unambiguous."""

from __future__ import annotations

from collections.abc import Sequence

from tools.core.text import clip
from tools.edit.match.exact_match import describe_enclosing_scope, find_nearest, line_number_at
from tools.edit.match.matchers import Source

MAX_SITES = 20
"""Places listed when an edit fits several."""


LONGEST = 200
"""Characters of a line that are shown."""


class EditRefused(ValueError):
    """An edit that was not made; the text gives the model the reason, the nearest lines, and the required
    input.

    already: the file already has the result of the edit
    edit: number, from 0, of the edit among those given together
    """

    def __init__(self, text: str, *, already: bool = False) -> None:
        super().__init__(text)
        self.already = already
        self.edit = 0


class AmbiguousEdit(ValueError):
    """The site is known, but not the result there; the text, for the model, gives the reason."""


def format_not_found(source: Source, old: str) -> str:
    """Show the lines most similar to `old`, and the difference."""
    text = source.text
    head = "`old` does not occur."
    if not text.strip():
        return f"{head} The file is empty."
    inside = text.find(old.strip("\n"))
    if inside >= 0:
        where = f"line {line_number_at(text, inside)}"
        return f"{head} It stands only within longer names ({where}): give whole identifiers."
    letters = old.strip("\n").replace("\n", "\\n")
    if "\n" in old.strip("\n") and (inside := text.find(letters)) >= 0:
        where = f"line {line_number_at(text, inside)}"
        return f"{head} Where `old` breaks the line, the file has the letters \\n ({where}): {clip(letters, 200)}"
    near = find_nearest(text, old)
    if near is None:
        return f"{head} Nothing in the file is like it: read the file first."
    last = near.line + len(near.lines) - 1
    place = f"line {near.line}" if last == near.line else f"lines {near.line}–{last}"
    wanted = old.strip("\n").split("\n")
    if [line.strip() for line in near.lines] == [line.strip() for line in wanted]:
        why = "Only white space differs, but so that how deep to indent is not clear."
    else:
        why = f"{near.likeness:.0%} alike."
    return f"{head} Nearest: {place}. {why}\n{_format_difference(near.lines, wanted)}\nGive `old` as the file has it."


def format_several_places(source: Source, lines: Sequence[int], how: str, hint: str = "") -> str:
    """List the places (line numbers from 0) that an edit fits equally well."""
    head = f"`old` matches {len(lines)} places{how}:"
    body = []
    for number in lines[:MAX_SITES]:
        around = describe_enclosing_scope(source.lines, number + 1)
        inside = f"    ({around})" if around else ""
        shown = source.lines[number].strip() if number < len(source.lines) else ""
        body.append(f"  {number + 1}: {clip(shown, 120)}{inside}")
    if len(lines) > MAX_SITES:
        body.append(f"  … and {len(lines) - MAX_SITES} more")
    return "\n".join([head, *body, f"Give more of the surrounding lines{hint}."])


def format_overlap(source: Source, offset: int, first: int, second: int) -> str:
    """Report that two edits of one call overlap."""
    line = source.line_at(offset) + 1
    return f"edits {first + 1} and {second + 1} change the same lines (line {line}): make them one"


def _format_difference(lines: Sequence[str], wanted: Sequence[str]) -> str:
    import difflib

    lines, wanted = list(lines), list(wanted)
    for i, (line, other) in enumerate(zip(lines, wanted, strict=False)):
        if line != other and max(len(line), len(other)) > LONGEST:
            lines[i], wanted[i] = _cut_to_difference(line, other)
    diff = list(difflib.ndiff(wanted, lines))
    body = [clip(line, LONGEST) for line in diff if not line.startswith("?")][:60]
    return "\n".join(["(- `old` as given, + the file)", *body])


def _cut_to_difference(line: str, other: str) -> tuple[str, str]:
    """Cut two long lines to the part around their first difference: comparing all would take seconds, and not
    be shown.
    """
    shorter = min(len(line), len(other))
    same = next((i for i in range(shorter) if line[i] != other[i]), shorter)
    first = max(same - LONGEST // 4, 0)
    last = first + LONGEST - 4  # with the marks of a diff and of an omission it is shown whole
    cut, other_cut = (
        f"{'…' * bool(first)}{each[first:last]}{'…' * (len(each) > last)}" for each in (line, other)
    )
    return cut, other_cut
