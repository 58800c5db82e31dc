"""Settings of a session: one object from the files, variables and options of a user to the tools."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from agent.budget.limit_settings import LimitSettings
from agent.context.context_settings import ContextSettings
from agent.extension.skills.skill_settings import SkillSettings
from agent.lead_settings import LeadSettings
from agent.model.model_settings import ModelSettings
from agent.monitor.discipline_settings import DisciplineSettings
from agent.rules.named_rule import NamedRule
from agent.strategy.strategy_settings import StrategySettings
from agent.team.team_settings import TeamSettings
from agent.turn.action_format import DEFAULT, ActionMode
from agent.verify.verify_settings import VerifySettings
from sandbox.access_settings import AccessSettings
from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import ALLOW_CLASSES
from tools.core.tool_settings import ToolSettings

When = Literal["never", "turn", "step", "branch"]
"""When to commit.

never: only the model commits, when the user asks for it. turn: at the end of a verified turn. step: also as
soon as the whole suite passes after a change. branch: as "turn", on a new branch.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """All decisions of a user about a session, in sections that the parts of the program read by reference.

    A session like another one is `dataclasses.replace` of its settings, or of a section. Where a caller differs
    otherwise (folder, session to resume, callbacks) is in `agent.session_request.SessionRequest`.

    model: name of the main model, "" for one whose key is in the environment; api_base: its address
    actions: how models act (`tools`, `code`, `hybrid`), for all of them or by pattern of their names (`ollama/*`)
    commit: when the harness commits by itself. None: "turn" in one-shot runs, "never" in a conversation
    rules: the user's, and those of a trusted project, free of contradictions
    """

    __pydantic_config__ = ALLOW_CLASSES

    model: str = ""
    api_base: str = ""
    models: ModelSettings = field(default_factory=ModelSettings)
    actions: ActionMode | dict[str, ActionMode] = DEFAULT
    commit: When | None = None
    limits: LimitSettings = field(default_factory=LimitSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    discipline: DisciplineSettings = field(default_factory=DisciplineSettings)
    rules: tuple[NamedRule, ...] = ()
    lead: LeadSettings = field(default_factory=LeadSettings)
    verify: VerifySettings = field(default_factory=VerifySettings)
    strategy: StrategySettings = field(default_factory=StrategySettings)
    agents: TeamSettings = field(default_factory=TeamSettings)
    skills: SkillSettings = field(default_factory=SkillSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
