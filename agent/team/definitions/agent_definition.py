"""An agent: instructions and rights of a child session, by name."""

from __future__ import annotations

from typing import Literal

from agent.model.model_settings import Effort
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode
from tools.core.tool_names import ToolGrant

Reports = Literal["text", "findings", "tests"]
"""What an agent reports: a text, places in files with a sentence each, or files with tests."""

MemoryScope = Literal["", "project", "user"]
"""Notes that an agent keeps: none, of one project, or of all projects of the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """A named kind of child session. Whatever it asks for, it gets no more than the session that starts it has.

    tools: those that it asks for, None for all of its parent's; denied: those that it does without
    model: name of one, "fast" for the session's model of that role, "" for its parent's
    mode: at most its parent's; None: read-only, unless it asks for tools that change files
    max_turns: steps of one task, None for the default; background: whether it runs so unless told otherwise
    isolation: "" or "worktree"; effort: how much its model is to think
    memory: which notes it keeps for its next tasks, "" for none
    reports: what it reports; hides_bodies: whether it sees the interfaces of the code without the code
    skills: names of skills whose instructions it has from the start
    source: path of its file, "built in" without one
    warnings: what of its file is not used, a line each
    """

    name: str
    description: str
    instructions: str
    tools: tuple[ToolGrant, ...] | None = None
    denied: tuple[ToolGrant, ...] = ()
    model: str = ""
    mode: Mode | None = None
    max_turns: int | None = None
    background: bool = False
    isolation: str = ""
    effort: Effort = ""
    skills: tuple[str, ...] = ()
    memory: MemoryScope = ""
    reports: Reports = "text"
    hides_bodies: bool = False
    source: str = "built in"
    warnings: tuple[str, ...] = ()
