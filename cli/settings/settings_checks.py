"""Validation of settings: types, ranges, and known names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.model.model_settings import RateLimitSettings
from agent.session_settings import Level
from cli.settings.permission_rules import build_rules
from cli.settings.settings_files import locate_setting, read_settings_file
from cli.settings.settings_types import (
    KEYS,
    Settings,
    build_file_type,
    get_setting,
    list_setting_names,
    replace_setting,
)
from sandbox.errors import Fault, UserError
from tools.core.tool_settings import Format
from tools.mcp.server_settings import ServerSetting, check_server
from tools.web.web_settings import WebSettings

if TYPE_CHECKING:
    from pydantic import TypeAdapter

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
    "strategy.attempts": 1,
    "agents.parallel": 1,
    "agents.most": 1,
    "agents.max_steps": 1,
    "skills.budget": 0,
    "memory.budget": 0,
    "snapshots.days": 1,
    "snapshots.megabytes": 1,
    "terminal.pause": 0,
}
"""Smallest sensible value of each number: less would stop every turn, or every command, before it starts."""


def check_file(path: Path) -> None:
    """Raise UserError for the first error in a user's settings file."""
    settings = check_values(read_settings_file(path), path)
    build_rules(settings.permissions, path)
    if settings.rules:
        from agent.rules.rule_parsing import check_rules, parse_rules

        check_rules(parse_rules(settings.rules, repr(str(path))))


def check_values(values: Mapping[str, Any], path: Path | None) -> Settings:
    """Return settings from a file's values. Without any, pydantic is not imported (a third of a run's start)."""
    if not values:
        return Settings()
    from pydantic import ValidationError

    from cli.settings.footer_template import check_template
    from sandbox.view.visible_paths import resolve_visible_paths

    def format_place(key: str) -> str:
        return f" in {locate_setting(path, key)}" if path else ""

    try:
        given: Any = _build_adapter().validate_python(dict(values))
        settings = Settings()
        for key in KEYS:
            if key in values:
                settings = replace_setting(settings, key, getattr(given, key))
        numbers = {key: get_setting(settings, key) for key in LEAST}
        check_ranges(numbers, Fault.CONFIGURATION, lambda key: f"setting {key!r}{format_place(key)}")
        session = settings.session
        _check_formats(session.tools.edit.formats, format_place("edit.formats"))
        _check_rules(session.discipline.named, format_place("discipline.named"))
        _check_strategy(session.strategy.name, format_place("strategy.name"))
        _check_budget(session.strategy.budget, format_place("strategy.budget"))
        _check_keys(settings.terminal.keys, format_place)
        check_template(
            settings.terminal.footer, f"setting 'terminal.footer'{format_place('terminal.footer')}"
        )
        _check_servers(session.tools.language_servers, format_place)
        _check_mcp(session.tools.mcp, format_place)
        _check_web(session.tools.web, format_place)
        _check_rate_limits(session.models.limits, format_place)
        resolve_visible_paths(session.access.visible_paths)
        return settings
    except ValidationError as error:
        first = _choose_error(error.errors(include_url=False))
    key = ".".join(str(part) for part in first["loc"] if part != "str" and not str(part).endswith("Settings"))
    if first["type"] == "unexpected_keyword_argument":
        import difflib

        known = list_setting_names()
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Settings: {', '.join(known)}."
        raise UserError(Fault.CONFIGURATION, f"unknown setting {key!r}{format_place(key)}", hint)
    raise UserError(
        Fault.CONFIGURATION,
        f"setting {key!r}{format_place(key)}: {first['msg']} (got {first.get('input')!r})",
    )


@cache
def _build_adapter() -> TypeAdapter[Any]:
    """Return the validator of settings files. Once per process: building it takes as long as ten files."""
    from pydantic import TypeAdapter

    return TypeAdapter(build_file_type())


def _choose_error(errors: Sequence[Any]) -> Any:
    """Return the error to report: of a value that may be a text or a table, the one about the table that it is."""
    inside = (each for each in errors if each["type"] != "string_type" or not isinstance(each["input"], dict))
    return next(inside, errors[0])


def _check_servers(servers: Mapping[str, str], where: Callable[[str], str]) -> None:
    """Raise UserError for a language server of an unknown language, or with an invalid command line."""
    from tools.code.languages import LANGUAGES

    known = sorted({each.name for each in LANGUAGES})
    for language, command in servers.items():
        name = f"language_servers.{language}"
        if language not in known:
            raise UserError(
                Fault.CONFIGURATION,
                f"setting {name!r}{where(name)}: there is no such language",
                f"There are: {', '.join(known)}.",
            )
        _check_command(name, command, where)


def _check_mcp(servers: Mapping[str, ServerSetting], where: Callable[[str], str]) -> None:
    """Raise UserError for an invalid server name: it becomes a part of its tools' names."""
    for server, setting in servers.items():
        name = f"mcp.{server}"
        if not server.replace("-", "").replace("_", "").isalnum() or not server.isascii():
            raise UserError(
                Fault.CONFIGURATION,
                f"setting {name!r}{where(name)}: a server's name has letters, digits, - and _ only",
            )
        try:
            check_server(setting)
        except ValueError as error:
            raise UserError(Fault.CONFIGURATION, f"setting {name!r}{where(name)}: {error}") from None


def _check_web(web: WebSettings, where: Callable[[str], str]) -> None:
    """Raise UserError for a search engine without an address, or a server's tool without its name."""
    if web.search == "mcp" and not all(web.search_tool.partition(".")):
        name, problem = "web.search_tool", "name the server and its tool, as search.find"
    elif web.search == "searxng" and not web.search_url:
        name, problem = "web.search_url", "name the address of your SearXNG, as https://search.example"
    elif web.search_url and not web.search_url.startswith(("https://", "http://")):
        name, problem = "web.search_url", "it begins with https:// or http://"
    else:
        return
    raise UserError(Fault.CONFIGURATION, f"setting {name!r}{where(name)}: {problem}")


def _check_rate_limits(limits: Mapping[str, RateLimitSettings], where: Callable[[str], str]) -> None:
    """Raise UserError for a limit that lets nothing go, or limits nothing."""
    for name, limit in limits.items():
        for kind, most in (("calls", limit.calls), ("tokens", limit.tokens)):
            if most is not None and most < 1:
                key = f"models.limits.{name}.{kind}"
                message = f"setting {key!r}{where(key)}: has to be 1 or more (got {most!r})"
                raise UserError(Fault.CONFIGURATION, message)
        if limit.calls is None and limit.tokens is None:
            key = f"models.limits.{name}"
            message = f"setting {key!r}{where(key)}: it limits nothing"
            raise UserError(Fault.CONFIGURATION, message, "Give calls = N or tokens = N, each a minute.")


def _check_command(name: str, command: str, where: Callable[[str], str]) -> None:
    """Raise UserError if a command line cannot be split into words."""
    from sandbox.process.command_line import parse_command_line

    try:
        parse_command_line(command)
    except ValueError as error:
        raise UserError(Fault.CONFIGURATION, f"setting {name!r}{where(name)}: {error}") from None


def _check_keys(keys: Mapping[str, list[str]], where: Callable[[str], str]) -> None:
    """Raise UserError for keys bound to an unknown action; invalid keys are reported by the terminal."""
    from cli.settings.key_actions import ACTIONS

    for action in keys:
        if action not in ACTIONS:
            name = f"terminal.keys.{action}"
            raise UserError(
                Fault.CONFIGURATION,
                f"setting {name!r}{where(name)}: there is no such action",
                f"There are: {', '.join(ACTIONS)}.",
            )


def _check_formats(formats: list[Format] | None, where: str) -> None:
    """Raise UserError if no edit format can create a file."""
    from tools.edit.format_registry import WAYS

    if formats is not None and not any(WAYS[each].creates for each in formats):
        creating = ", ".join(name for name, way in WAYS.items() if way.creates)
        raise UserError(
            Fault.CONFIGURATION,
            f"setting 'edit.formats'{where}: no new file can be written in {', '.join(formats) or 'none at all'}",
            f"Add one of {creating}.",
        )


def _check_rules(named: Mapping[str, Level], where: str) -> None:
    from agent.monitor.workflow_rules import RULES

    known = [rule.name for rule in RULES]
    for name in named:
        if name not in known:
            message = f"setting 'discipline.named'{where}: there is no rule {name!r}"
            raise UserError(Fault.CONFIGURATION, message, f"Rules: {', '.join(known)}.")


def _check_budget(text: str, where: str) -> None:
    """Raise UserError for a text that is no budget. where: its place, for the message"""
    from agent.budget.budget_text import FORMS, parse_budget

    try:
        parse_budget(text)
    except ValueError as error:
        message = f"setting 'strategy.budget'{where}: no budget: {error}"
        raise UserError(Fault.CONFIGURATION, message, f"It is like this: {FORMS}") from None


def _check_strategy(name: str, where: str) -> None:
    from agent.strategy.strategy_table import is_known_strategy, read_strategies

    if not is_known_strategy(name):
        message = f"setting 'strategy.name'{where}: there is no strategy {name!r}"
        raise UserError(Fault.CONFIGURATION, message, f"Strategies: {', '.join(read_strategies())}.")


def check_ranges(values: Mapping[str, Any], fault: Fault, called: Callable[[str], str]) -> None:
    for key, least in LEAST.items():
        value = values.get(key)
        if value is not None and not value >= least:  # also refuses "nan"
            raise UserError(fault, f"{called(key)}: has to be {least} or more (got {value!r})")
