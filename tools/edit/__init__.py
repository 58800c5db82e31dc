"""`edit`: replace text at exactly one place, or not at all."""

from __future__ import annotations

import asyncio

from tools.action import Observation, ToolFailure
from tools.change import Change, apply, load
from tools.edit.exact import line_of, nearest, owner, replaced, sites
from tools.locate import existing_file, located, refusals
from tools.registry import tool
from tools.text import clip, numbered, plural
from tools.workspace import Workspace

CONTEXT = 3
"""Lines shown around a change: enough to see whether it stands where it was meant to."""

MAX_SITES = 20
"""Places listed when `old` is not unique."""

MAX_SHOWN = 4
"""Changed places shown with their context."""


@tool(effect="write")
async def edit(path: str, old: str, new: str, all: bool = False, *, at: Workspace) -> Observation:
    """Replace exact text in a file. `old` must match exactly one place, indentation included.

    all: replace every place
    """
    return await asyncio.to_thread(_edit, at, path, old.replace("\r\n", "\n"), new.replace("\r\n", "\n"), all)


def _edit(at: Workspace, path: str, old: str, new: str, all: bool) -> Observation:
    if not old:
        raise ToolFailure(_nothing_to_find(at, path))
    relative = existing_file(at, "edit", path)
    if old == new:
        raise ToolFailure(f"edit: {relative}: no change: `old` and `new` are the same")
    before = load(at, "edit", relative)
    offsets = sites(before.text, old)
    if not offsets:
        raise ToolFailure(_no_match(relative, before.text, old))
    if len(offsets) > 1 and not all:
        raise ToolFailure(_several(relative, before.text, offsets))
    after = replaced(before.text, old, new, offsets)
    change = apply(at, "edit", relative, before, after)
    return Observation(text=_applied(change, before.text, after, offsets, old, new), data=change.as_data())


def _nothing_to_find(at: Workspace, path: str) -> str:
    relative = located(at, "edit", path)
    with refusals("edit", relative):
        exists = at.files.is_file(relative)
    if exists:
        return f"edit: {relative}: no change: `old` is empty: give the text to replace"
    return f"edit: no such file: {relative!r}. To create it: write(path={relative!r}, content=…)"


def _no_match(path: str, text: str, old: str) -> str:
    head = f"edit: {path}: no change. `old` does not occur."
    inside = text.find(old)
    if inside >= 0:
        where = f"line {line_of(text, inside)}"
        return f"{head} It stands only within longer names ({where}): give whole identifiers."
    near = nearest(text, old)
    if near is None:
        return f"{head} Nothing in the file is like it: read the file first."
    last = near.line + len(near.lines) - 1
    place = f"line {near.line}" if last == near.line else f"lines {near.line}–{last}"
    if [line.rstrip() for line in near.lines] == [line.rstrip() for line in old.strip("\n").split("\n")]:
        why = "Only white space at line ends or blank lines around it differ."
    elif [line.strip() for line in near.lines] == [line.strip() for line in old.strip("\n").split("\n")]:
        why = "Only the indentation or other white space differs."
    else:
        why = f"{near.likeness:.0%} alike."
    return f"{head} Nearest: {place}. {why}\n{_difference(near.lines, old)}"


def _difference(lines: tuple[str, ...], old: str) -> str:
    import difflib

    wanted = old.strip("\n").split("\n")
    diff = list(difflib.ndiff(wanted, list(lines)))
    body = [clip(line, 200) for line in diff if not line.startswith("?")][:60]
    return "\n".join(["(- `old` as given, + the file)", *body])


def _several(path: str, text: str, offsets: list[int]) -> str:
    lines = text.split("\n")
    head = f"edit: {path}: no change. `old` matches {len(offsets)} places:"
    body = []
    for offset in offsets[:MAX_SITES]:
        number = line_of(text, offset)
        around = owner(lines, number)
        inside = f"    ({around})" if around else ""
        body.append(f"  {number}: {clip(lines[number - 1].strip(), 120)}{inside}")
    if len(offsets) > MAX_SITES:
        body.append(f"  … and {len(offsets) - MAX_SITES} more")
    return "\n".join([head, *body, "Give more of the surrounding lines, or all=true."])


def _applied(change: Change, before: str, after: str, offsets: list[int], old: str, new: str) -> str:
    places = plural(len(offsets), "place")
    parts = [f"edit: {change.path}: changed {places} (+{change.added} −{change.removed})"]
    parts += change.notes
    lines = after.removesuffix("\n").split("\n")
    shift = len(new) - len(old)
    shown_to = 0
    for index, offset in enumerate(offsets[:MAX_SHOWN]):
        start = offset + index * shift
        first = max(line_of(after, start) - CONTEXT, shown_to + 1, 1)
        last = min(line_of(after, start + len(new)) + CONTEXT, len(lines))
        if last > first + 60:
            last = first + 60
        if last <= shown_to:
            continue
        if shown_to and first > shown_to + 1:
            parts.append("  …")
        parts += numbered(lines[first - 1 : last], first)
        shown_to = last
    if len(offsets) > MAX_SHOWN:
        parts.append(f"… and {len(offsets) - MAX_SHOWN} more places")
    return "\n".join(parts)
