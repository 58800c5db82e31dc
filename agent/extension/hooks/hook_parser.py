"""Parser of files with hooks, in Claude Code's schema.

A hook that cannot run as it is written is never run in some other way: it is kept with the reason (`refusal`), is
reported, and denies what it was to guard.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from agent.extension.hooks.hook_definition import (
    CONDITION,
    DEFAULT_TIMEOUT,
    EVENTS,
    GUARDS,
    KINDS,
    LONGEST_TIMEOUT,
    HookDefinition,
    HookKind,
    matches_name,
)
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_unambiguous_table

_REMARKS = frozenset(("statusMessage", "description", "name", "id", "comment", "_comment", "$comment", "//"))
"""Fields that change nothing of what a hook does."""

_EVERY = frozenset(
    ("type", "timeout", "if", "once", "async", "asyncRewake", "onFailure", "dialect", "subject")
)
_FIELDS: Mapping[str, frozenset[str]] = {
    "command": _EVERY | {"command", "args", "shell"},
    "http": _EVERY | {"url", "headers", "allowedEnvVars"},
    "prompt": _EVERY | {"prompt", "model", "continueOnBlock"},
    "agent": _EVERY | {"prompt", "model"},
    "mcp_tool": _EVERY | {"server", "tool", "input"},
}
"""Fields of each kind of hook: https://code.claude.com/docs/en/hooks, 2026-11. `once` is for skills: a hook of a
session runs each time. `model`: that of the settings is asked. `dialect`, `subject`: ours, see `hook_dialect`."""

_OF_DIALECTS = frozenset(("dialect", "subject"))

_SEVERAL = compile_lazily(r"\)\s*(?:\|+|&+|[,;]|or|and)?\s*\w+\(")
"""Between two tools of a condition: each hook has one."""

_OF_TOOLS = ("PreToolUse", "PermissionRequest")
_BEFORE = frozenset(
    ("pre", "before", "permission", "permissions", "guard", "validate", "authorize", "approve")
)
_EVENT_WORDS = compile_lazily(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HARMLESS = frozenset(
    (
        *(
            "setup",
            "stopfailure",
            "posttoolbatch",
            "userpromptexpansion",
            "premodelswitch",
            "postmodelswitch",
        ),
        *("permissiondenied", "teammateidle", "taskcreated", "taskcompleted", "elicitation"),
        *("elicitationresult", "configchange", "instructionsloaded", "cwdchanged", "directoryadded"),
        *("messagedisplay", "userpromptsubmitted", "beforetoolselection", "beforetabfileread"),
    )
)
"""Events of Claude Code (2.1.332) and of others that guard no action, in small letters: their hooks are only named."""

_GROUP = frozenset(("matcher", "hooks"))
_FAILURES = (None, "block", "continue", "allow")


def parse_hooks(
    content: Mapping[str, Any], source: str, notices: list[str], *, is_project: bool, plugin: str = ""
) -> Iterator[HookDefinition]:
    """Yield the hooks of a file's content, also those that cannot run. These are told in notices, a line each."""
    for hook in _Parser(source, notices, is_project=is_project, plugin=plugin).parse(content):
        if hook.refusal:
            effect = ", and what it guards is denied" if hook.is_guard else ""
            notices.append(f"{source}: a hook of {hook.event} is not used{effect}: {hook.refusal}")
        yield hook


def parse_hook_file(
    content: bytes | None, source: str, notices: list[str], *, is_project: bool, plugin: str = ""
) -> list[HookDefinition]:
    """Return the hooks of a file, none if it is missing. One that is no JSON may have held a guard of all actions."""
    if content is None:
        return []
    table: Mapping[str, Any]
    try:
        table = parse_unambiguous_table(content)
    except ValueError as error:
        table = {"hooks": f"its file is not read as JSON: {error}"}
    return list(parse_hooks(table, source, notices, is_project=is_project, plugin=plugin))


def explain_unrun_guards(hooks: object) -> str:
    """Return why a file whose front matter has these hooks is not used: none of them would guard what it does."""
    guards = [
        each for each in _Parser("", [], is_project=True, plugin="").parse({"hooks": hooks}) if each.is_guard
    ]
    if not guards:
        return ""
    return (
        f"its `hooks` of {guards[0].event} would not run, and it may need them as guards: "
        "move them to agent-hooks.json, or remove them"
    )


class _Parser:
    def __init__(self, source: str, notices: list[str], *, is_project: bool, plugin: str) -> None:
        self._source = source
        self._notices = notices
        self._is_project = is_project
        self._plugin = plugin

    def parse(self, content: Mapping[str, Any]) -> Iterator[HookDefinition]:
        table = content.get("hooks")
        if content.get("disableAllHooks") is True:
            return
        if table is None:
            for name in content:
                if name != "hooks" and name.casefold().strip() in ("hooks", "hook"):
                    yield self.refuse(GUARDS[0], f"it is in {name!r}, and not in `hooks`")
            for event in filter(content.__contains__, EVENTS):
                yield self.refuse(event, "the event is outside of `hooks`")
            return
        if not isinstance(table, dict):
            reason = table if isinstance(table, str) else "`hooks` is no table of events"
            yield self.refuse(GUARDS[0], reason)
            return
        for event, groups in table.items():
            if event not in EVENTS and _get_letters(event) in _HARMLESS:
                self._notices.append(
                    f"{self._source}: hooks of {event!r} are not used: there is no such event here"
                )
            elif event not in EVENTS and (guard := _find_meant_guard(event)):
                yield self.refuse(guard, f"there is no event {event!r} here; {guard} may be meant")
            elif event not in EVENTS:
                self._notices.append(
                    f"{self._source}: hooks of {event!r} are not used: there is no such event here"
                )
            elif not isinstance(groups, list):
                yield self.refuse(event, f"`{event}` is no list")
            else:
                for group in groups:
                    yield from self._parse_group(event, group)

    def refuse(
        self, event: str, reason: str, *, matcher: str = "", runs: str = "", is_async: bool = False
    ) -> HookDefinition:
        """Return a hook that only denies what it would have guarded."""
        return HookDefinition(
            event=event,
            kind="command",
            runs=runs,
            matcher=matcher,
            is_async=is_async,
            source=self._source,
            is_project=self._is_project,
            plugin=self._plugin,
            refusal=reason,
        )

    def _parse_group(self, event: str, group: object) -> Iterator[HookDefinition]:
        if not isinstance(group, dict):
            yield self.refuse(event, f"{group!r} is no table")
            return
        matcher, problem = group.get("matcher") or "", ""
        try:
            re.compile(matcher if matcher != "*" else "")
        except (re.error, TypeError) as error:
            matcher, problem = "", f"its matcher {matcher!r} is no regular expression: {error}"
        if event in _OF_TOOLS and not problem and isinstance(matcher, str) and _misses_tools(matcher):
            matcher, problem = "", f"its matcher {matcher!r} fits no tool"
        entries = group.get("hooks")
        if not isinstance(entries, list):
            yield self.refuse(event, "it is in no list `hooks`", matcher=matcher)
            return
        problem = problem or _explain_unknown(group, _GROUP)
        for entry in entries:
            yield self._parse_entry(event, matcher, entry, problem)

    def _parse_entry(self, event: str, matcher: str, entry: object, problem: str) -> HookDefinition:
        if not isinstance(entry, dict):
            return self.refuse(event, f"{entry!r} is no table", matcher=matcher)
        kind = entry.get("type", "command")
        is_async = entry.get("async") is True or entry.get("asyncRewake") is True
        try:
            if problem:
                raise ValueError(problem)
            return self._build_hook(event, matcher, entry, _read_kind(kind), is_async=is_async)
        except ValueError as error:
            shown = entry.get(KINDS.get(kind, "") if isinstance(kind, str) else "")
            return self.refuse(
                event,
                str(error),
                matcher=matcher,
                runs=shown if isinstance(shown, str) else "",
                is_async=is_async,
            )

    def _build_hook(
        self, event: str, matcher: str, entry: Mapping[str, Any], kind: HookKind, *, is_async: bool
    ) -> HookDefinition:
        if problem := _explain_unknown(entry, _FIELDS[kind]):
            raise ValueError(problem)
        runs = entry.get(KINDS[kind])
        if not isinstance(runs, str) or not runs.strip():
            raise ValueError(f"it has no `{KINDS[kind]}`")
        timeout = entry.get("timeout", DEFAULT_TIMEOUT)
        if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
            raise ValueError(f"its timeout {timeout!r} is no number of seconds")
        condition = entry.get("if") or ""
        if not isinstance(condition, str) or not _is_condition(condition):
            raise ValueError(f"its `if` {condition!r} is no tool with words in parentheses")
        dialect, subject = _read_dialect(event, entry) if entry.keys() & _OF_DIALECTS else ("", "")
        failure = entry.get("onFailure")
        if failure not in _FAILURES:
            raise ValueError(f"its onFailure {failure!r} is none of block, continue, allow")
        headers = entry.get("headers") or {}
        if not isinstance(headers, dict) or not all(map(_is_header, headers.items())):
            raise ValueError("its `headers` are no table of texts of one line")
        variables = _read_texts(entry, "allowedEnvVars")
        args = _read_texts(entry, "args")
        if kind == "command":
            _check_command(runs, args, entry.get("shell"))
        elif kind == "http":
            _check_address(runs.strip(), is_project=self._is_project)
        elif kind == "mcp_tool" and self._is_project:
            raise ValueError("a server is called for your own hooks only")
        server, tool_input = entry.get("server") or "", entry.get("input") or {}
        if kind == "mcp_tool" and not (isinstance(server, str) and server and isinstance(tool_input, dict)):
            raise ValueError("it has no `server`, or an `input` that is no table")
        return HookDefinition(
            event=event,
            kind=kind,
            runs=runs.strip(),
            matcher=matcher,
            timeout=min(float(timeout), LONGEST_TIMEOUT),
            condition=condition,
            is_async=is_async,
            is_strict=failure == "block",
            headers={str(key): str(each) for key, each in headers.items()},
            source=self._source,
            is_project=self._is_project,
            plugin=self._plugin,
            args=args,
            header_variables=frozenset(variables or ()) if kind == "http" else None,
            wakes_model=entry.get("asyncRewake") is True,
            continues_on_block=entry.get("continueOnBlock") is True,
            server=server if kind == "mcp_tool" else "",
            tool_input=tool_input if kind == "mcp_tool" else {},
            dialect=dialect,
            subject=subject,
        )


def _find_meant_guard(event: str) -> str:
    """Return the guard that an unknown event stands for in other spellings or tools (`preToolUse`, `BeforeTool`,
    `tool.execute.before`); "" for none."""
    letters = _get_letters(event)
    if exact := next((each for each in EVENTS if letters == each.casefold()), ""):
        return exact
    words = [each.casefold() for each in _EVENT_WORDS.findall(event)]
    if "prompt" in words:
        return "UserPromptSubmit"
    is_before = letters.startswith(("pre", "before")) or not _BEFORE.isdisjoint(words)
    return GUARDS[0] if is_before else ""


def _get_letters(event: str) -> str:
    return re.sub(r"[^a-z]", "", event.casefold())


def _misses_tools(matcher: str) -> bool:
    """Return whether a matcher names a tool in words that fit none, such as `Bash(git push)` or `Edit;Write`."""
    from tools.core.tool_names import FOREIGN_TOOLS

    names = [name for each in FOREIGN_TOOLS for name in (*each.names, *each.ours)]
    if matches_name(matcher, names):
        return False
    words = {each.casefold() for each in re.findall(r"\w+", matcher)}
    return not words.isdisjoint(map(str.casefold, names))


def _read_kind(kind: object) -> HookKind:
    match kind:
        case "command" | "http" | "prompt" | "agent" | "mcp_tool":
            return kind
        case _:
            raise ValueError(f"its type {kind!r} is none of {', '.join(KINDS)}")


def _read_dialect(event: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the format that a hook was written for, and the pattern of its own text."""
    dialect, subject = entry.get("dialect", ""), entry.get("subject", "")
    if not isinstance(dialect, str) or not isinstance(subject, str) or (subject and not dialect):
        raise ValueError("its `dialect` or `subject` is no text")
    if not dialect:
        return "", ""
    from agent.extension.hooks.hook_dialect import find_dialect

    if (meant := find_dialect(dialect)[1]["event"]) != event:
        raise ValueError(f"its dialect {dialect!r} is one of {meant}")
    try:
        re.compile(subject)
    except re.error as error:
        raise ValueError(f"its `subject` {subject!r} is no regular expression: {error}") from None
    return dialect, subject


def _is_condition(text: str) -> bool:
    return not text or (CONDITION.fullmatch(text) is not None and not _SEVERAL.search(text))


def _check_command(runs: str, args: tuple[str, ...] | None, shell: object) -> None:
    """Raise ValueError for a command that would not be the one that its file means."""
    from sandbox.policy.stdin_programs import find_stdin_interpreter

    if "\0" in "".join((runs, *(args or ()))):
        raise ValueError("it holds a NUL, which no program can be given")
    if args is None and shell not in (None, "bash"):
        raise ValueError(f"its shell {shell!r} is not bash")
    line = runs if args is None else shlex.join((runs.strip(), *args))
    if name := find_stdin_interpreter(line):
        raise ValueError(f"{name!r} is given no program, so it would run the input of the hook as one")


def _check_address(url: str, *, is_project: bool) -> None:
    if is_project:
        raise ValueError("an address is called for your own hooks only")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or not url.isprintable() or " " in url:
        raise ValueError(f"its url {url!r} is no address of http or https")


def _is_header(entry: tuple[object, object]) -> bool:
    return all(isinstance(each, str | int | float) and str(each).isprintable() for each in entry)


def _explain_unknown(entry: Mapping[str, Any], known: frozenset[str]) -> str:
    unknown = sorted(str(key) for key in entry if key not in known and key not in _REMARKS)
    return f"its field {unknown[0]!r} is not known" if unknown else ""


def _read_texts(entry: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    found = entry.get(name)
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"its `{name}` is no list of texts")
    return tuple(found)
