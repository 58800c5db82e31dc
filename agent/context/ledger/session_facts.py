"""Facts about a session, computed from its log: the basis of summaries, of their check, and of the state ledger.

Each fact has one kind of source. Constraints come from the user alone, decisions and the plan from the model,
files and tests from effects and reports of tools; so text from a tool can become none of the first three.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import field
from typing import Any

from agent.context.ledger.user_constraints import find_demand_cue, split_sentences
from agent.events import Compaction, Event, MessageEvent, ObservationEvent, PlanEvent, Prompt, Steer
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.sanitize import sanitize_text
from tools.core.untrusted_output import remove_foreign_text

MAX_CONSTRAINTS = 60
MAX_FILES = 300
MAX_KEPT = 30
"""Decisions, failures and commits that are kept: the latest."""

_DECISION = compile_lazily(
    r"\b(?:because|instead of|rather than|decided|decision|so I(?:'ll| will)|I(?:'ll| will) (?:use|keep|go with)"
    r"|the (?:cause|reason|root cause|fix) is)\b",
    re.IGNORECASE,
)
_FOREIGN_LINE = compile_lazily(r"^\s*\|.*$|^\s*>.*$|^```.*?^```\s*$", re.MULTILINE | re.DOTALL)
_OUR_NOTE = compile_lazily(r"\A\[I have .*?\]\n\n", re.DOTALL)


@dataclass(slots=True)
class FileState:
    """State of a file in the session.

    last_read, last_change: latest event of each kind, "" if none; a change after the last read makes the file stale
    (unless the session's own edit showed it).
    """

    last_read: str = ""
    last_change: str = ""
    is_stale: bool = False


@dataclass(slots=True)
class Facts:
    """Facts of a session, updated by `handle_event`, one event at a time.

    constraints, decisions, notes, tried, errors, commits: text → id of its event
    used: names of earlier outputs that later actions used, as of the last summary → event that used them
    forget: references that the model wants masked, until that is done
    failing: tests that fail in the last report; fixed: those that failed in an earlier one and pass now
    """

    goals: dict[str, str] = field(default_factory=dict)
    constraints: dict[str, str] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    tried: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    files: dict[str, FileState] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    plan: list[tuple[str, str]] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    tests: str = ""
    tests_at: str = ""
    steps: int = 0
    forget: list[str] = field(default_factory=list)

    def clear(self) -> None:
        """Reset all facts: the events of another branch follow."""
        fresh = Facts()
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(fresh, name))

    def as_data(self, *, files: int | None = MAX_FILES) -> dict[str, Any]:
        """Return all facts as JSON-able values, limited to the latest `files` files (None: all)."""
        data = {name: copy(getattr(self, name)) for name in self.__dataclass_fields__}
        latest = list(self.files.items())[-files if files else 0 :]
        return data | {
            "files": {path: [each.last_read, each.last_change, each.is_stale] for path, each in latest}
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Restore the state from `as_data`. Fields that it does not name are kept."""
        for name in self.__dataclass_fields__:
            if name in data and name != "files":
                setattr(self, name, copy(data[name]))
        self.plan = [(str(text), str(status)) for text, status in self.plan]
        self.files = {path: FileState(*each) for path, each in data.get("files", {}).items()}

    def handle_event(self, event: Event) -> None:
        """Update the facts from the next event."""
        match event:
            case Prompt():
                self.goals[event.id] = event.text
                self._add_constraints(event.text, event.id)
            case Steer() if event.by == "person":
                self._add_constraints(event.text, event.id)
            case MessageEvent():
                self.steps += 1
                for sentence in split_sentences(event.text):
                    if _DECISION.search(sentence):
                        _remember(self.decisions, sentence[:240], event.id)
            case PlanEvent():
                self.plan = [(text, status) for text, status in event.items]
            case ObservationEvent():
                self._add_observation(event)
            case Compaction() if event.stage == "forget":
                self.forget.clear()
            case Compaction() if event.state:
                self.used = {str(word): str(at) for word, at in event.state.get("used", {}).items()}

    def list_open_items(self) -> list[str]:
        """Return the items of the plan that are not done."""
        return [text for text, status in self.plan if status != "done"]

    def list_changed_files(self) -> list[str]:
        """Return the files that the session changed, the latest last."""
        return [path for path, each in self.files.items() if each.last_change]

    def _add_constraints(self, text: str, event_id: str) -> None:
        for sentence in split_sentences(strip_foreign_text(text)):
            if (cue := find_demand_cue(sentence)) is not None and len(self.constraints) < MAX_CONSTRAINTS:
                start = max(cue - 100, 0) if len(sentence) > 300 else 0
                self.constraints.setdefault(sentence[start : start + 300], event_id)

    def _add_observation(self, event: ObservationEvent) -> None:
        from agent.context.projection.masking import list_changed_paths

        data = event.data
        if event.tool == "memory" and not event.failed:
            if note := data.get("note"):
                self.notes[sanitize_first_line(str(note), 600)] = event.id
            self.forget += [str(ref) for ref in data.get("forget", ())]
        for path in list_changed_paths(data):
            known = self._touch_file(path)
            known.last_change = event.id
            # changed by a command, so the new content was not shown
            known.is_stale = "diff" not in data and bool(known.last_read)
        if isinstance(shown := data.get("path"), str) and "first" in data:
            known = self._touch_file(shown)
            known.last_read, known.is_stale = event.id, False
        if isinstance(report := data.get("report"), Mapping):
            self._add_test_report(report, event)
        elif event.failed:
            from agent.context.projection.references import find_errors

            for line in find_errors(event.text)[-2:]:
                _remember(self.errors, sanitize_first_line(line, 200), event.id, 8)
            _remember(self.tried, f"{event.tool}: {sanitize_first_line(event.text, 120)}", event.id)
        if commit := data.get("commit"):
            files = ", ".join(sanitize_first_line(str(path), 60) for path in list(data.get("files", ()))[:6])
            _remember(self.commits, f"{str(commit)[:10]} ({files})", event.id)

    def _add_test_report(self, report: Mapping[str, Any], event: ObservationEvent) -> None:
        failures = report.get("failures") or ()
        names = [
            sanitize_first_line(str(each.get("id") or "?"), 120)
            for each in failures
            if isinstance(each, Mapping)
        ]
        gone = [name for name in self.failing if name not in names]
        self.fixed = list(dict.fromkeys([*self.fixed, *gone]))[-MAX_KEPT:]
        self.fixed = [name for name in self.fixed if name not in names]
        self.failing = names[:MAX_KEPT]
        self.tests = sanitize_first_line(event.text, 160)
        self.tests_at = event.id
        if not names:
            self.errors.clear()
            return
        from agent.context.projection.references import find_errors

        for line in find_errors(event.text)[:4]:
            _remember(self.errors, sanitize_first_line(line, 200), event.id, 8)

    def _touch_file(self, path: str) -> FileState:
        known = self.files.pop(path, None) or FileState()
        self.files[path] = known  # the latest last
        return known


def strip_foreign_text(text: str) -> str:
    """Return the user's own text of a prompt, without piped text, quotations, code blocks and notes of the program."""
    if text.startswith("[I have"):
        text = _OUR_NOTE.sub("", text)
    text = remove_foreign_text(text)
    return _FOREIGN_LINE.sub("", text) if any(mark in text for mark in ("|", ">", "```")) else text


def sanitize_first_line(text: str, limit: int) -> str:
    """Return the first line of untrusted text, sanitized and truncated, for use within a line."""
    line = next((each for each in text.splitlines() if each.strip()), "")
    line = sanitize_text(" ".join(line.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _remember(kept: dict[str, str], text: str, event_id: str, limit: int = MAX_KEPT) -> None:
    kept.pop(text, None)
    kept[text] = event_id
    while len(kept) > limit:
        del kept[next(iter(kept))]
