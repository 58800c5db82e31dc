"""Events about child sessions, in the log of the session that started them."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from agent.events.event_base import Event, UsageRecord
from sandbox.lazy_dataclass import dataclass


@dataclass(kw_only=True)
class ChildEvent(Event):
    """A child session began or ended; its own events are in its own log.

    child: its session id; place: where its files are; agent: name of its kind, "" for none
    role: what it does for the session itself (an attempt, a role of a team, a review), "" for others
    patch: reference of the artifact with its changes, "" if there are none
    """

    kind: Literal["child"] = "child"
    child: str
    state: Literal["started", "ended"]
    prompt: str = ""
    place: str = ""
    agent: str = ""
    role: str = ""
    outcome: str = ""
    exit_code: int = -1
    report: str = ""
    patch: str = ""
    usage: UsageRecord = field(default_factory=UsageRecord)
    seconds: float = 0.0


@dataclass(kw_only=True)
class ChildProgress(Event):
    """An event of a running child, for the views of its parent; never logged there. event: as in the child's log"""

    kind: Literal["child-progress"] = "child-progress"
    child: str
    event: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class MergeEvent(Event):
    """The work of a child in a worktree has reached its parent, or has come into the parent's files.

    child: its session id; outcome: "reported" is about to be merged, "kept" is not
    commit: has its work, base: the commit that the work was made from; no reference names them
    paths: files that were merged, or that have no merge; left_out: ignored files that are not merged
    """

    kind: Literal["merge"] = "merge"
    child: str
    outcome: Literal["reported", "kept", "merged", "conflicts"]
    paths: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    base: str = ""
    commit: str = ""


@dataclass(kw_only=True)
class FindingEvent(Event):
    """A child shared a finding with those that work beside it.

    board: "" for the agents of the session, else the name of the strategy whose roles share it
    author: session of the child; note: a sentence; place: "path:line", or ""; proof: a line that a command printed
    """

    kind: Literal["finding"] = "finding"
    board: str = ""
    author: str
    note: str
    place: str = ""
    proof: str = ""
