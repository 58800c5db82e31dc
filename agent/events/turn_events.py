"""Events of a turn: prompts, replies, actions, observations and checks, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from agent.events.event_base import AskedAction, Event, UsageRecord
from sandbox.lazy_dataclass import dataclass


@dataclass(kw_only=True)
class SessionStart(Event):
    """The first event: where and how the session was opened. `system` is sent to models unchanged.

    It is logged again when a model with another profile (agent.context.profile) is given other instructions.

    started_by: id of the session that started it, None for a person
    outputs: how tool outputs enter the requests (agent.context.projection.output_dedup); without it, whole
    shared: characters at the beginning of `system` that are the same in every folder; without it, all of them
    profile: None for the generic one; cut: characters of one output that enter requests from here on, None for all
    """

    kind: Literal["session"] = "session"
    session: str
    project: str
    model: str
    mode: str
    version: str
    system: str = ""
    outputs: Literal["whole", "once", "outlined"] = "whole"
    started_by: str | None = None
    shared: int | None = None
    profile: str | None = None
    cut: int | None = None


@dataclass(kw_only=True)
class Prompt(Event):
    """The request of a person (or of a script for them); starts a turn.

    images: file names beside the log
    strategy: settings of the strategy that makes the turn, None for the loop alone
    """

    kind: Literal["prompt"] = "prompt"
    text: str
    images: list[str] = field(default_factory=list)
    strategy: Mapping[str, Any] | None = None


@dataclass(kw_only=True)
class Steer(Event):
    """Text added while the turn was running; delivered after the batch of actions it fell into.

    by: who added it; text from the harness may quote tool outputs, so it does not count as the user's
    images: file names beside the log
    """

    kind: Literal["steer"] = "steer"
    text: str
    by: Literal["person", "harness"] = "person"
    images: list[str] | None = None


@dataclass(kw_only=True)
class MessageEvent(Event):
    """One finished reply of a model.

    partial: it was interrupted: the part received is kept, and its usage estimated
    kept: data that only its provider understands and needs back
    request: the data needed besides the log to rebuild the answered request; see
    agent/session/request_record.py
    """

    kind: Literal["message"] = "message"
    text: str = ""
    reasoning: str = ""
    actions: list[AskedAction] = field(default_factory=list)
    usage: UsageRecord = field(default_factory=UsageRecord)
    stop: str = "end"
    model: str = ""
    partial: bool = False
    kept: list[dict[str, Any]] = field(default_factory=list)
    request: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class SideCall(Event):
    """A model call outside the conversation (a title, a summary, a message). `problem`: why there is no text."""

    kind: Literal["side-call"] = "side-call"
    purpose: str
    role: str
    model: str
    text: str = ""
    usage: UsageRecord = field(default_factory=UsageRecord)
    problem: str = ""


@dataclass(kw_only=True)
class ActionEvent(Event):
    """An action is about to run, with its judged effect. `followed`: snapshots show its changes.

    within: the action whose code asked for it, with these arguments; None if a model or the harness did
    """

    kind: Literal["action"] = "action"
    call: str
    tool: str
    effect: str
    paths: list[str] = field(default_factory=list)
    followed: bool = False
    within: str | None = None
    arguments: dict[str, Any] | None = None


@dataclass(kw_only=True)
class DecisionEvent(Event):
    """A verdict other than a plain "allow", or one that a person gave."""

    kind: Literal["decision"] = "decision"
    call: str
    verdict: str
    reason: str
    by: Literal["policy", "person"] = "policy"


@dataclass(kw_only=True)
class ObservationEvent(Event):
    """The result of an action. `ref` names the artifact with the whole text; `shown` is sent to the model."""

    kind: Literal["observation"] = "observation"
    call: str
    tool: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)
    ref: str = ""
    failed: bool = False
    seconds: float = 0.0


@dataclass(kw_only=True)
class SnapshotEvent(Event):
    """The tree of the workspace in the private object store, before the first write of a step and after its batch."""

    kind: Literal["snapshot"] = "snapshot"
    tree: str
    when: Literal["before", "after"]


UndoAction = Literal["undo", "redo", "rewind"]


@dataclass(kw_only=True)
class UndoEvent(Event):
    """Files were undone (or redone): ids of the snapshot events that end the steps, trees around it.

    told: whether the model has to be informed (not if the conversation was rewound, too)
    """

    kind: Literal["undo"] = "undo"
    action: UndoAction
    steps: list[str]
    before: str
    after: str
    paths: list[str] = field(default_factory=list)
    told: bool = True


@dataclass(kw_only=True)
class PlanEvent(Event):
    """The present plan: (text, status) of each item."""

    kind: Literal["plan"] = "plan"
    items: list[tuple[str, str]]


@dataclass(kw_only=True)
class Verification(Event):
    """A check by the harness at the end of a turn, and its result."""

    kind: Literal["verification"] = "verification"
    outcome: Literal["passed", "failed", "unverified", "not-needed"]
    detail: str
    report: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class VerdictEvent(Event):
    """The answer of one verifier at the end of a turn. `artifacts` are references to full outputs.

    attempt: number of the attempt that it judges; None: the turn of this session
    """

    kind: Literal["verdict"] = "verdict"
    name: str
    outcome: Literal["pass", "fail", "unknown"]
    evidence: Literal["executed", "static", "opinion"]
    detail: str = ""
    artifacts: list[str] = field(default_factory=list)
    attempt: int | None = None


@dataclass(kw_only=True)
class RuleEvent(Event):
    """An action broke one of the user's rules.

    answer: it was refused, a person was asked, the model was reminded, or changes of files were undone afterwards
    paths: the changes that broke it, [] if the action itself did
    """

    kind: Literal["rule"] = "rule"
    call: str
    rule: str
    answer: Literal["refused", "asked", "reminded", "undone"]
    reason: str
    paths: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class PhaseEvent(Event):
    """The turn has entered this phase. after: the preceding event"""

    kind: Literal["phase"] = "phase"
    phase: str
    after: str = ""


LEAD = "lead"
"""Name of the signals of a turn that the harness leads: its beginning, and what became of each proposal."""


@dataclass(kw_only=True)
class Signal(Event):
    """A notice that is no error: a retry, an interrupt, a limit coming near."""

    kind: Literal["signal"] = "signal"
    name: str
    detail: str = ""


@dataclass(kw_only=True)
class ErrorEvent(Event):
    """A failure that ended a step or the turn, in words for a person."""

    kind: Literal["error"] = "error"
    fault: str
    message: str
    hint: str = ""


@dataclass(kw_only=True)
class End(Event):
    """The last event of a turn, on every path out of it.

    not_committed: why a commit that was due, or that the model tried, was not made; None if none failed
    reason: why a turn that the model ended was not achieved, as a clause; None where the outcome says it
    """

    kind: Literal["end"] = "end"
    outcome: str
    exit_code: int = 0
    summary: str = ""
    steps: int = 0
    usage: UsageRecord = field(default_factory=UsageRecord)
    files: list[str] = field(default_factory=list)
    commit: str = ""
    verification: str = ""
    not_committed: str | None = None
    reason: str | None = None
