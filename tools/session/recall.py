"""`recall` and `memory`: read masked outputs again, keep notes, release outputs."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path

from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import clip
from tools.core.workspace import Workspace
from tools.fs.line_range import LineRange, read_line_range

MAX_FOUND = 40
"""Lines that a search shows, about 2k tokens."""

MAX_NOTE = 600
"""Characters of a note: it is sent with every later request."""


@tool(effect="read")
async def recall(
    ref: str = "", find: str = "", start: int = 1, end: int | None = None, *, at: Workspace
) -> Observation:
    """Read an earlier output (out:12) or step (e40), or find words in it or the session."""
    if not ref:
        if not find.strip():
            raise ToolFailure("recall: give a reference (ref), or words to look for (find)")
        return await asyncio.to_thread(_search_session, at, find)
    return await asyncio.to_thread(_recall_reference, at, ref.strip(), find, start, end)


@tool(effect="none")
async def memory(note: str = "", forget: list[str] | None = None, *, at: Workspace) -> Observation:
    """Keep a note in sight, or drop outputs by their references."""
    if not note.strip() and not forget:
        raise ToolFailure("memory: give a note, or references to forget")
    said = []
    if note.strip():
        note = clip(" ".join(note.split()), MAX_NOTE)
        said.append("noted")
    if forget:
        forget = [ref.strip() for ref in forget]
        for ref in forget:
            if at.artifacts.find_file(ref) is None and not (
                at.history is not None and at.history.can_forget(ref)
            ):
                raise ToolFailure(
                    f'memory: no output {ref!r} to forget: references look like "out:12" or "e40"'
                )
        said.append(f"left out from here on: {', '.join(forget)}")
    return Observation(text="; ".join(said), data={"note": note.strip(), "forget": list(forget or ())})


def _recall_reference(at: Workspace, ref: str, find: str, start: int, end: int | None) -> Observation:
    if (path := at.artifacts.find_file(ref)) is not None:
        if path.stat().st_size == 0:
            return Observation(text=f"{ref} is empty", ref=ref)
        if find:
            return _find_matching_lines(ref, path.read_text("utf-8", "replace"), find)
        return _build_observation(ref, _read_part(path, start, end))
    text = at.history.read_step(ref) if at.history is not None else None
    if text is None:
        raise ToolFailure(f'recall: no output {ref!r}: references look like "out:12" or "e40"')
    if find:
        return _find_matching_lines(ref, text, find)
    return _build_observation(
        ref, read_line_range(io.BytesIO(text.encode("utf-8", "replace")), start, end, tool="recall")
    )


def _build_observation(ref: str, part: LineRange) -> Observation:
    rest = f'\n[more: recall(ref="{ref}", start={part.last + 1})]' if part.more else ""
    return Observation(
        text=f"{ref}: {part.describe_extent()}\n{part.text}{rest}", ref=ref if ref.startswith("out:") else ""
    )


def _find_matching_lines(ref: str, text: str, find: str) -> Observation:
    """Return the lines that contain most of the words, in order."""
    wanted = {word.lower() for word in re.findall(r"\w+", find)}
    lines = text.splitlines()
    scored = [(sum(word in line.lower() for word in wanted), i) for i, line in enumerate(lines)]
    best = max((score for score, _ in scored), default=0)
    chosen = [i for score, i in scored if score and score == best][:MAX_FOUND]
    if not chosen:
        return Observation(text=f"recall: no line of {ref} holds any of {find!r}", failed=True)
    shown = "\n".join(f"{i + 1}\t{clip(lines[i], 300)}" for i in chosen)
    return Observation(text=f"{ref}: {len(chosen)} of {len(lines)} lines\n{shown}")


def _search_session(at: Workspace, find: str) -> Observation:
    found = at.history.search(find, 6) if at.history is not None else []
    if not found:
        return Observation(text=f"recall: nothing in this session holds {find!r}", failed=True)
    parts = []
    for ref, text in found:
        lines = "\n".join(f"  | {clip(line, 300)}" for line in text.splitlines())
        parts.append(f"{ref}:\n{lines}")
    return Observation(text="\n".join(parts))


def _read_part(path: Path, start: int, end: int | None) -> LineRange:
    with path.open("rb") as file:
        return read_line_range(file, start, end, tool="recall")
