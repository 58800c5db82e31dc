"""Request of a session: where its caller differs from others with the same settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.budget.purse import Purse
from agent.model.protocol import Model
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approver

if TYPE_CHECKING:
    from agent.rules.rule_state import RuleState
    from tools.mcp.server_place import ServerPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """The caller's part of a session.

    working: folder named by -C (or the current one); the workspace is the repository around it
    session: id of a session to resume, "" for a new one
    offer_commit: the model may commit, so the folder has to be in a git repository
    model: creates another main model than the one in the settings; its argument receives one quiet line per retry
    env: variables that hold the keys and addresses of models
    apply_doubtful: the offline engine writes changes of low confidence, too
    version: of the program, for the log
    purse: pays for the session's turns; None: one with the limits of the settings
    parent, depth: id of the session that starts this one, and how many are above it; "" and 0 for a person's
    rule_state: what the rules of that session remember; None where it has none
    sessions: folder for its log, if not that of the workspace; tools: names of those that are offered, None for all
    instructions: added to the system prompt; system: in place of the usual one, for a task that needs little
    servers: MCP servers by name that the caller gives beside those of the settings
    approver: a user who can be asked; has_hooks: agent hooks run in it: not in the session that is a hook itself
    proceed: called repeatedly while an existing session is read; its exceptions end the reading
    """

    working: Path
    session: str = ""
    offer_commit: bool = True
    model: Callable[[Callable[[str], None]], Model] | None = None
    env: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    apply_doubtful: bool = False
    version: str = ""
    parent: str = ""
    depth: int = 0
    rule_state: RuleState | None = None
    sessions: Path | None = None
    tools: frozenset[str] | None = None
    servers: Mapping[str, ServerPlace] = field(default_factory=dict)
    instructions: str = ""
    system: str = ""
    purse: Purse | None = None
    approver: Approver | None = None
    has_hooks: bool = True
    proceed: Callable[[], None] = lambda: None
