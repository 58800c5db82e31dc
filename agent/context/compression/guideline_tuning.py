"""Tuning of the summary guideline: find facts that a compacted history lacked, and an edit that would have kept them.

ACON (arXiv 2510.00615) compares runs that succeeded with the full context to runs of the same task that failed with a
compressed one, has a model say which lost fact mattered, and edits the guideline. Here code finds the facts: names in
later actions of the good run that occur only in outputs, and that the failed run's requests lacked.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence

from agent.context.compression.compressor import Compressor
from agent.context.compression.summary import list_headings
from agent.context.ledger.session_facts import Facts
from agent.context.projection import references
from agent.context.projection.masking import render_message
from agent.context.projection.message_slots import count_bytes
from agent.context.projection.projection import BYTES_PER_TOKEN, Projection
from agent.events import Compaction, Event, MessageEvent, ObservationEvent, Prompt
from agent.model.protocol import AssistantMessage
from agent.session_settings import DEFAULT_CONTEXT, ContextSettings
from sandbox.lazy_dataclass import dataclass

Write = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFact:
    """A fact that a compacted run lacked. kind: "path", "test", "definition", "error" or "name"; tool: its source"""

    word: str
    kind: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Limits tried on recorded sessions: cost relative to no compaction, and the share of hard references visible."""

    settings: ContextSettings
    cost: float
    visible: float


def find_missing_facts(whole: Iterable[Event], shortened: Iterable[Event]) -> list[MissingFact]:
    """Return facts from outputs that the uncompacted run used and the compacted run did not have."""
    used = _find_used_facts(whole)
    projection = Projection([])
    compacted = False
    for event in shortened:
        compacted = compacted or isinstance(event, Compaction)
        projection.add_event(event)
    if not compacted:
        return []
    seen = "\n".join(_list_texts(projection))
    return [each for word, each in used.items() if word not in seen]


def _find_used_facts(events: Iterable[Event]) -> dict[str, MissingFact]:
    """Return the words of actions whose only source is an earlier output, with that source."""
    source: dict[str, tuple[str, str]] = {}
    elsewhere: set[str] = set()
    found: dict[str, MissingFact] = {}
    for event in events:
        if isinstance(event, Prompt):
            elsewhere |= references.find_words(event.text) | set(references.find_paths(event.text))
        elif isinstance(event, MessageEvent):
            asked = "\n".join(str(v) for a in event.actions for v in a.arguments.values())
            for word in [*references.find_paths(asked), *references.find_names(asked)]:
                if word in source and word not in elsewhere:
                    tool, text = source[word]
                    found.setdefault(word, MissingFact(word=word, kind=_classify_word(word, text), tool=tool))
            elsewhere |= references.find_words(asked) | set(references.find_paths(asked))
        elif isinstance(event, ObservationEvent):
            for word in [*references.find_paths(event.text), *references.find_names(event.text)]:
                source.setdefault(word, (event.tool, event.text))
    return found


def _classify_word(word: str, text: str) -> str:
    if word in references.find_paths(text):
        return "path"
    if word.startswith("test_"):
        return "test"
    if any(word in line for line in references.find_definitions(text)):
        return "definition"
    return "error" if any(word in line for line in references.find_errors(text)) else "name"


SECTION = {"path": "Files", "definition": "Files", "name": "Files", "test": "Tests", "error": "Tried"}
"""Heading of the guideline for rules about each kind of fact."""

_PLURAL = {"path": "paths", "definition": "definitions", "name": "names", "test": "tests", "error": "errors"}


async def propose_guideline(guideline: str, lacking: Sequence[MissingFact], *, write: Write | None) -> str:
    """Return the guideline edited to keep the lacking facts; by a model if there is one, else by code.

    A model's text is accepted only if it keeps all the headings.
    """
    if not lacking:
        return guideline
    counted = Counter((each.kind, each.tool) for each in lacking)
    if write is not None:
        told = "\n".join(f"- {each.kind} {each.word!r}, from {each.tool}" for each in lacking[:60])
        answer = await write(
            f"{guideline}\n\n---\nSummaries made under the guideline above lacked these facts, which later mattered:"
            f"\n{told}\n\nReturn the guideline with the smallest edit that would have kept facts of these kinds."
        )
        if all(heading in answer for heading in list_headings(guideline)):
            return answer.rstrip() + "\n"
    text = guideline
    for (kind, tool), number in counted.most_common(3):
        rule = f"Keep the {_PLURAL[kind]} that outputs of {tool} named ({number} were missed)."
        text = _insert_rule(text, SECTION[kind], rule)
    return text


def diff_guidelines(old: str, new: str) -> str:
    """Return the edit as a unified diff, "" if there is none."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        new.splitlines(keepends=True),
        "guideline.md",
        "guideline.md (proposed)",
    )
    return "".join(lines)


async def run_trials(
    sessions: Sequence[Sequence[Event]], grid: Iterable[ContextSettings], window: int
) -> list[Trial]:
    """Replay recorded sessions with other limits: cost relative to no compaction, and visible references."""
    base = sum([(await _measure_replay(events, None, window))[0] for events in sessions])
    found = []
    for settings in grid:
        results = [await _measure_replay(events, settings, window) for events in sessions]
        seen, wanted = sum(r[1] for r in results), sum(r[2] for r in results)
        cost = sum(r[0] for r in results) / max(base, 1.0)
        found.append(Trial(settings=settings, cost=cost, visible=seen / wanted if wanted else 1.0))
    return found


def choose_best_trial(found: Sequence[Trial], least: float = 0.97) -> Trial | None:
    """Return the cheapest trial that keeps at least `least` of the references visible; None if there is none."""
    return min((each for each in found if each.visible >= least), key=lambda each: each.cost, default=None)


async def _measure_replay(
    events: Sequence[Event], settings: ContextSettings | None, window: int
) -> tuple[float, int, int]:
    """Return (cost with a cache, visible hard references, all hard references) of one session."""
    projection, facts = Projection([]), Facts()
    compressor = Compressor(
        projection=projection, facts=facts, window=lambda: window, settings=settings or DEFAULT_CONTEXT
    )
    wanted = _find_used_facts(events)
    before: list[str] = []
    cost, seen, number = 0.0, set[str](), 10**9
    for event in events:
        if isinstance(event, Compaction):
            continue
        if isinstance(event, MessageEvent):
            if settings is not None:
                async for made in compressor.compact_if_due():
                    number += 1
                    made.id = f"e{number}"
                    projection.add_event(made)
            texts = _list_texts(projection)
            cost += _compute_cost(before, texts)
            before = texts
            asked = "\n".join(str(v) for a in event.actions for v in a.arguments.values())
            if named := [word for word in wanted if word not in seen and word in asked]:
                text = "\n".join(texts)
                seen.update(word for word in named if word in text)
        projection.add_event(event)
        facts.handle_event(event)
    return cost, len(seen), len(wanted)


def _compute_cost(before: Sequence[str], texts: Sequence[str]) -> float:
    """Return the cost in input tokens: a cached token counts 0.1, a fresh one 1.25."""
    same = 0
    for old, new in zip(before, texts, strict=False):
        if old != new:
            break
        same += count_bytes(new)
    return (0.1 * same + 1.25 * (sum(map(count_bytes, texts)) - same)) / BYTES_PER_TOKEN


def _list_texts(projection: Projection) -> list[str]:
    messages = [slot.message for slot in projection.slots]
    return [
        projection.system,
        *(render_message(m) if isinstance(m, AssistantMessage) else m.text for m in messages),
    ]


def _insert_rule(guideline: str, heading: str, rule: str) -> str:
    """Return the guideline with one more line under a heading."""
    lines = guideline.splitlines()
    if rule in lines or f"## {heading}" not in lines:
        return guideline
    at = lines.index(f"## {heading}") + 1
    while at < len(lines) and lines[at].strip():
        at += 1
    return "\n".join([*lines[:at], rule, *lines[at:]]) + "\n"
