"""Types of all settings, with the built-in values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from agent.context.compression.token_budget import DEFAULT_SHARES
from agent.monitor.phases import Guidance
from agent.monitor.workflow_rules import Level
from agent.turn.action_format import DEFAULT, ActionMode
from agent.turn.auto_commit import When
from cli.settings.terminal_settings import FORBID_UNKNOWN, TerminalSettings
from sandbox.policy.decision import Approval, Mode
from sandbox.policy.rules import NO_RULES, Rules
from tools.edit.format_registry import Format


@dataclass(kw_only=True)
class TestSettings:
    """How a project is tested. `command` overrides what `run_tests` finds."""

    __pydantic_config__ = FORBID_UNKNOWN

    command: str = ""
    timeout: float = 600.0


@dataclass(kw_only=True)
class EditSettings:
    """How a model edits files. `formats`: in which it is told to write; None: those that its family writes well."""

    __pydantic_config__ = FORBID_UNKNOWN

    formats: list[Format] | None = None
    syntax_errors: Literal["report", "refuse"] = "report"
    lint: bool = True


@dataclass(kw_only=True)
class RuleSettings:
    """A rule with examples, which are checked when the settings load."""

    __pydantic_config__ = FORBID_UNKNOWN

    rule: str
    match: list[str] = field(default_factory=list)
    no_match: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class PermissionSettings:
    """The user's rules by verdict, each like `shell(npm run *)`."""

    __pydantic_config__ = FORBID_UNKNOWN

    allow: list[str | RuleSettings] = field(default_factory=list)
    ask: list[str | RuleSettings] = field(default_factory=list)
    deny: list[str | RuleSettings] = field(default_factory=list)


@dataclass(kw_only=True)
class CatalogSettings:
    """The user's entry for a model. window: tokens; input, output, cached: US dollars for a million tokens"""

    __pydantic_config__ = FORBID_UNKNOWN

    window: int = 0
    input: float | None = None
    output: float | None = None
    cached: float | None = None
    tools: bool = True
    images: bool = True


@dataclass(kw_only=True)
class DisciplineSettings:
    """Response to misordered actions. `named`: rules with a level of their own; `phases`: see agent.monitor.phases."""

    __pydantic_config__ = FORBID_UNKNOWN

    rules: Level = "remind"
    named: dict[str, Level] = field(default_factory=dict)
    phases: Guidance = "log"


@dataclass(kw_only=True)
class ModelSettings:
    """Models beside the main one, by role; "" leaves a role to the main one.

    fast: titles, summaries, messages; plan: plans, and tasks beyond the main model; judge: opinions on work
    fallback: asked in this order when a model cannot be reached
    relay: `plan` leads each turn and comes back when things fail; the main model carries it out
    effort: how much a model is to think; "" leaves it to the provider
    catalog: window and prices of models by name, where ours are wrong or missing
    """

    __pydantic_config__ = FORBID_UNKNOWN

    fast: str = ""
    plan: str = ""
    judge: str = ""
    fallback: list[str] = field(default_factory=list)
    relay: bool = False
    effort: Literal["", "low", "medium", "high"] = ""
    catalog: dict[str, CatalogSettings] = field(default_factory=dict)


@dataclass(kw_only=True)
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
    outputs: Literal["whole", "once", "outlined"] = "outlined"
    recent: int = DEFAULT_SHARES.recent
    batch: int = DEFAULT_SHARES.batch


@dataclass(kw_only=True)
class Settings:
    """All settings with their defaults; a file may give any part of them."""

    __pydantic_config__ = FORBID_UNKNOWN

    model: str = ""
    api_base: str = ""
    mode: Mode = Mode.WORKSPACE
    approval: Approval | None = None
    """Of a session with a terminal. None: `auto` where the kernel confines commands, else `ask`."""
    sandbox: str = "auto"
    container_image: str = ""
    max_steps: int = 200
    max_time: float = 3600.0
    max_cost: float | None = None
    max_tokens: int | None = None
    shell_timeout: float = 120.0
    kernel_memory: int = 4096
    """MiB of private memory that the kernel of the `python` tool may have."""
    actions: ActionMode | dict[str, ActionMode] = DEFAULT
    """How models act (`tools`, `code`, `hybrid`), for all of them or by pattern of their names (`ollama/*`)."""
    network: list[str] = field(default_factory=list)
    """Hosts that sandboxed commands reach (`pypi.org`, `*.npmjs.org:443`); none when empty."""
    secrets_allowed: list[str] = field(default_factory=list)
    """Patterns of paths (`tests/fixtures/*`) whose new keys and tokens may be committed: made-up ones."""
    language_servers: dict[str, str] = field(default_factory=dict)
    """By language (`python`, `c`, `typescript`) the command line of a server that the session may ask. They run in
    the sandbox, but read what the project configures: name those that you trust with it."""
    mcp: dict[str, str] = field(default_factory=dict)
    """Servers of the Model Context Protocol, by a name for each: the command line that starts it."""
    commit: When | None = None
    """When the harness commits by itself. None: "turn" in one-shot runs, "never" in a conversation."""
    tests: TestSettings = field(default_factory=TestSettings)
    edit: EditSettings = field(default_factory=EditSettings)
    discipline: DisciplineSettings = field(default_factory=DisciplineSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    rules: Rules = field(default=NO_RULES, init=False)
    """Rules of `permissions` and those stored by "always"."""
    flags: Mapping[str, object] = field(default_factory=dict, init=False)
    """Options set on the command line, by name (`test_command` is `tests.command`)."""


def list_setting_names() -> list[str]:
    """Return the names of all settings, with dots."""
    parts = {
        "tests": TestSettings,
        "edit": EditSettings,
        "discipline": DisciplineSettings,
        "context": ContextSettings,
        "models": ModelSettings,
        "terminal": TerminalSettings,
        "permissions": PermissionSettings,
    }
    nested = [f"{part}.{each.name}" for part, of in parts.items() for each in fields(of)]
    return [each.name for each in fields(Settings) if each.init and each.name not in parts] + nested
