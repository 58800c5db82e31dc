"""What a child session is asked to do, and with what."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any, Literal

from agent.budget.purse import Amount
from agent.model.model_settings import Effort
from agent.session_settings import LimitSettings
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode

Place = Literal["read-only", "worktree", "lease"]
"""The files that a child works on.

read-only: those of its parent, which it cannot change. worktree: a copy of their present state; its changes are
returned as a patch. lease: those of its parent, one child at a time.
"""


Runs = Literal["in-process", "process", "remote"]
"""Where a child runs.

in-process: on its parent's event loop. process: in a process of its own, whose crash ends only the child. remote: on
a node of a cluster that the parent has joined, in a worktree.
"""

HOOK_ROLE = "hook"
"""Role of a child that is an agent hook: no hook runs in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """A child session: a task with its means. Whatever is asked for, a child gets no more than its parent has.

    prompt: the task; instructions: added to the system prompt; system: in place of all of it
    model: name, "" for the parent's; temperature: of its sampling, None for that of the settings
    effort: how much it is to think, "" for that of the settings; agent: name of the kind of child, "" for none
    role: by which persons see and reach a child that no model asked for, "" for none
    base: commit that a worktree begins with, "" for the parent's present files; patch: applied to it (a fork)
    tools: names of the tools that are offered, None for all of the mode
    mode: at most the parent's; None: the parent's, or read-only where the place is
    limits: of the child's turns; share: part of the parent's budget that is kept for it
    session: id of an earlier child of this parent to go on with, "" for a new one
    asks_model: whether its turn costs anything; else it begins also where no call could be paid for any more
    """

    prompt: str
    instructions: str = ""
    system: str = ""
    model: str = ""
    temperature: float | None = None
    effort: Effort = ""
    agent: str = ""
    role: str = ""
    base: str = ""
    patch: bytes = b""
    tools: Collection[str] | None = None
    mode: Mode | None = None
    limits: LimitSettings = field(default_factory=lambda: LimitSettings(max_steps=100))
    share: Amount | None = None
    place: Place = "read-only"
    runs: Runs = "in-process"
    session: str = ""
    asks_model: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """Result of one turn of a child.

    child: its session id; outcome: label of its exit code, or "crashed"
    report: its last message; verification: as in its end event
    patch: changes of a child in a worktree, for `git apply`; artifact: its reference in the parent's session
    usage: tokens and dollars of the turn
    """

    child: str
    outcome: str
    exit_code: int
    report: str
    verification: str = ""
    patch: bytes = b""
    artifact: str = ""
    files: tuple[str, ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def succeeded(self) -> bool:
        """Whether the child did what it was asked for."""
        return self.exit_code == 0
