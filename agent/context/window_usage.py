"""Usage of the context window by kind, and texts that a compaction replaced: for display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from agent.context.compression.compressor import Compressor
from agent.context.projection.message_slots import FoldMessage, NoteMessage, Slot, count_bytes
from agent.context.recall_index import RecallIndex
from agent.context.restore.projection_replay import find_undone
from agent.events import Compaction
from agent.model.protocol import AssistantMessage, ToolMessage
from agent.session.branch_history import History
from agent.session.log_index import parse_event_id
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowUsage:
    """Estimated tokens. parts: kind → tokens, in the order in which they are sent; hard: upper limit of a request"""

    window: int
    hard: int
    parts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.parts.values())


def measure_usage(compressor: Compressor) -> WindowUsage:
    """Measure the content of the next request."""
    projection = compressor.projection
    sizes: Counter[str] = Counter()
    for slot in projection.slots:
        sizes[_classify_slot(slot)] += slot.size
    named = {
        kind: projection.estimate_tokens(sizes[kind]) for kind in sorted(sizes, key=lambda kind: -sizes[kind])
    }
    parts = {"system prompt and tools": projection.fixed_tokens, **named}
    if state := compressor.render_state():
        parts["state ledger"] = projection.estimate_tokens(count_bytes(state))
    budget = compressor.compute_budget()
    return WindowUsage(window=budget.window, hard=budget.hard_limit, parts=parts)


def list_active_compactions(history: History) -> list[Compaction]:
    """Return the compactions in effect, oldest first."""
    made = list(history.select_events(Compaction))
    gone = find_undone(made)
    return [event for event in made if event.id not in gone and not event.undoes]


def iter_replacements(
    event: Compaction, past: RecallIndex, history: History
) -> Iterator[tuple[str, str, str]]:
    """Yield the replacements made by a compaction: (position, text before, text after)."""
    for event_id, text in event.masked.items():
        was = history.get_event(event_id)
        yield event_id, str(getattr(was, "text", "")), text or "[left out]"
    for fold in event.folds:
        messages = [
            f"e{number}"
            for first, last in history.list_runs()
            for number in range(
                max(first, parse_event_id(fold.first)), min(last, parse_event_id(fold.last)) + 1
            )
            if history.get_kind(number) == "message"
        ]
        whole = "\n".join(f"{ref} {past.read_step(ref)}" for ref in messages)
        yield f"{fold.first} to {fold.last}", whole, fold.text


def _classify_slot(slot: Slot) -> str:
    message = slot.message
    if isinstance(message, FoldMessage):
        return "records of the past"
    if isinstance(message, AssistantMessage):
        return "the model's messages"
    if isinstance(message, ToolMessage):
        return f"outputs of {message.name}" if not slot.short else "outputs in short form"
    return "notes of the program" if isinstance(message, NoteMessage) else "your messages"
