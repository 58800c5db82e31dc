"""What a policy costs and keeps: tokens, cost with a prompt cache, and hard references.

A hard reference is a path or an identifier (names of tests and errors among them) in an action whose only source is
an earlier output: it stands neither in the task, nor in the last output, nor in the agent's own earlier actions on that
task.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.context.projection import BYTES_PER_TOKEN, size
from agent.events import Event, MessageEvent, ObservationEvent, Prompt
from agent.log_index import place
from benchmarks.context.policies import Policy

CACHED, FRESH = 0.1, 1.25
"""Of the price of an input token: read from a provider's cache, and written to it."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
_LIKE_CODE = re.compile(r"[A-Za-z0-9]_|_[A-Za-z0-9]|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|[a-z]\d")
_PATH = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:py|txt|cfg|toml|rst|md|ini|c|h|html|js|json|yml)\b")


_SHOWN = re.compile(r"^(\d+):(.*)", re.MULTILINE)
_EDIT = re.compile(r"edit\s+(\d+):(\d+)")


@dataclass(slots=True)
class Result:
    """One session under one policy. Tokens are bytes / 3.6."""

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


def identifiers(text: str) -> set[str]:
    """Words that look like code. The definition is the benchmark's own, not the product's."""
    return {word for word in _IDENTIFIER.findall(text) if _LIKE_CODE.search(word)}


def paths(text: str) -> set[str]:
    """Names of files."""
    return set(_PATH.findall(text))


def replay(events: Sequence[Event], policy: Policy) -> Result:
    """Each step of a session under a policy; times in CPU milliseconds, steps with a compaction apart."""
    result = Result()
    seen = _Seen()
    before: list[str] = []
    for event in events:
        if isinstance(event, MessageEvent):
            made, started = policy.compactions, time.process_time()
            request = policy.request()
            taken = (time.process_time() - started) * 1000
            (result.compressing if policy.compactions > made else result.plain).append(taken)
            _bill(result, before, request)
            before = request
            _look(result, event, seen, request, policy)
            if lines := seen.replaced(event):
                sent = "\n".join(request)
                result.edited.append(all(line in sent or json.dumps(line)[1:-1] in sent for line in lines))
        seen.add(event)
        policy.add(event)
    result.compactions = policy.compactions
    return result


class _Seen:
    """Where words and paths have stood so far."""

    def __init__(self) -> None:
        self.outputs: dict[str, list[int]] = defaultdict(list)
        self.elsewhere: set[str] = set()
        self.last: set[str] = set()
        self.views: dict[int, str] = {}
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
            self._pending = (self.last, place(event.id))
        elif isinstance(event, Prompt):
            self.elsewhere = identifiers(event.text) | paths(event.text)
        elif isinstance(event, MessageEvent):
            self.elsewhere |= identifiers(_asked(event)) | paths(_asked(event))

    def replaced(self, event: MessageEvent) -> list[str]:
        """Lines that an edit by their numbers replaces, as they were shown last."""
        found = [match for match in map(_EDIT.match, (_asked(event),)) if match]
        numbers = (n for match in found for n in range(int(match[1]), int(match[2]) + 1))
        return [line.strip() for n in numbers if len(line := self.views.get(n, "").strip()) > 7]

    def hard(self, words: set[str]) -> list[str]:
        return [w for w in words if w in self.outputs and w not in self.last and w not in self.elsewhere]


def _asked(event: MessageEvent) -> str:
    return "\n".join(str(v) for each in event.actions for v in (each.tool, *each.arguments.values()))


def _bill(result: Result, before: Sequence[str], request: Sequence[str]) -> None:
    whole = sum(map(size, request)) / BYTES_PER_TOKEN
    same = 0
    for old, new in zip(before, request, strict=False):
        if old != new:
            break
        same += size(new)
    cached = same / BYTES_PER_TOKEN
    result.peak = max(result.peak, whole)
    result.total += whole
    result.cost += CACHED * cached + FRESH * (whole - cached)


def _look(result: Result, event: MessageEvent, seen: _Seen, request: Sequence[str], policy: Policy) -> None:
    asked = _asked(event)
    wanted = [(word, result.identifiers) for word in seen.hard(identifiers(asked))]
    wanted += [(word, result.paths) for word in seen.hard(paths(asked))]
    if not wanted:
        return
    text = "\n".join(request)
    for word, found in wanted:
        visible = word in text
        found.append(visible)
        result.reachable.append(visible or policy.reachable(seen.outputs[word]))


def interval(found: Sequence[bool]) -> str:
    """A share with its 95 % interval (Wilson 1927)."""
    n = len(found)
    if not n:
        return "none"
    p, z = sum(found) / n, 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{p:6.1%} ({max(middle - half, 0):.0%}–{min(middle + half, 1):.0%}, n={n})"
