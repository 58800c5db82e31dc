"""What a session of another agent amounts to: prompts, replies with their actions, and results, in order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from sandbox.lazy_dataclass import dataclass

MOST_BYTES = 512 << 20
"""Of one log; a longer one is refused."""

MOST_LINE = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Text that a person typed."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """An action of a reply."""

    call: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Replied:
    """One reply of a model."""

    text: str = ""
    model: str = ""
    actions: list[Called] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The result of an action."""

    call: str
    text: str
    failed: bool = False


Step = Said | Replied | Answered


@dataclass(slots=True, kw_only=True)
class ForeignSession:
    """A session as its agent stored it.

    key: its id there; folder: where it worked, "" if that is not told; started: as its agent writes the time
    left: what of it is not taken over, with the number of each; exit_code: not 0 where the log says that it failed
    """

    key: str
    folder: str = ""
    started: str = ""
    steps: list[Step] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    exit_code: int = 0


def read_json_lines(path: Path, left: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines; other lines, and a torn last one, are counted in `left`."""
    with path.open("rb") as file:
        while line := file.readline(MOST_LINE):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                if line.strip():
                    left["damaged line"] += 1
                continue
            if isinstance(found, dict):
                yield found


def text_of(content: object, left: Counter[str]) -> str:
    """Return the text of a content, which is a text or a list of blocks; other blocks are counted in `left`."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            parts.append(block["text"])
        elif isinstance(block, dict):
            kind = str(block.get("type") or next(iter(block), "block"))
            left["picture" if "image" in kind or kind == "inlineData" else f"block of type {kind[:40]}"] += 1
    return "\n".join(parts)


def get_table(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a table within another, an empty one where there is none."""
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def get_text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""
