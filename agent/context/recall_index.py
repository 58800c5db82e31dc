"""Index of the session's own past, for `recall`: steps by their reference, and passages by words (BM25 over the log).

AgenticLU (arXiv 2502.15920) has a model ask a question about a long context and point to the passage with the
answer; here the index points, and the passage is read.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator

from agent.events import Event, MessageEvent, ObservationEvent, Prompt, Steer
from agent.model.protocol import AssistantMessage
from agent.session.branch_history import History
from agent.session.log_index import parse_event_id
from tools.core.action import Action

LINES = 24
"""Lines of one passage: enough to see its subject."""


class RecallIndex:
    """Reads the log; the word index is built at the first search and grows with the log."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._lock = threading.Lock()
        self._words: sqlite3.Connection | None = None
        self._done = 0

    def read_step(self, ref: str) -> str | None:
        """Return the event's step: a message with its observations, or the text of another event."""
        from agent.session.session_search import extract_searchable_text

        event = self._history.get_event(ref)
        if event is None:
            return None
        if not isinstance(event, MessageEvent):
            return extract_searchable_text(event) or None
        parts = [_format_message(event)]
        for each in self._iter_batch(event):
            more = f'\n[whole output: recall(ref="{each.ref}")]' if each.ref else ""
            parts.append(f"── {each.tool}:\n{each.text}{more}")
        return "\n".join(parts)

    def can_forget(self, ref: str) -> bool:
        """Return whether the event is a step or an output."""
        return isinstance(self._history.get_event(ref), MessageEvent | ObservationEvent)

    def search(self, words: str, limit: int) -> list[tuple[str, str]]:
        """Return passages that contain all the words, or else some of them."""
        from agent.session.session_search import build_all_words_query, build_any_word_query

        with self._lock:
            db = self._update_index()
            for query in (build_all_words_query(words), build_any_word_query(words)):
                if not query:
                    return []
                rows = db.execute(
                    "select ref, text from passages where text match ? order by bm25(passages) limit ?",
                    (query, 4 * limit),
                ).fetchall()
                runs = self._history.list_runs()
                here = [
                    (ref, text) for ref, text in rows if any(a <= parse_event_id(ref) <= b for a, b in runs)
                ]
                if here:
                    return here[:limit]
        return []

    def close(self) -> None:
        """Close the index. Safe to call twice."""
        with self._lock:
            words, self._words, self._done = self._words, None, 0
        if words is not None:
            words.close()

    def _iter_batch(self, message: MessageEvent) -> Iterator[ObservationEvent]:
        calls = {action.id for action in message.actions}
        for event in self._history.read_events_from(message.id):
            if isinstance(event, ObservationEvent) and event.call in calls:
                calls.remove(event.call)
                yield event
            elif isinstance(event, MessageEvent | Prompt) and event.id != message.id:
                return
            if not calls:
                return

    def _update_index(self) -> sqlite3.Connection:
        if self._words is None:
            self._words = sqlite3.connect(":memory:", check_same_thread=False)
            self._words.execute(
                "create virtual table passages using fts5(text, ref unindexed, tokenize = \"unicode61 tokenchars '_'\")"
            )
        end = self._done
        for event in self._history.select_events(
            Prompt, Steer, MessageEvent, ObservationEvent, after=f"e{self._done}"
        ):
            end = parse_event_id(event.id)
            for text in _split_passages(event):
                self._words.execute("insert into passages values (?, ?)", (text, event.id))
        self._done = end
        return self._words


def _split_passages(event: Event) -> Iterator[str]:
    from agent.session.session_search import extract_searchable_text

    if isinstance(event, ObservationEvent) and event.tool == "recall":
        return  # results of a search would be found again
    lines = (
        _format_message(event) if isinstance(event, MessageEvent) else extract_searchable_text(event)
    ).splitlines()
    for start in range(0, len(lines), LINES):
        yield "\n".join(lines[start : start + LINES])


def _format_message(event: MessageEvent) -> str:
    from agent.context.projection.masking import render_message

    actions = tuple(Action(id=a.id, tool=a.tool, arguments=a.arguments, raw=a.raw) for a in event.actions)
    names = "".join(f"[{a.tool}]" for a in event.actions)
    return f"{names} {render_message(AssistantMessage(text=event.text, actions=actions))}".strip()
