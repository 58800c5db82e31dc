"""Kinds of rules that a user can write, as data. A rule restricts: none grants anything.

The order of actions is specified in temporal logic (Crouse et al., "Formally Specifying the High-Level Behavior of
LLM-Based Agents", 2023, arXiv 2310.08535); the other kinds are invariants that code checks, not a model
("Harness as an Asset: Enforcing Determinism via the Convergent AI Agent Framework").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Literal

from agent.session_settings import NamedRule
from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

Level = Literal["remind", "ask", "refuse"]
"""Answer to an action that breaks a rule: the model is told, a person decides, or it does not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBase(NamedRule):
    """Fields of every rule.

    name: unique; message: for the model, in addition to the reason; source: file that has the rule
    """

    __pydantic_config__ = FORBID_UNKNOWN

    name: str
    message: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRule(RuleBase):
    """An order of events, in one of three forms (see agent/rules/event_pattern.py for events).

    `before` only if `need` has happened, and `since` not after it; `never` once `after` has happened, until
    `until`; or either as `text`: "git_commit needs tests-passed since edit", "never shell(git push *) after edit".
    """

    kind: Literal["order"] = "order"
    before: str = ""
    need: str = ""
    since: str = ""
    never: str = ""
    after: str = ""
    until: str = ""
    text: str = ""
    level: Level = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectRule(RuleBase):
    """Files (globs as in permissions) that are not changed. access "read": nor read"""

    kind: Literal["protect"] = "protect"
    paths: list[str]
    access: Literal["write", "read"] = "write"
    level: Level = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportsRule(RuleBase):
    """Modules that changed Python files do not begin to import. paths: where; everywhere if empty"""

    kind: Literal["imports"] = "imports"
    modules: list[str]
    paths: list[str] = field(default_factory=list)
    level: Literal["remind", "refuse"] = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandsRule(RuleBase):
    """Commands that are not run: patterns as in permissions, `git push *`."""

    kind: Literal["commands"] = "commands"
    commands: list[str]
    level: Level = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRule(RuleBase):
    """Greatest size of a turn's diff. max_lines: added and removed ones; paths: the files that count, all if empty"""

    kind: Literal["diff"] = "diff"
    max_lines: int | None = None
    max_files: int | None = None
    paths: list[str] = field(default_factory=list)
    level: Literal["remind", "refuse"] = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeRule(RuleBase):
    """Changed files that do not change again once the whole suite has passed on them, unless a person allows it."""

    kind: Literal["freeze"] = "freeze"
    paths: list[str] = field(default_factory=list)
    level: Level = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsRule(RuleBase):
    """Tests (ids or paths for `run_tests`) and a command that have to pass at the end of a turn that changed files."""

    kind: Literal["tests"] = "tests"
    tests: list[str] = field(default_factory=list)
    command: str = ""


UserRule = OrderRule | ProtectRule | ImportsRule | CommandsRule | DiffRule | FreezeRule | TestsRule

KINDS: Mapping[str, type[UserRule]] = {
    "order": OrderRule,
    "protect": ProtectRule,
    "imports": ImportsRule,
    "commands": CommandsRule,
    "diff": DiffRule,
    "freeze": FreezeRule,
    "tests": TestsRule,
}


def select_known(rules: Iterable[NamedRule]) -> list[UserRule]:
    """Return the rules of settings with their types."""
    return [rule for rule in rules if isinstance(rule, UserRule)]


def get_level(rule: UserRule) -> Level:
    """Return the level of a rule; tests that have to pass have none of their own."""
    return "refuse" if isinstance(rule, TestsRule) else rule.level


def format_rule(rule: UserRule) -> str:
    """Return the content of a rule as one line for a person."""
    match rule:
        case OrderRule():
            return format_order(rule)
        case ProtectRule():
            return f"{'neither read nor change' if rule.access == 'read' else 'do not change'} {_join(rule.paths)}"
        case ImportsRule():
            return f"do not import {_join(rule.modules)}{_format_scope(rule.paths)}"
        case CommandsRule():
            return f"do not run {_join(rule.commands)}"
        case DiffRule():
            limits = [
                f"at most {number} {unit}"
                for number, unit in ((rule.max_lines, "changed lines"), (rule.max_files, "changed files"))
                if number is not None
            ]
            return f"{' and '.join(limits)} in a turn{_format_scope(rule.paths)}"
        case FreezeRule():
            return f"do not change again what has passed the tests{_format_scope(rule.paths)}"
        case TestsRule():
            parts = [*rule.tests, *([f"`{rule.command}`"] if rule.command else [])]
            return f"must pass: {_join(parts)}"


def format_order(rule: OrderRule) -> str:
    """Return an order rule in its text form."""
    if rule.text:
        return " ".join(rule.text.split())
    if rule.never:
        return f"never {rule.never} after {rule.after}" + (f" until {rule.until}" if rule.until else "")
    return f"{rule.before} needs {rule.need}" + (f" since {rule.since}" if rule.since else "")


def _format_scope(paths: list[str]) -> str:
    return f" in {_join(paths)}" if paths else ""


def _join(names: list[str]) -> str:
    return ", ".join(names)
