"""Events of a stream that differ from the one before only in their text: nearly all of a long answer.

They are read without parsing them: a server repeats the rest of the event byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.parsed_data import parse_json

_PROBE = "\N{BULLET} probe"
"""Takes the place of the text when it is checked that nothing else depends on it."""

_PATH = ("choices", 0, "delta")


class RepeatedEvents:
    """The last event of a chat completion that held only text, as what stands before and after its text."""

    def __init__(self) -> None:
        self._head = self._tail = ""

    def learn(self, event: str, text: str) -> None:
        """Take an event whose only effect was this text as the pattern of the next ones, if it surely is one."""
        literal = f'"{text}"'
        if '"' in text or "\\" in text or not text.isprintable() or event.count(literal) != 1:
            return
        head, _, tail = event.partition(literal)
        if _read_content(f'{head}"{_PROBE}"{tail}') == _PROBE:
            self._head, self._tail = f'{head}"', f'"{tail}'

    def take_texts(self, events: Sequence[str], start: int) -> tuple[list[str], int]:
        """Return the texts of the events from `start` on that follow the pattern, and the place of the next one."""
        head, tail = self._head, self._tail
        texts: list[str] = []
        first, last, least = len(head), -len(tail), len(head) + len(tail)
        place = start
        while head and place < len(events):
            event = events[place]
            if not (len(event) > least and event.startswith(head) and event.endswith(tail)):
                break
            shown = event[first:last]
            if not shown.isprintable():
                break
            text = _unescape(shown) if '"' in shown or "\\" in shown else shown
            if text is None:
                break
            texts.append(text)
            place += 1
        return texts, place


def _unescape(text: str) -> str | None:
    """Return a text without its escapes; None for one that is no whole JSON string."""
    try:
        found = parse_json(f'"{text}"')
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def _read_content(event: str) -> object:
    """Return the text of a chunk that has nothing else in its delta; None for any other."""
    try:
        found = parse_json(event)
        for step in _PATH:
            found = found[step]
    except (LookupError, TypeError, ValueError):
        return None
    return found["content"] if isinstance(found, dict) and set(found) == {"content"} else None
