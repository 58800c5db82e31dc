"""Events of a session, as a program gets them: those that most programs need have types, all have their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event of any kind. raw: all its fields, as `patchwright schema events` describes them"""

    kind: str
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class SessionStart(Event):
    """The session has begun."""

    session: str
    project: str
    model: str
    mode: str


@dataclass(frozen=True, kw_only=True)
class Delta(Event):
    """A piece of a reply while it is written: of its text, or of its reasoning."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, kw_only=True)
class Message(Event):
    """A whole reply of the model. actions: the calls in it, each with `id`, `tool`, `arguments`"""

    text: str = ""
    reasoning: str = ""
    actions: list[Mapping[str, Any]] = field(default_factory=list)
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class Action(Event):
    """An action begins. call: its id; effect: read, write, execute, network, git, … ; paths: those it concerns"""

    call: str
    tool: str
    effect: str
    paths: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Observation(Event):
    """The result of an action. seconds: how long it took"""

    call: str
    tool: str
    text: str
    failed: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Plan(Event):
    """The present plan. items: (text, status) each"""

    items: list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Verdict(Event):
    """The answer of one check at the end of a turn. outcome: pass, fail or unknown"""

    name: str
    outcome: str
    evidence: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Signal(Event):
    """A notice that is no error: a retry, an interrupt, a limit coming near."""

    name: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Error(Event):
    """A failure that ended a step or the turn."""

    fault: str
    message: str
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class End(Event):
    """The end of a turn. outcome: in words; exit_code: that of `patchwright run`; files: changed ones"""

    outcome: str
    exit_code: int = 0
    summary: str = ""
    steps: int = 0
    files: list[str] = field(default_factory=list)
    commit: str = ""
    verification: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)


KINDS: Mapping[str, type[Event]] = {
    "session": SessionStart,
    "delta": Delta,
    "message": Message,
    "action": Action,
    "observation": Observation,
    "plan": Plan,
    "verdict": Verdict,
    "signal": Signal,
    "error": Error,
    "end": End,
}
"""Kinds that have a type of their own."""


def parse_event(line: Mapping[str, Any]) -> Event:
    """Return the event of a line; fields that this version does not know are in `raw`."""
    kind = KINDS.get(str(line.get("kind")), Event)
    known = {each.name for each in fields(kind)} - {"raw"}
    return kind(raw=line, **{name: value for name, value in line.items() if name in known})
