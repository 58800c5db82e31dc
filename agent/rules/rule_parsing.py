"""Rules from the tables of a settings file: typed, checked one by one, and free of contradictions."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from agent.rules.contradictions import find_contradiction
from agent.rules.order_rules import list_tool_names, parse_order
from agent.rules.rule_kinds import (
    KINDS,
    CommandsRule,
    DiffRule,
    FreezeRule,
    ImportsRule,
    OrderRule,
    ProtectRule,
    TestsRule,
    UserRule,
)
from agent.session_settings import NamedRule
from sandbox.errors import Fault, UserError
from sandbox.policy.rules import explain_empty_pattern


def parse_rules(tables: Sequence[Mapping[str, Any]], source: str) -> tuple[UserRule, ...]:
    """Return the rules of one file. Raises UserError for the first wrong one. source: the file"""
    return tuple(_parse_rule(table, number, source) for number, table in enumerate(tables, 1))


def restore_rules(tables: Sequence[Mapping[str, Any]]) -> tuple[NamedRule, ...]:
    """Return rules that were checked before, from their fields. Raises ValueError."""
    from pydantic import TypeAdapter

    from agent.rules.prompt_rule import PromptRule

    kinds: Mapping[str, type[NamedRule]] = {**KINDS, "prompt": PromptRule}
    return tuple(TypeAdapter(kinds[str(table["kind"])]).validate_python(dict(table)) for table in tables)


def check_rules(rules: Sequence[UserRule]) -> tuple[UserRule, ...]:
    """Return the rules of all files. Raises UserError for two of one name, or that contradict each other."""
    known: dict[str, UserRule] = {}
    for rule in rules:
        if (other := known.setdefault(rule.name, rule)) is not rule:
            places = " and ".join(dict.fromkeys((other.source, rule.source)))
            raise UserError(
                Fault.CONFIGURATION,
                f"two rules are called {rule.name!r}: {places}",
                "Give each a name of its own.",
            )
    if found := find_contradiction(rules, list_tool_names()):
        raise UserError(
            Fault.CONFIGURATION,
            f"rules contradict each other: {found}",
            "Change or remove one of them. All rules: patchwright rules",
        )
    return tuple(rules)


def _parse_rule(table: Mapping[str, Any], number: int, source: str) -> UserRule:
    from pydantic import TypeAdapter, ValidationError

    called = f"rule {str(table.get('name') or number)!r} in {source}"
    kind = KINDS.get(str(table.get("kind")))
    if kind is None:
        near = difflib.get_close_matches(str(table.get("kind")), KINDS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Kinds: {', '.join(KINDS)}."
        raise _build_error(called, f"there is no kind {table.get('kind')!r}", hint)
    known = [each.name for each in fields(kind) if each.name != "source"]
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Fields: {', '.join(known)}."
            raise _build_error(called, f"a rule of kind {table['kind']!r} has no field {key!r}", hint)
    try:
        rule: UserRule = TypeAdapter(kind).validate_python(dict(table))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        if first["type"] in ("missing", "missing_argument", "missing_keyword_only_argument"):
            raise _build_error(called, f"{place!r} is missing") from None
        raise _build_error(called, f"{place!r}: {first['msg']} (got {first.get('input')!r})") from None
    if problem := _find_problem(rule):
        raise _build_error(called, problem)
    return replace(rule, source=source)


def _build_error(called: str, problem: str, hint: str = "See docs/rules.md for every kind.") -> UserError:
    return UserError(Fault.CONFIGURATION, f"{called}: {problem}", hint)


def _find_problem(rule: UserRule) -> str:
    """Return what is wrong with the content of a rule, "" if nothing is."""
    if not rule.name.strip():
        return "its name is empty"
    match rule:
        case OrderRule():
            try:
                parse_order(rule, list_tool_names())
            except ValueError as error:
                return str(error)
        case ProtectRule():
            return _check_names("paths", rule.paths) or _check_globs(rule.paths)
        case ImportsRule():
            bad = [each for each in rule.modules if not all(part.isidentifier() for part in each.split("."))]
            return (
                _check_names("modules", rule.modules)
                or (f"{bad[0]!r} is no name of a module" if bad else "")
                or _check_globs(rule.paths)
            )
        case CommandsRule():
            everything = [each for each in rule.commands if not each.split()[:1] or not each.strip("*?: ")]
            return _check_names("commands", rule.commands) or (
                f"{everything[0]!r} would forbid every command: remove the tool instead, by --mode read-only"
                if everything
                else ""
            )
        case DiffRule():
            limits = [each for each in (rule.max_lines, rule.max_files) if each is not None]
            if not limits:
                return "it needs `max_lines` or `max_files`"
            if min(limits) < 1:
                return f"a limit of {min(limits)} allows no change at all: it has to be 1 or more"
            return _check_globs(rule.paths)
        case FreezeRule():
            return _check_globs(rule.paths)
        case TestsRule():
            if not rule.tests and not rule.command.strip():
                return "it needs `tests` or a `command`"
    return ""


def _check_names(field: str, names: Sequence[str]) -> str:
    if not names or not all(each.strip() for each in names):
        return f"`{field}` is empty"
    return ""


def _check_globs(patterns: Sequence[str]) -> str:
    for each in patterns:
        if not each.strip():
            return f"{each!r} is no path"
        if reason := explain_empty_pattern("edit", each.strip()):
            return f"{each!r} {reason[0]}: {reason[1]}"
    return ""
