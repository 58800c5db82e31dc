"""Settings: built-in, the user's TOML file, the project's (only what runs inside the sandbox), environment, flags."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from agent.committing import When
from agent.context.budget import DEFAULT_SHARES
from agent.discipline import RULES, Level
from agent.home import Home, private_folder
from agent.modes import DEFAULT, ActionMode
from agent.phases import Guidance
from sandbox.errors import Fault, UserError
from sandbox.policy import Approval, Mode
from sandbox.rules import NO_RULES, VERDICTS, Rule, Rules, Verdict, check_examples, parse_rule
from tools.edit.offer import WAYS, Format

_FORBID_UNKNOWN = {"extra": "forbid"}
"""Pydantic's configuration of both classes: a setting that does not exist is a mistake to be told."""


@dataclass(kw_only=True)
class TestSettings:
    """How a project is tested. `command` overrides what `run_tests` finds."""

    __pydantic_config__ = _FORBID_UNKNOWN

    command: str = ""
    timeout: float = 600.0


@dataclass(kw_only=True)
class EditSettings:
    """How a model edits files. `formats`: in which it is told to write; None: those that its family writes well."""

    __pydantic_config__ = _FORBID_UNKNOWN

    formats: list[Format] | None = None
    syntax_errors: Literal["report", "refuse"] = "report"
    lint: bool = True


@dataclass(kw_only=True)
class RuleSettings:
    """A rule with examples, which are checked when the settings load."""

    __pydantic_config__ = _FORBID_UNKNOWN

    rule: str
    match: list[str] = field(default_factory=list)
    no_match: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class PermissionSettings:
    """The user's rules by verdict, each like `shell(npm run *)`."""

    __pydantic_config__ = _FORBID_UNKNOWN

    allow: list[str | RuleSettings] = field(default_factory=list)
    ask: list[str | RuleSettings] = field(default_factory=list)
    deny: list[str | RuleSettings] = field(default_factory=list)


@dataclass(kw_only=True)
class CatalogSettings:
    """What the user says of a model. window: tokens; input, output, cached: US dollars for a million tokens"""

    __pydantic_config__ = _FORBID_UNKNOWN

    window: int = 0
    input: float | None = None
    output: float | None = None
    cached: float | None = None
    tools: bool = True
    images: bool = True


@dataclass(kw_only=True)
class DisciplineSettings:
    """What is done about actions out of order. `named`: rules with a level of their own; `phases`: see agent.phases."""

    __pydantic_config__ = _FORBID_UNKNOWN

    rules: Level = "remind"
    named: dict[str, Level] = field(default_factory=dict)
    phases: Guidance = "log"


@dataclass(kw_only=True)
class ModelSettings:
    """Models beside the main one, by role; "" leaves a role to the main one.

    fast: titles, summaries, messages; plan: plans, and what the main model cannot do; judge: opinions on work
    fallback: asked in this order when a model cannot be reached
    relay: `plan` leads each turn and comes back when things fail; the main model carries it out
    effort: how much a model is to think; "" leaves it to the provider
    catalog: window and prices of models by name, where ours are wrong or missing
    """

    __pydantic_config__ = _FORBID_UNKNOWN

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
    recent: tokens of the newest steps that stay whole; batch: tokens of steps that gather before they are folded
    """

    __pydantic_config__ = _FORBID_UNKNOWN

    summary: Literal["code", "model"] = "code"
    recent: int = DEFAULT_SHARES.recent
    batch: int = DEFAULT_SHARES.batch


@dataclass(kw_only=True)
class TerminalSettings:
    """The interactive session. `notify`: how it calls when it waits or is done after a while."""

    __pydantic_config__ = _FORBID_UNKNOWN

    theme: Literal["terminal", "dark", "light", "blue-orange", "mono"] = "terminal"
    editing: Literal["emacs", "vi"] = "emacs"
    notify: Literal["bell", "osc9", "off"] = "bell"
    plain: bool = False
    """Lines only, nothing redrawn: for screen readers."""
    keys: dict[str, list[str]] = field(default_factory=dict)
    """Keys by what they do (`patchwright config keys` lists both), such as `unfold = ["c-o", "f2"]`."""


@dataclass(kw_only=True)
class Settings:
    """All settings with their defaults; a file may give any part of them."""

    __pydantic_config__ = _FORBID_UNKNOWN

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
    """What `permissions` and the rules stored by "always" come to."""


FROM_ENVIRONMENT = {"PATCHWRIGHT_MODEL": "model", "PATCHWRIGHT_API_BASE": "api_base"}
FILE, PROJECT_FILE = "settings.toml", "patchwright.toml"
"""In the configuration folder, and at the top of a project."""

WORDS: Mapping[str, Callable[[str], Mode | Approval]] = {"mode": Mode, "approval": Approval}
"""Flags whose text stands for a word of ours."""

LEAST = {
    "max_steps": 1,
    "max_tokens": 1,
    "max_time": 0,
    "max_cost": 0,
    "shell_timeout": 1,
    "kernel_memory": 64,
    "tests.timeout": 1,
    "context.recent": 500,
    "context.batch": 1000,
}
"""The smallest sensible value of each number: less would stop every turn, or every command, before it starts."""

FROM_PROJECT = {"tests"}
"""What a repository may set: its test command runs in the sandbox like any command. It can name no model,
no URL, no mode: those would redirect or loosen something before the user trusts it."""


def load(
    home: Home, root: Path | None, flags: Mapping[str, Any], env: Mapping[str, str] = os.environ
) -> Settings:
    """Merge the layers, later ones winning. Raises UserError that names the file and the key."""
    user_file = home.config / FILE
    values = read_file(user_file)
    _check(values, user_file)
    if root is not None:
        project_file = root / PROJECT_FILE
        project = read_file(project_file)
        refused = sorted(set(project) - FROM_PROJECT)
        if refused:
            raise UserError(
                Fault.CONFIGURATION,
                f"{_place(project_file, refused[0])} sets {refused[0]!r}, which a project may not set",
                f"A project may set: {', '.join(sorted(FROM_PROJECT))}. Put the rest into {str(user_file)!r}.",
            )
        _check(project, project_file)
        values = {**values, **project}
    settings = _check(values, None)
    settings.rules = _rules(settings.permissions, user_file).allowing(stored_rules(home))
    for name, key in FROM_ENVIRONMENT.items():
        if env.get(name):
            setattr(settings, key, env[name])
    for key, value in flags.items():  # the command line has checked their types
        if key == "test_command":
            settings.tests.command = str(value)
        elif key == "plain":
            settings.terminal.plain = bool(value)
        else:
            setattr(settings, key, WORDS[key](value) if key in WORDS else value)
    _check_ranges(flags, Fault.USAGE, lambda key: f"--{key.replace('_', '-')}")
    return settings


STORED = "allowed-commands.txt"
"""In the configuration folder, beside the settings: a pattern a line, put there by "always", for anybody to edit.
A file of its own, so that no program rewrites what a person wrote."""


def stored_rules(home: Home) -> tuple[str, ...]:
    """The patterns of commands that the user said to allow always. Raises UserError."""
    path = home.config / STORED
    try:
        lines = path.read_text("utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(Fault.CONFIGURATION, f"cannot read {str(path)!r}: {error}") from None
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return tuple(_rule(RuleSettings(rule=f"shell({each})"), "allow", path).pattern for each in patterns)


def store_rules(home: Home, patterns: Sequence[str]) -> None:
    """Add patterns of commands to those that are always allowed. Raises UserError."""
    known = stored_rules(home)
    new = [each for each in patterns if each not in known and "\n" not in each]
    path = private_folder(home.config) / STORED
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{each}\n" for each in new)
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"cannot write {str(path)!r}: {error.strerror}") from None


def _rules(permissions: PermissionSettings, path: Path) -> Rules:
    found = []
    for verdict in VERDICTS:
        entries: list[str | RuleSettings] = getattr(permissions, verdict)
        for entry in entries:
            given = RuleSettings(rule=entry) if isinstance(entry, str) else entry
            found.append(_rule(given, verdict, path))
    return Rules(tuple(dict.fromkeys(found)))


def _rule(given: RuleSettings, verdict: Verdict, path: Path) -> Rule:
    try:
        rule = parse_rule(given.rule, verdict)
        check_examples(rule, given.match, given.no_match)
    except UserError as error:  # it knows the rule, not where that stands
        raise UserError(error.fault, f"{str(path)!r}: {error.message}", error.hint) from None
    return rule


def read_file(path: Path) -> dict[str, Any]:
    """What a TOML file holds; {} if there is none. Raises UserError."""
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"cannot read {str(path)!r}: {error.strerror}") from None
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} is not valid TOML: {error}") from None


def check_file(path: Path) -> None:
    """Raise UserError for the first thing that is wrong in a user's settings file."""
    _rules(_check(read_file(path), path).permissions, path)


def _check(values: Mapping[str, Any], path: Path | None) -> Settings:
    """Settings from a file's values. Without any, pydantic is not even imported (a third of a run's start)."""
    if not values:
        return Settings()
    from pydantic import TypeAdapter, ValidationError

    def where(key: str) -> str:
        return f" in {_place(path, key)}" if path else ""

    try:
        settings = TypeAdapter(Settings).validate_python(dict(values))
        flat = dict(vars(settings))
        for part in ("tests", "context"):
            flat |= {f"{part}.{key}": each for key, each in vars(getattr(settings, part)).items()}
        _check_ranges(flat, Fault.CONFIGURATION, lambda key: f"setting {key!r}{where(key)}")
        _check_formats(settings.edit.formats, where("edit.formats"))
        _check_rules(settings.discipline.named, where("discipline.named"))
        _check_keys(settings.terminal.keys, where)
        return settings
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "unexpected_keyword_argument":
        import difflib

        known = names()
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Settings: {', '.join(known)}."
        raise UserError(Fault.CONFIGURATION, f"unknown setting {key!r}{where(key)}", hint)
    raise UserError(
        Fault.CONFIGURATION, f"setting {key!r}{where(key)}: {first['msg']} (got {first.get('input')!r})"
    )


def names() -> list[str]:
    """All settings, as they are written with dots."""
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


def _check_keys(keys: Mapping[str, list[str]], where: Callable[[str], str]) -> None:
    """Keys can be bound only to what there is; whether there is such a key the terminal says."""
    from cli.repl.actions import ACTIONS

    for action in keys:
        if action not in ACTIONS:
            name = f"terminal.keys.{action}"
            raise UserError(
                Fault.CONFIGURATION,
                f"setting {name!r}{where(name)}: there is no such thing to bind keys to",
                f"There are: {', '.join(ACTIONS)}.",
            )


def _place(path: Path, key: str) -> str:
    """A file, and the line in it where a setting stands."""
    from cli.toml_lines import line_of

    try:
        line = line_of(path.read_text("utf-8"), key)
    except (OSError, UnicodeDecodeError):  # it has just been read, and is gone
        line = None
    return f"{str(path)!r}, line {line}" if line else f"{str(path)!r}"


def _check_formats(formats: list[Format] | None, where: str) -> None:
    """A model has to be able to make a file."""
    if formats is not None and not any(WAYS[each].creates for each in formats):
        creating = ", ".join(name for name, way in WAYS.items() if way.creates)
        raise UserError(
            Fault.CONFIGURATION,
            f"setting 'edit.formats'{where}: no new file can be written in {', '.join(formats) or 'none at all'}",
            f"Add one of {creating}.",
        )


def _check_rules(named: Mapping[str, Level], where: str) -> None:
    known = [rule.name for rule in RULES]
    for name in named:
        if name not in known:
            message = f"setting 'discipline.named'{where}: there is no rule {name!r}"
            raise UserError(Fault.CONFIGURATION, message, f"Rules: {', '.join(known)}.")


def _check_ranges(values: Mapping[str, Any], fault: Fault, called: Callable[[str], str]) -> None:
    for key, least in LEAST.items():
        value = values.get(key)
        if value is not None and not value >= least:  # so that "nan" is refused, too
            raise UserError(fault, f"{called(key)}: has to be {least} or more (got {value!r})")
