"""What a policy costs and keeps: tokens, cost with a prompt cache, and hard references.

A hard reference is a path or an identifier (names of tests and errors among them) in an action whose only source is
an earlier output: it stands neither in the task, nor in the last output, nor in the agent's own earlier actions on that
task. What is not in sight when it is needed is read again, by a step that the recorded run did not take; the cost with
that step is `charged`.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent.context.projection.message_slots import count_bytes
from agent.context.projection.projection import BYTES_PER_TOKEN
from agent.events import AskedAction, Event, MessageEvent, ObservationEvent, Prompt
from agent.session.log_index import parse_event_id
from benchmarks.context.policies import Policy

CACHED, FRESH = 0.1, 1.25
"""Of the price of an input token: read from a provider's cache, and written to it."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
_LIKE_CODE = re.compile(r"[A-Za-z0-9]_|_[A-Za-z0-9]|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|[a-z]\d")
_PATH = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:py|txt|cfg|toml|rst|md|ini|c|h|html|js|json|yml)\b")


_SHOWN = re.compile(r"^(\d+):(.*)", re.MULTILINE)
_EDIT = re.compile(r"edit\s+(\d+):(\d+)")

AROUND = 10
"""Lines on each side that are read along with those that an edit needs."""


@dataclass(slots=True)
class Result:
    """One session under one policy. Tokens are bytes / 3.6. again: tokens of each output that was read again"""

    peak: float = 0.0
    total: float = 0.0
    cost: float = 0.0
    compactions: int = 0
    identifiers: list[bool] = field(default_factory=list)
    paths: list[bool] = field(default_factory=list)
    reachable: list[bool] = field(default_factory=list)
    edited: list[bool] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    compressing: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)


def identifiers(text: str) -> set[str]:
    """Words that look like code. The definition is the benchmark's own, not the product's."""
    return {word for word in _IDENTIFIER.findall(text) if _LIKE_CODE.search(word)}


def paths(text: str) -> set[str]:
    """Names of files."""
    return set(_PATH.findall(text))


def replay(events: Sequence[Event], policy: Policy, *, charged: bool = False) -> Result:
    """Each step of a session under a policy; times in CPU milliseconds, steps with a compaction apart.

    charged: what is not in sight when it is needed is read again first
    """
    result = Result()
    seen = _Seen()
    before: list[str] = []
    number = 0
    for event in events:
        if isinstance(event, MessageEvent):
            made, started = policy.compactions, time.process_time()
            request = policy.request()
            taken = (time.process_time() - started) * 1000
            (result.compressing if policy.compactions > made else result.plain).append(taken)
            _bill(result, before, request)
            before = request
            lacking = _look(result, event, seen, request, policy)
            if lines := seen.replaced(event):
                sent = "\n".join(request)
                result.edited.append(
                    all(line in sent or json.dumps(line)[1:-1] in sent for line in lines.values())
                )
                lacking += [] if result.edited[-1] else [seen.view(lines)]
            for output in lacking if charged else ():
                for extra in _read_again(output, len(result.again)):
                    number += 1
                    policy.add(replace(extra, id=f"e{number}"))
                result.again.append(count_bytes(output.text) / BYTES_PER_TOKEN)
                request = policy.request()
                _bill(result, before, request)
                before = request
        number += 1
        event = replace(event, id=f"e{number}")
        seen.add(event)
        policy.add(event)
    result.compactions = policy.compactions
    return result


def _read_again(output: ObservationEvent, number: int) -> tuple[Event, Event]:
    """The step by which something is had back, as a model would take it."""
    call = f"again{number}"
    asked = AskedAction(
        id=call, tool="recall", arguments={"ref": output.ref or output.id, "find": output.tool}
    )
    return (
        MessageEvent(text="I need to see this once more before I go on.", actions=[asked]),
        replace(output, call=call, tool="recall"),
    )


class _Seen:
    """Where words and paths have stood so far."""

    def __init__(self) -> None:
        self.outputs: dict[str, list[int]] = defaultdict(list)
        self.elsewhere: set[str] = set()
        self.last: set[str] = set()
        self.views: dict[int, str] = {}
        self.texts: dict[int, ObservationEvent] = {}
        self._pending: tuple[set[str], int] = (set(), 0)

    def add(self, event: Event) -> None:
        if isinstance(event, ObservationEvent):
            words, number = self._pending
            for word in words:
                self.outputs[word].append(number)
            if shown := _SHOWN.findall(event.text):
                fresh = {int(number): line for number, line in shown}
                self.views = fresh if "diff" in event.data or 1 in fresh else self.views | fresh
            self.last = identifiers(event.text) | paths(event.text)
            self._pending = (self.last, parse_event_id(event.id))
            self.texts[parse_event_id(event.id)] = event
        elif isinstance(event, Prompt):
            self.elsewhere = identifiers(event.text) | paths(event.text)
        elif isinstance(event, MessageEvent):
            self.elsewhere |= identifiers(_asked(event)) | paths(_asked(event))

    def replaced(self, event: MessageEvent) -> dict[int, str]:
        """Lines that an edit by their numbers replaces, as they were shown last: number → text."""
        found = [match for match in map(_EDIT.match, (_asked(event),)) if match]
        numbers = (n for match in found for n in range(int(match[1]), int(match[2]) + 1))
        return {n: line.strip() for n in numbers if len(line := self.views.get(n, "").strip()) > 7}

    def view(self, lines: dict[int, str]) -> ObservationEvent:
        """These lines and some around them, as reading them again would show them."""
        first, last = min(lines) - AROUND, max(lines) + AROUND
        text = "\n".join(f"{n}:{self.views[n]}" for n in range(first, last + 1) if n in self.views)
        return ObservationEvent(call="", tool=f"{first}-{last}", text=text)

    def hard(self, words: set[str]) -> list[str]:
        return [w for w in words if w in self.outputs and w not in self.last and w not in self.elsewhere]


def _asked(event: MessageEvent) -> str:
    return "\n".join(str(v) for each in event.actions for v in (each.tool, *each.arguments.values()))


def _bill(result: Result, before: Sequence[str], request: Sequence[str]) -> None:
    whole = sum(map(count_bytes, request)) / BYTES_PER_TOKEN
    same = 0
    for old, new in zip(before, request, strict=False):
        if old != new:
            break
        same += count_bytes(new)
    cached = same / BYTES_PER_TOKEN
    result.peak = max(result.peak, whole)
    result.total += whole
    result.cost += CACHED * cached + FRESH * (whole - cached)


def _look(
    result: Result, event: MessageEvent, seen: _Seen, request: Sequence[str], policy: Policy
) -> list[ObservationEvent]:
    """Whether hard references are in sight; the newest outputs that hold those that are not."""
    asked = _asked(event)
    wanted = [(word, result.identifiers) for word in seen.hard(identifiers(asked))]
    wanted += [(word, result.paths) for word in seen.hard(paths(asked))]
    if not wanted:
        return []
    text = "\n".join(request)
    lacking: dict[int, ObservationEvent] = {}
    for word, found in wanted:
        visible = word in text
        found.append(visible)
        result.reachable.append(visible or policy.reachable(seen.outputs[word]))
        if not visible:
            source = seen.outputs[word][-1]
            lacking[source] = seen.texts[source]
    return list(lacking.values())


def interval(found: Sequence[bool]) -> str:
    """A share with its 95 % interval (Wilson 1927)."""
    n = len(found)
    if not n:
        return "none"
    p, z = sum(found) / n, 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{p:6.1%} ({max(middle - half, 0):.0%}–{min(middle + half, 1):.0%}, n={n})"
