"""Names and lines that the task, the plan, the last failure, the localiser and the newest steps point at.

They are edited next, so that a view keeps them whole (`file_views`). Collected from the messages of the request
alone, in order, so that the same messages give the same views.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any

from agent.context.projection import references
from agent.context.projection.message_slots import NoteMessage
from agent.model.protocol import AssistantMessage, Message, UserMessage
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Action

STEPS = 4
"""Newest messages of the model, and newest searches, that count."""

MAX_POINTS = 200
"""Names, or lines, that count of one text: one that names thousands points at nothing."""

MAX_HITS = 20
"""Hits of a search that count; a search with more has not found the place yet."""

_CODE = compile_lazily(
    r"(?:\.|::|`|\b(?:def|class|func|fn|struct|function) )([A-Za-z_]\w{2,59})|\b([A-Za-z_]\w{2,59})(?=[(`])"
)
_PLACE = compile_lazily(
    r"File \"([^\"\n]+)\", line (\d+)|(?<![\w./-])((?:[\w.+-]*/)*[\w.+-]+\.\w{1,5}):(\d+)\b"
)


@dataclass(frozen=True, slots=True)
class Points:
    """names: identifiers; lines: numbers in the file of the view"""

    names: frozenset[str] = frozenset()
    lines: frozenset[int] = frozenset()


Places = frozenset[tuple[str, int]]
"""Lines by path, as a text has them: a traceback's path is absolute."""


@dataclass(slots=True)
class Focus:
    """Follows the messages of a request."""

    _task: frozenset[str] = frozenset()
    _plan: frozenset[str] = frozenset()
    _failure: tuple[frozenset[str], Places] = (frozenset(), frozenset())
    _said: deque[frozenset[str]] = field(default_factory=lambda: deque(maxlen=STEPS))
    _found: deque[tuple[frozenset[str], Places]] = field(default_factory=lambda: deque(maxlen=STEPS))

    def add_message(self, message: Message) -> None:
        """Take in a message of the user, the model or the program; outputs come through `add_output`."""
        if isinstance(message, AssistantMessage):
            for action in message.actions:
                if action.tool == "plan":
                    self._plan = find_code_names(_list_open_items(action))
            asked = (str(value) for action in message.actions for value in action.arguments.values())
            self._said.append(find_code_names("\n".join([message.text, *asked])))
        elif isinstance(message, NoteMessage):
            self._failure = find_code_names(message.text), find_places(message.text)
        elif isinstance(message, UserMessage) and message.by_person:
            self._task = find_code_names(message.text)

    def add_output(self, tool: str, text: str, data: Mapping[str, Any], *, failed: bool) -> None:
        """Take in an output: a failure, a test report, or what a search or the localiser found."""
        if failed or "report" in data:
            self._failure = find_code_names(text), find_places(text)
        elif tool == "code":
            self._found.append((find_code_names(text), find_places(text)))
        elif tool == "search" and 0 < len(places := data.get("places") or ()) <= MAX_HITS:
            self._found.append((frozenset(), frozenset((str(path), int(line)) for path, line in places)))

    def find_points(self, file: str) -> Points:
        """Return the names and the lines of `file` that count for the next view."""
        found = [self._failure, *self._found]
        names = [self._task, self._plan, *self._said, *(each for each, _ in found)]
        return Points(frozenset().union(*names), _select_lines((places for _, places in found), file))


@lru_cache(maxsize=256)
def find_code_names(text: str) -> frozenset[str]:
    """Return identifiers that look like code, or are written as code: called, quoted, dotted, defined."""
    written = (a or b for a, b in _CODE.findall(text))
    return frozenset(list(dict.fromkeys([*references.find_names(text), *written]))[:MAX_POINTS])


@lru_cache(maxsize=256)
def find_places(text: str) -> Places:
    """Return the places in a traceback or report, in any of the usual forms: `path:line`, `File "path", line 3`."""
    found = ((a or b, int(n or m)) for a, n, b, m in _PLACE.findall(text))
    return frozenset(list(dict.fromkeys(found))[:MAX_POINTS])


def _list_open_items(action: Action) -> str:
    items = action.arguments.get("items")
    if not isinstance(items, list):
        return ""
    texts = ((each.get("text"), each.get("status")) for each in items if isinstance(each, dict))
    return "\n".join(str(text) for text, status in texts if status != "done")


def _select_lines(found: Iterable[Places], file: str) -> frozenset[int]:
    if not file:
        return frozenset()
    ends = f"/{file}"
    return frozenset(
        line
        for places in found
        for path, line in places
        if path.removeprefix("./") == file or path.endswith(ends)
    )
