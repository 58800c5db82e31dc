"""The agents of a session as a tree: who does what, at which cost, and what came of it."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

from agent.events import ChildEvent, ChildProgress, Event, FindingEvent, MergeEvent
from agent.exit_codes import Exit
from agent.session.log import Session
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

State = Literal["working", "ended", "cut off"]

Merge = Literal["", "reported", "kept", "merged", "conflicts"]

_NO_NAME = compile_lazily(r"[^A-Za-z0-9_.-]+")
"""What a name by which a child is called does not have."""

_TAGS = compile_lazily(r"</?[a-z-]+>")
"""Marks around quoted texts in a task."""

MOST_LAST = 5
"""Shared findings that are kept for views."""

LONGEST_LINE = 300
"""Characters of a last line that are kept."""


@dataclass(slots=True, kw_only=True)
class AgentRow:
    """One agent.

    name: by which models and persons call it: its kind and a number; below another agent, after that one's name
    parent: session of the agent that started it, "" for one of the session's own; last: its last line
    is_role: it works for the session itself, as an attempt, a role of a team or a reviewer: no model asked for it
    place: where its files are, as in a `ChildSpec`
    merge: what became of the changes of one in a worktree; paths: files that were merged, or that have no merge
    left_out: ignored files that it made
    base, commit: its work that is not merged
    """

    child: str
    name: str = ""
    agent: str = ""
    task: str = ""
    parent: str = ""
    state: State = "working"
    outcome: str = ""
    steps: int = 0
    tokens: int = 0
    cost: float = 0.0
    last: str = ""
    seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)
    is_role: bool = False
    place: str = ""
    merge: Merge = ""
    paths: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    base: str = ""
    commit: str = ""

    @property
    def has_unmerged_work(self) -> bool:
        """Whether it works in a worktree and has reported changes that its parent's files have not."""
        return self.merge in ("reported", "kept", "conflicts")

    @property
    def is_cut_off(self) -> bool:
        """Whether its parent's model has not got what it did: a kill or the session's end came before."""
        is_stopped = self.merge == "kept" and self.outcome == Exit.INTERRUPTED.label
        return self.state == "cut off" or self.merge == "reported" or is_stopped

    @property
    def elapsed(self) -> float:
        """Seconds of its present or last turn."""
        return time.monotonic() - self.began if self.state == "working" else self.seconds


class AgentActivity:
    """Follows the children of a session, and theirs: agents, and those with a role.

    findings: how many they shared; last_findings: the last of them
    """

    def __init__(self) -> None:
        self.rows: dict[str, AgentRow] = {}
        self.findings = 0
        self.last_findings: deque[FindingEvent] = deque(maxlen=MOST_LAST)
        self._numbers: Counter[str] = Counter()

    def restore(self, session: Session) -> None:
        """Read the children of a resumed session from its log; those without an end were cut off."""
        for event in session.replayed.select_events(ChildEvent, MergeEvent, FindingEvent):
            self.handle_event(event)
        for row in self.rows.values():
            if row.state == "working":
                row.state = "cut off"

    def handle_event(self, event: Event) -> bool:
        """Process an event of the session; return whether a row has changed."""
        if isinstance(event, ChildEvent):
            usage = event.usage
            return self._track_child(
                "", {**vars(event), "tokens": usage.input + usage.output, "cost": usage.cost or 0.0}
            )
        if isinstance(event, MergeEvent):
            return self._track_merge(vars(event))
        if isinstance(event, FindingEvent):
            self.findings += 1
            self.last_findings.append(event)
        return isinstance(event, ChildProgress) and self._track_progress(event.child, event.event)

    def list_tree(self) -> Iterator[tuple[int, AgentRow]]:
        """Yield each agent with its depth, below the one that started it."""
        below: dict[str, list[AgentRow]] = {}
        for row in self.rows.values():
            below.setdefault(row.parent if row.parent in self.rows else "", []).append(row)
        waiting = [(0, row) for row in reversed(below.get("", []))]
        while waiting:
            depth, row = waiting.pop()
            yield depth, row
            waiting += [(depth + 1, each) for each in reversed(below.get(row.child, []))]

    @property
    def working(self) -> int:
        """Number of agents at work, without roles."""
        return sum(row.state == "working" and not row.is_role for row in self.rows.values())

    def has_role(self, child: str) -> bool:
        """Whether a child works for the session itself."""
        return child in self.rows and self.rows[child].is_role

    def find_row(self, name: str) -> AgentRow | None:
        """Return the agent of a name, or of a session's id."""
        found = (each for each in self.rows.values() if name in (each.name, each.child))
        return next(found, None)

    def _add_row(self, child: str, agent: str, parent: str) -> AgentRow:
        self._numbers[parent] += 1
        above = f"{self.rows[parent].name}." if parent in self.rows else ""
        row = AgentRow(
            child=child, name=f"{above}{agent}-{self._numbers[parent]}", agent=agent, parent=parent
        )
        self.rows[child] = row
        return row

    def _track_child(self, parent: str, event: Mapping[str, Any]) -> bool:
        child = str(event.get("child", ""))
        if event.get("state") == "started":
            role = str(event.get("role") or "")
            kind = str(event.get("agent") or "") or _NO_NAME.sub("-", role).strip("-")
            if not kind:
                return False
            begun = self.rows.get(child) or self._add_row(child, kind, parent)
            begun.is_role = bool(role)
            begun.state, begun.began = "working", time.monotonic()
            begun.place = str(event.get("place", ""))
            begun.task = begun.task or " ".join(_TAGS.sub(" ", str(event.get("prompt", ""))).split())
            return True
        row = self.rows.get(child)
        if row is None:
            return False
        row.state, row.outcome = "ended", str(event.get("outcome", ""))
        row.seconds = float(event.get("seconds") or 0.0)
        row.last = _get_last_line(str(event.get("report", ""))) or row.last
        row.tokens = row.tokens or int(event.get("tokens") or 0)
        row.cost = row.cost or float(event.get("cost") or 0.0)
        return True

    def _track_merge(self, event: Mapping[str, Any]) -> bool:
        if (row := self.rows.get(str(event.get("child", "")))) is None:
            return False
        row.merge = event["outcome"]
        row.paths = tuple(event.get("paths") or ())
        row.left_out = tuple(event.get("left_out") or ())
        row.base, row.commit = str(event.get("base", "")), str(event.get("commit", ""))
        return True

    def _track_progress(self, child: str, event: Mapping[str, Any]) -> bool:
        if event.get("kind") == "child":
            return self._track_child(child, event)
        if event.get("kind") == "merge":
            return self._track_merge(event)
        if (row := self.rows.get(child)) is None:
            return False
        match event.get("kind"):
            case "message":
                usage = event.get("usage")
                counts = usage if isinstance(usage, dict) else vars(usage) if usage is not None else {}
                row.steps += 1
                row.tokens += int(counts.get("input") or 0) + int(counts.get("output") or 0)
                row.cost += float(counts.get("cost") or 0.0)
                row.last = _get_last_line(str(event.get("text", ""))) or row.last
            case "action":
                paths = event.get("paths") or ()
                row.last = " ".join([str(event.get("tool", "")), *map(str, paths)])[:LONGEST_LINE]
            case _:
                return False
        return True


def _get_last_line(text: str) -> str:
    lines = text.strip().rsplit("\n", 1)
    return lines[-1].strip()[:LONGEST_LINE]
