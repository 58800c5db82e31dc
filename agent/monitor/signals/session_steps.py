"""Steps of a session as its signals see them: what was asked, what came back, what changed.

A step is one reply of a model with its actions and their observations. Texts are reduced to hashes of their lines,
so that a step takes a bounded amount of memory, whatever its outputs are.
"""

from __future__ import annotations

import json
from itertools import islice

from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent, SnapshotEvent
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

MOST_LINES = 256
"""Lines of an output that are compared: the first half and the last half of them."""

MOST_WORDS = 256
"""Words of the arguments that are compared."""

ALIKE = 0.8
"""Share of common lines above which two outputs are the same: a duration or a warning may differ."""

UNTESTED = frozenset({"no-runner", "no-tests", "unverified"})
"""Outcomes of a report of tests that were not run."""

TELLING = 5
"""Lines of a result that another action brings again by more than chance."""

_PLACE = compile_lazily(r"(?m)^[ ]*\d+[\t:|]")
_NUMBER = compile_lazily(r"0x[0-9a-fA-F]+|\d[0-9a-f]*")
_OPTION = compile_lazily(r"(?<![\w-])--?[A-Za-z][\w-]*(?:=[^\s\"']*)?|\d?>&\d|\|\s*(?:head|tail)\b[^|\"']*")
_WORD = compile_lazily(r"[\w.-]+")
_CHANGES = frozenset({"write", "git"})


@dataclass(slots=True, kw_only=True)
class SessionStep:
    """One reply with what its actions brought.

    place: id of the reply's event; asked: its actions, spacing aside; words: those of its arguments
    lines: hashes of the lines that came back, numbers aside; failed: how many of its actions failed
    error: hashes of the lines of the failed ones; tree: that of the files after it, "" if none was taken
    ran: a command or the tests ran in it; passing: names of tests that passed, where a report tells them
    """

    place: str
    text: str
    thought: int
    tools: tuple[str, ...]
    asked: str
    words: frozenset[str]
    lines: frozenset[int] = frozenset()
    error: frozenset[int] = frozenset()
    failed: int = 0
    changed: bool = False
    ran: bool = False
    tree: str = ""
    passing: frozenset[str] = frozenset()

    def equals(self, other: SessionStep) -> bool:
        """Return whether both asked for the same and got the same, numbers in outputs aside."""
        return bool(self.tools) and self.asked == other.asked and self._has_lines_of(other)

    def resembles(self, other: SessionStep) -> bool:
        """Return whether both asked for nearly the same and got the same. Changes of files never only resemble."""
        if self.tools != other.tools or not self.tools or not self._has_lines_of(other):
            return False
        if self.asked == other.asked:
            return True
        if self.changed or other.changed or not self.lines:
            return False
        if (
            self.failed or len(self.lines) == 1
        ):  # different commands may fail alike, or bring no more than "exit 0"
            return find_targets(self.asked) == find_targets(other.asked)
        return compare_sets(self.words, other.words) >= 0.6

    def brings_same(self, other: SessionStep) -> bool:
        """Return whether both brought the same lines, whatever was asked for, and changed nothing."""
        if self.changed or other.changed or not self.tools or not other.tools:
            return False
        if (
            self.failed and not self.ran
        ):  # edits that are refused differ in a line of much text, and may get nearer
            return False
        return len(self.lines) >= TELLING and self._has_lines_of(other)

    def _has_lines_of(self, other: SessionStep) -> bool:
        few, many = sorted((len(self.lines), len(other.lines)))
        return few >= many * ALIKE and compare_sets(self.lines, other.lines) > ALIKE


class StepReader:
    """Puts the events of a session together to steps, one event at a time."""

    def __init__(self) -> None:
        self._step: SessionStep | None = None
        self._effects: dict[str, str] = {}

    def take_event(self, event: Event) -> SessionStep | None:
        """Process an event; return the step that ends before it."""
        match event:
            case MessageEvent():
                ended, self._step = self._step, create_step(event)
                self._effects.clear()
                return ended
            case ActionEvent():
                self._effects[event.call] = event.effect
            case ObservationEvent() if self._step is not None and not event.call.startswith("harness-"):
                self._add_observation(self._step, event)
            case SnapshotEvent(when="after") if self._step is not None:
                self._step.tree = event.tree
        return None

    def end(self) -> SessionStep | None:
        """Return the step that is begun; there is none afterwards."""
        ended, self._step = self._step, None
        return ended

    def _add_observation(self, step: SessionStep, event: ObservationEvent) -> None:
        found = hash_lines(event.text)
        step.lines |= found
        effect = self._effects.get(event.call, "")
        report = event.data.get("report")
        if event.failed:
            step.failed += 1
            step.error |= found
        elif effect in _CHANGES or event.data.get("changed"):
            step.changed = True
        has_run = (
            str(report.get("outcome")) not in UNTESTED if isinstance(report, dict) else effect == "execute"
        )
        step.ran = step.ran or has_run
        if isinstance(report, dict) and isinstance(names := report.get("passed_tests"), list):
            step.passing |= frozenset(map(str, names))


def create_step(event: MessageEvent) -> SessionStep:
    """Create the step that a reply begins."""
    asked = "\n".join(
        " ".join(f"{each.tool} {each.raw or json.dumps(each.arguments, sort_keys=True, default=str)}".split())
        for each in event.actions
    )
    return SessionStep(
        place=event.id,
        text=event.text,
        thought=event.usage.reasoning or len(event.reasoning) // 4,
        tools=tuple(each.tool for each in event.actions),
        asked=asked,
        words=find_words(asked),
    )


def hash_lines(text: str) -> frozenset[int]:
    """Return hashes of the lines of a text: without line numbers, values of numbers, spacing and empty lines."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        lines = lines[: MOST_LINES // 2] + lines[-MOST_LINES // 2 :]
    plain = _NUMBER.sub("0", _PLACE.sub("", "\n".join(lines))).splitlines()
    return frozenset(hash("".join(line.split())) for line in plain if line.strip())


def compare_sets(one: frozenset[int] | frozenset[str], other: frozenset[int] | frozenset[str]) -> float:
    """Return the share of common elements of two sets (Jaccard), 1.0 for two empty ones."""
    if one == other:
        return 1.0
    return len(one & other) / len(one | other)


def find_words(asked: str) -> frozenset[str]:
    """Return the first MOST_WORDS words of what was asked for, numbers aside."""
    return frozenset(match[0] for match in islice(_WORD.finditer(_NUMBER.sub("0", asked)), MOST_WORDS))


def find_targets(asked: str) -> frozenset[str]:
    """Return the words of what was asked for but for its options: `make test -v` is about what `make test` is."""
    plain = islice(_WORD.finditer(_OPTION.sub(" ", asked)), MOST_WORDS)
    return frozenset(match[0] for match in plain) - {"."}
