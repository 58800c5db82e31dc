"""Settings of a session: one object from the files, variables and options of a user to the tools."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from agent.model.model_settings import ModelSettings
from agent.turn.action_format import DEFAULT, ActionMode
from sandbox.access_settings import AccessSettings
from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import ALLOW_CLASSES, FORBID_UNKNOWN
from tools.core.tool_settings import ToolSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """Limits of a turn: calls of the model, seconds, dollars, tokens. None: no limit."""

    max_steps: int = 200
    max_time: float = 3600.0
    max_cost: float | None = None
    max_tokens: int | None = None


Outputs = Literal["whole", "once", "outlined"]
"""Forms in which outputs enter a request.

whole: unchanged; once: lines that the request already contains become references; outlined: in addition, file
views are sent without long docstrings and without bodies far from the requested lines.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """How long histories are kept within bounds (docs/context.md).

    summary: who writes the summary of the past: code, or the fast model, checked by code
    outputs: how those of tools enter a request: whole, once (repeated text becomes a reference), or outlined
    (besides, long files without seldom needed parts)
    recent: tokens of the newest steps that stay whole; batch: tokens of steps that gather before they are
    folded
    """

    __pydantic_config__ = FORBID_UNKNOWN

    summary: Literal["code", "model"] = "code"
    outputs: Outputs = "outlined"
    # Both limits hold whatever the window: every further step pays for all of them again, and answers get worse with
    # length, so a large window is no reason to fill it. Measured on real runs: see docs/context.md.
    recent: int = 2_500
    batch: int = 8_000


DEFAULT_CONTEXT = ContextSettings()


Level = Literal["off", "remind", "enforce"]

Chains = Literal["off", "notice", "ask"]
"""notice: the person is told of a chain of actions; ask: it waits for their answer, and is refused without one."""

Guidance = Literal["log", "guide", "enforce"]
"""log: phases are recorded only; guide: the model is informed of each; enforce: withheld effects are refused, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisciplineSettings:
    """Response to misordered actions, and to chains of them.

    named: rules with a level of their own; phases: see agent.monitor.phases; chains: see agent.monitor.intent
    signals: whether the model is told that it goes in circles; see agent.monitor.signals
    """

    __pydantic_config__ = FORBID_UNKNOWN

    rules: Level = "remind"
    named: dict[str, Level] = field(default_factory=dict)
    phases: Guidance = "log"
    chains: Chains = "ask"
    signals: Literal["tell", "off"] = "tell"

    def get_level(self, rule: str) -> Level:
        """Return the level of a rule."""
        return self.named.get(rule, self.rules)


Checker = Literal["off", "code", "model"]

RequirementsChecker = Literal["auto", "off", "code", "model"]
"""auto: read at the end of a turn that changed files, and said only if something was recognised"""
"""Who checks: nobody, code alone, or a read-only child session as well, whose answers are opinions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """Checks at the end of a turn that changed files.

    baseline: a test that failed before the turn in the same way is no failure of the turn
    lint: the project's linters must not complain about changed lines
    reproduce: a prompt that holds a bug report's code is reproduced first, and the script must pass at the end
    requirements: of the prompt, checked at the end of the turn
    review: a reviewer reads the change of each turn; its opinion is shown and changes no outcome
    judge: attempts that all evidence leaves equal are compared by a judge
    keep_reproduction: such a script becomes a test of the project, committed with the fix
    rubric: a child session writes a rubric before the work, another one scores the change; an opinion
    spec_check: contradictions and loopholes of the task are told before the work
    """

    __pydantic_config__ = FORBID_UNKNOWN

    baseline: bool = True
    lint: bool = False
    reproduce: bool = False
    keep_reproduction: bool = False
    review: bool = False
    judge: bool = False
    requirements: RequirementsChecker = "auto"
    rubric: bool = False
    spec_check: Checker = "off"

    @property
    def has_optional_checks(self) -> bool:
        """Whether one of the checks is wanted that `agent/verify/optional_checks.py` attaches."""
        return self.rubric or self.requirements in ("code", "model") or self.spec_check != "off"


TAKEN = "taken-attempt"
"""Name of the work of a turn in which a person takes another attempt; it is no strategy."""


CHOSEN_STRATEGY = "strategy-auto"
"""Name of the signal that keeps the strategy that `auto` chose, with its reason: "tree: …"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategySettings:
    """How turns are made, and what differs between their attempts.

    name: "single", the loop alone, or another of `agent.strategy.strategy_table`
    budget: of a turn with all that it starts, see `agent.budget.budget_text`; "" for the limits alone
    attempts: how many; models, temperatures, hints: those of the first, second … attempt, then from the first again
    judge: `tree` and `evolve` ask the model of the role `judge` about each failed attempt
    ray: address of a Ray cluster that makes the attempts, "" for this machine; ray_env: variables that they have there
    """

    __pydantic_config__ = FORBID_UNKNOWN

    name: str = "single"
    attempts: int = 3
    budget: str = ""
    models: list[str] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    judge: bool = False
    ray: str = ""
    ray_env: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamSettings:
    """How far a session may hand work over to agents.

    delegate: models are offered the tool `delegate` where it may pay
    models: name of the model of an agent, by the agent's name
    parallel: agents at work at the same time; most: agents started in one turn; max_steps: steps of one task
    """

    __pydantic_config__ = FORBID_UNKNOWN

    delegate: bool = True
    parallel: int = 16
    most: int = 64
    max_steps: int = 50
    models: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSettings:
    """What models are told of skills.

    budget: characters of the names and descriptions in each request (about a quarter as many tokens); 0 tells none
    """

    __pydantic_config__ = FORBID_UNKNOWN

    budget: int = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """What sessions remember of a repository, and are told of it; see docs/memory.md.

    enabled: without it nothing is stored, and nothing recalled
    budget: tokens of one turn that recalled lessons may take
    """

    __pydantic_config__ = FORBID_UNKNOWN

    enabled: bool = True
    budget: int = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSettings:
    """How much of a project's snapshots is kept for undo; see agent/session/snapshot_budget.py.

    days: since the last event of a session: whoever wants its files back after that has git
    megabytes: of all sessions of one project: months of work in an ordinary repository
    """

    __pydantic_config__ = FORBID_UNKNOWN

    days: int = 90
    megabytes: int = 2_000


LeadWhen = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadSettings:
    """When the harness leads a turn about failing tests, and what it does if the model gets nowhere.

    when: auto: after replies that lead nowhere, and at once of models below a billion parameters; always: from the
        first request on
    after: such replies in a row: idle, repeated or malformed
    rounds: proposals that the model is asked for
    fallback: whether a change of the offline engine that passes the tests is written in the end
    """

    __pydantic_config__ = FORBID_UNKNOWN

    when: LeadWhen = "auto"
    after: int = 3
    rounds: int = 6
    fallback: Literal["never", "ask", "always"] = "ask"


JobPrompt = Literal["answer", "change", "docstring", "name", "test"]
"""Prompts of a small model's jobs: files of `agent/prompts/jobs`."""


class NamedRule:
    """Base of the kinds of rules in agent/rules/rule_kinds.py."""

    __slots__ = ()


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
    prompts: words in place of the built-in ones of a small model's jobs
    descriptions: words in place of a tool's own description, by its name
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
    prompts: dict[JobPrompt, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    lead: LeadSettings = field(default_factory=LeadSettings)
    verify: VerifySettings = field(default_factory=VerifySettings)
    strategy: StrategySettings = field(default_factory=StrategySettings)
    agents: TeamSettings = field(default_factory=TeamSettings)
    skills: SkillSettings = field(default_factory=SkillSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    snapshots: SnapshotSettings = field(default_factory=SnapshotSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)

    @property
    def commit_when(self) -> When:
        """When the harness commits uncommitted changes of the model."""
        return self.commit or "never"
