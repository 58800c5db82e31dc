"""Options of a session: all decisions of a caller before it is assembled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.app_dirs import Home
from agent.context.compression.token_budget import DEFAULT_SHARES, Shares
from agent.context.projection.output_dedup import Outputs
from agent.model.protocol import Model
from agent.model.routing.roles import Role
from agent.monitor.workflow_rules import RuleLevels
from agent.turn.action_format import DEFAULT, Modes
from agent.turn.auto_commit import When
from agent.turn.limits import Limit
from sandbox.policy.decision import Approval, Approver, Mode
from sandbox.policy.rules import NO_RULES, Rules

if TYPE_CHECKING:
    from tools.edit.format_registry import Format


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a session.

    working: folder named by -C (or the current one); the workspace is the repository around it
    model: creates the model; its second argument receives one quiet line per retry
    approval: None: `auto` if the kernel confines commands, else `ask`
    session: id of a session to resume, "" for a new one
    commit: when the harness commits by itself; offer_commit: the model may
    roles: creates the models of the roles that have their own, on first use
    actions: action format of the model
    discipline: response to actions out of order
    shares: share of the history kept in full; summaries: model that writes those of the past
    proceed: called repeatedly while an existing session is read; its exceptions end the reading
    edit_formats: formats offered to the model for edits; empty: those that its model family writes well
    """

    working: Path
    model: Callable[[Home, Callable[[str], None]], Model]
    mode: Mode = Mode.WORKSPACE
    approval: Approval | None = Approval.NEVER
    rules: Rules = NO_RULES
    sandbox: str = "auto"
    container_image: str = ""
    session: str = ""
    commit: When = "turn"
    offer_commit: bool = True
    limits: Sequence[Limit] = ()
    test_command: str = ""
    test_timeout: float = 600.0
    shell_timeout: float = 120.0
    kernel_memory: int = 4 << 30
    roles: Mapping[Role, Callable[[Home, Callable[[str], None]], Model]] = field(default_factory=dict)
    actions: Modes = DEFAULT
    discipline: RuleLevels = field(default_factory=RuleLevels)
    shares: Shares = DEFAULT_SHARES
    summaries: Literal["code", "model"] = "code"
    outputs: Outputs = "outlined"
    hosts: tuple[str, ...] = ()
    secrets_allowed: tuple[str, ...] = ()
    edit_formats: Sequence[Format] = ()
    refuse_syntax_errors: bool = False
    lint: bool = True
    language_servers: Mapping[str, str] = field(default_factory=dict)
    mcp: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    approver: Approver | None = None
    proceed: Callable[[], None] = lambda: None
