"""Hooks of other agents as ours: Claude Code's as they are, others with the format that they were written in."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packages.setup.importing.import_plan import ImportPlan

FILE = "agent-hooks.json"


def add_hooks(plan: ImportPlan, content: Mapping[str, Any], source: str) -> None:
    """Take the hooks of a file, unless it switches them off; each is shown with what it runs."""
    from agent.extension.hooks.hook_definition import EVENTS
    from agent.extension.hooks.hook_parser import parse_hooks

    hooks = content.get("hooks")
    if not hooks:
        return
    if content.get("disableAllHooks", False) is not False:
        plan.left.append(f"{source}: hooks: they are switched off by `disableAllHooks`")
    elif not isinstance(hooks, dict):
        plan.left.append(f"{source}: hooks: they are no table of events")
    else:
        found = parse_hooks(content, source, plan.left, is_project=False)
        plan.shown += [f"{each.label}: {each.shown}" for each in found if not each.refusal]
        before = json.loads(plan.files.get(FILE, b'{"hooks": {}}'))["hooks"]
        for event, each in hooks.items():
            if event in EVENTS and isinstance(each, list) and isinstance(before.get(event, []), list):
                before[event] = [*before.get(event, []), *each]
            elif event in EVENTS:
                before[event] = each
        plan.files[FILE] = f"{json.dumps({'hooks': before}, indent=2, ensure_ascii=False)}\n".encode()


def add_foreign_hooks(
    plan: ImportPlan, agent: str, content: Mapping[str, Any], source: str, folder: Path
) -> None:
    """Take hooks that another agent's format writes: a table of events, or a list of hooks with their events.

    folder: of the agent's files, in which some run hooks of the user
    """
    hooks = content.get("hooks")
    if isinstance(hooks, list):
        by_event: dict[str, list[Any]] = {}
        for each in hooks:
            event = each.get("event", each.get("type")) if isinstance(each, dict) else None
            by_event.setdefault(str(event), []).append(each)
        hooks = by_event
    if not isinstance(hooks, dict):
        add_hooks(plan, content, source)
        return
    converter = _Converter(plan, agent, source, folder)
    found: dict[str, list[Any]] = {}
    for event, entries in hooks.items():
        ours = converter.find_event(str(event))
        if ours is not None:
            found.setdefault(ours, []).extend(converter.convert(str(event), entries))
    add_hooks(plan, {**content, "hooks": found}, source)


class _Converter:
    def __init__(self, plan: ImportPlan, agent: str, source: str, folder: Path) -> None:
        from agent.extension.hooks.hook_dialect import load_dialects

        self._plan = plan
        self._agent = agent
        self._source = source
        self._folder = folder
        self._dialect = load_dialects()[agent]
        self._events: Mapping[str, Mapping[str, Any]] = self._dialect["events"]
        self._letters = {_get_letters(each): each for each in self._events}

    def find_event(self, event: str) -> str | None:
        """Return our event for one of the other agent's, None for one that is not taken, which is told."""
        if (theirs := self._get_event(event)) is not None:
            return str(self._events[theirs]["event"])
        reason = self._dialect.get("unused", {}).get(event, "there is no such event here")
        self._plan.left.append(f"{self._source}: hooks of {event!r} are not used: {reason}")
        return None

    def _get_event(self, event: str) -> str | None:
        """Return an event as the table spells it; Crush takes any spelling."""
        return event if event in self._events else self._letters.get(_get_letters(event))

    def convert(self, event: str, entries: object) -> Iterator[dict[str, Any]]:
        """Yield groups of Claude Code's format. What is not understood stays as it is: its parser refuses it."""
        theirs = self._get_event(event) or event
        rule = self._events[theirs]
        for entry in entries if isinstance(entries, list) else [entries]:
            if not isinstance(entry, dict):
                yield {"hooks": [entry]}
                continue
            inner = entry.get("hooks")
            group = entry if isinstance(inner, list) else {}
            for hook in inner if isinstance(inner, list) else [entry]:
                converted = self._convert_hook(theirs, rule, hook) if isinstance(hook, dict) else hook
                matcher = (
                    converted.pop("matcher", group.get("matcher")) if isinstance(converted, dict) else ""
                )
                matcher = _convert_globs(matcher) if rule.get("globs") else matcher
                if rule.get("subject") and matcher and isinstance(converted, dict):
                    converted["subject"] = matcher
                    matcher = None
                unknown = {
                    key: each
                    for key, each in group.items()
                    if key not in ("matcher", "hooks") and self._dialect.get("fields", {}).get(key) != ""
                }
                matcher = rule.get("matcher") or matcher
                yield {**unknown, **({"matcher": matcher} if matcher else {}), "hooks": [converted]}

    def _convert_hook(self, event: str, rule: Mapping[str, Any], hook: Mapping[str, Any]) -> dict[str, Any]:
        fields, factor = self._dialect.get("fields", {}), self._dialect["timeout"]
        given = {key: each for key, each in hook.items() if not (key == "type" and each == event)}
        found: dict[str, Any] = {}
        for key in sorted(given, key=lambda each: each in fields):  # a renamed field counts more
            ours = fields.get(key, key)
            if ours == "" or ours == "event":
                continue
            found[ours] = given[key]
        kind = found.setdefault("type", "command")
        if kind not in self._dialect.get("kinds", ["command"]):
            found["type"] = f"{kind} of {self._dialect['title']}"
        timeout = found.get("timeout")
        if isinstance(timeout, int | float) and not isinstance(timeout, bool):
            # Qwen Code counts milliseconds for commands and seconds for addresses
            found["timeout"] = round(timeout * (1 if kind == "http" else factor), 3)
        if found.get("onFailure") is True or event in self._dialect.get("strict", ()):
            found["onFailure"] = "block"
        elif found.get("onFailure") is False:
            del found["onFailure"]
        if rule.get("silent"):
            found["async"] = True
        self._add_surroundings(found)
        return {**found, "dialect": f"{self._agent} {event}"}

    def _add_surroundings(self, found: dict[str, Any]) -> None:
        """Write a hook's folder and variables into its command line. Those of a program without a shell stay."""
        command, env, cwd = found.get("command"), found.get("env"), found.get("cwd")
        if not isinstance(command, str) or "args" in found:
            return
        if isinstance(env, dict) and all(map(str.isidentifier, map(str, env))):
            texts = (f"export {name}={_quote(str(value))}; " for name, value in found.pop("env").items())
            command = "".join([*texts, command])
        if isinstance(cwd, str) and cwd:
            command = f"cd -- {_quote(found.pop('cwd'))} && {command}"
        elif self._dialect.get("runs_in") == "home":
            command = f"cd -- {shlex.quote(str(self._folder))} && {command}"
        found["command"] = command


def _quote(text: str) -> str:
    """Quote a word of a shell in which variables are filled in, and no commands."""
    if "$" not in text or "$(" in text or "`" in text:
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _convert_globs(matcher: object) -> object:
    """Return a pattern of names as a regular expression; one after `re:` is one."""
    if not isinstance(matcher, str) or not matcher:
        return matcher
    return matcher[3:] if matcher.startswith("re:") else f"^{fnmatch.translate(matcher)}"


def _get_letters(event: str) -> str:
    return re.sub(r"[^a-z]", "", event.casefold())
