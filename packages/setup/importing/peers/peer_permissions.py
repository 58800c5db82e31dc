"""Permissions of other agents as rules that Claude Code writes, which `add_rule` makes ours.

Here the strictest rule counts, wherever it stands: a rule that allows an exception to one that asks about everything
needs that one to be the setting `approval`, and one to what is denied as a whole is named and not taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from packages.setup.importing.foreign_rules import add_rule
from packages.setup.importing.import_plan import ImportPlan, get_names
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.rules import PERMISSIONS, Permission
from tools.core.tool_names import find_foreign_tool

_WHOLE = ("Bash", "Edit", "Read", "WebFetch")
"""Tools of which there is a rule for all that they do."""

_ACTIONS: Mapping[str, Permission] = {
    "allow": "allow",
    "always": "allow",
    "always_allow": "allow",
    "ask": "ask",
    "ask_before": "ask",
    "deny": "deny",
    "never": "deny",
    "never_allow": "deny",
    "reject": "deny",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """verdict; tool, as Claude Code calls it; pattern, "" for all that it does"""

    verdict: Permission
    tool: str
    pattern: str = ""

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


class Unread(ValueError):
    """A permission that has no counterpart here; its text says which and why."""


def add_permissions(
    plan: ImportPlan, kind: str, value: object, source: str, servers: Collection[str]
) -> None:
    """Take permissions of a kind. servers: names of the agent's MCP servers, which its names of tools begin with"""
    rules: dict[Rule, None] = {}
    for each in _READERS[kind](value, servers):
        if isinstance(each, Unread):
            plan.left.append(f"{source}: {each}")
        else:
            rules[each] = None
    denied = {each.tool for each in rules if each.verdict == "deny" and not each.pattern}
    excepted = {each.tool for each in rules if each.verdict == "allow" and each.pattern}
    for rule in rules:
        if rule.verdict == "ask" and not rule.pattern and rule.tool in excepted:
            plan.set_value("approval", "ask")
            plan.left.append(
                f'{source}: ask {rule.tool}: it is `approval = "ask"` here, so that what is allowed can be'
            )
        elif rule.verdict == "allow" and rule.pattern and rule.tool in denied:
            plan.left.append(
                f"{source}: allow {rule}: {rule.tool} is denied as a whole, which counts more here"
            )
        else:
            is_full = (
                kind != "lists" and rule.pattern.startswith("/") and rule.tool in ("Read", "Edit", "Write")
            )
            text = (
                f"{rule.tool}(/{rule.pattern})" if is_full else str(rule)
            )  # "/…" is below the workspace there
            add_rule(plan, text, rule.verdict, source)


def _name_tool(name: str, servers: Collection[str]) -> str:
    """Return another agent's name of a tool as Claude Code's."""
    row = find_foreign_tool(name)
    if row is not None:
        return row.names[0]
    for server in sorted(servers, key=len, reverse=True):
        for form in (f"mcp_{server}_", f"mcp__{server}__", f"{server}__", f"{server}_"):
            if name.startswith(form):
                rest = name.removeprefix(form)
                return f"mcp__{server}" if rest in ("", "*") else f"mcp__{server}__{rest}"
    return name


def _read_lists(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    """Read lists of rules, such as `Bash(git *)`, under the names of the verdicts."""
    table = value if isinstance(value, Mapping) else {}
    for key in table:
        if key not in PERMISSIONS:
            yield Unread(f"permissions.{key}: there is nothing like it here")
    for verdict in PERMISSIONS:
        for text in get_names(table, verdict):
            yield _split_rule(text, verdict)


def _split_rule(text: str, verdict: Permission) -> Rule | Unread:
    match = re.fullmatch(r"([\w*-]+)(?:\((.*)\))?", text.strip(), re.DOTALL)
    if match is None:
        return Unread(f"{verdict} {text}: it is no rule")
    tool, pattern = match[1], (match[2] or "").strip()
    if tool in ("Shell", "run_shell_command"):
        tool = "Bash"
    if tool == "WebFetch" and pattern and not pattern.startswith("domain:"):
        pattern = "" if pattern == "*" else f"domain:{pattern}"
    return Rule(verdict=verdict, tool=tool, pattern=pattern)


def _read_bases(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    """Read such lists in which a command is named by its first word, and servers have a colon before their tools."""
    for rule in _read_lists(value, servers):
        if isinstance(rule, Unread):
            yield rule
        elif rule.tool == "Mcp":
            server, _, tool = rule.pattern.replace(", ", ":").partition(":")
            name = f"mcp__{server}" if tool in ("", "*") else f"mcp__{server}__{tool.strip()}"
            yield Rule(verdict=rule.verdict, tool=name)
        elif rule.tool == "Bash":
            yield _read_command(rule.pattern, rule.verdict)
        else:
            tool = "Edit" if rule.tool == "Write" else rule.tool
            yield Rule(
                verdict=rule.verdict, tool=tool, pattern="" if rule.pattern in ("*", "**") else rule.pattern
            )


def _read_command(pattern: str, verdict: Permission) -> Rule:
    """Return the rule of a command: its first words, all arguments; `npm:install*` has a pattern for these."""
    if pattern in ("", "*", "**"):
        return Rule(verdict=verdict, tool="Bash")
    command, _, arguments = pattern.partition(":")
    if arguments in ("", "*"):
        return Rule(verdict=verdict, tool="Bash", pattern=f"{command.removesuffix('*').strip()}:*")
    return Rule(verdict=verdict, tool="Bash", pattern=f"{command} {arguments}")


def _read_commands(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    for each in value if isinstance(value, list) else ():
        yield _read_command(str(each), "allow")


def _read_server_tools(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    for each in value if isinstance(value, list) else ():
        server, _, tool = str(each).partition(":")
        if "*" in server:
            yield Unread(f"allow {each}: servers are named here")
        else:
            yield Rule(verdict="allow", tool=f"mcp__{server}" + ("" if tool in ("", "*") else f"__{tool}"))


def _read_addresses(verdict: Permission) -> Callable[[object, Collection[str]], Iterator[Rule | Unread]]:
    def read(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
        for each in map(str, value if isinstance(value, list) else ()):
            parts = urlsplit(each if "://" in each else f"https://{each}")
            if parts.path.strip("/*") and verdict == "allow":
                yield Unread(f"{verdict} {each}: a rule here is for a whole host")
            else:
                yield Rule(verdict=verdict, tool="WebFetch", pattern=f"domain:{parts.hostname or each}")

    return read


def _read_names(verdict: Permission) -> Callable[[object, Collection[str]], Iterator[Rule | Unread]]:
    def read(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
        for each in map(str, value if isinstance(value, list) else ()):
            if each.startswith("re:") or (each.count("*") and _name_tool(each, servers) == each):
                yield Unread(f"{verdict} {each}: a pattern of names of tools is no rule here")
            elif "(" in each:
                yield _split_rule(each, verdict)
            else:
                yield Rule(verdict=verdict, tool=_name_tool(each.partition(":")[0], servers))

    return read


def _read_only(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    """Read a list of the only tools that are on: commands, edits, reads and requests not in it are denied."""
    names = [str(each).partition("(")[0] for each in value] if isinstance(value, list) else []
    if not names:
        return
    on = {_name_tool(each, servers) for each in names}
    kinds = {"Bash": {"Bash"}, "Edit": {"Edit", "Write"}, "Read": {"Read"}, "WebFetch": {"WebFetch"}}
    for tool, meant in kinds.items():
        if not on & meant and not any(each in ("*", "re:.*") for each in names):
            yield Rule(verdict="deny", tool=tool)
    yield Unread(
        f"only {', '.join(names)} are on there: here commands, edits, reads and requests are denied where it "
        "names no such tool, and other tools stay on"
    )


def _read_switches(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    table = value if isinstance(value, Mapping) else {}
    off = [name for name, each in table.items() if each is False]
    yield from _read_names("deny")(off, servers)


def _read_tree(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    """Read a table of tools, each with a verdict or a table of patterns of which the last one that fits counts."""
    table: Mapping[str, Any] = {"*": value} if isinstance(value, str) else {}
    table = value if isinstance(value, Mapping) else table
    for name, given in table.items():
        tool = _name_tool(str(name), servers)
        for pattern, action in (given if isinstance(given, Mapping) else {"*": given}).items():
            verdict = _ACTIONS.get(str(action))
            text = "" if pattern in ("*", "**") else re.sub(r"^\$HOME(?=/|$)", "~", str(pattern))
            if verdict is None:
                yield Unread(f"permission {name} {pattern}: {action!r} is none of allow, ask, deny")
            elif name == "*":
                yield from _read_all(verdict)
            elif tool == "WebFetch" and text:
                yield from _read_addresses(verdict)([text], servers)
            else:
                yield Rule(verdict=verdict, tool=tool, pattern=text)


def _read_all(verdict: Permission) -> Iterator[Rule | Unread]:
    if verdict == "allow":
        yield Unread("allow *: it lifts every bound; set `mode` to full yourself")
    else:
        yield from (
            Rule(verdict=verdict, tool=each) for each in _WHOLE if verdict == "deny" or each != "Read"
        )


def _read_levels(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    table = value if isinstance(value, Mapping) else {}
    for group, levels in table.items():
        for level, names in (levels if isinstance(levels, Mapping) else {}).items():
            verdict = _ACTIONS.get(str(level))
            if verdict is None:
                yield Unread(f"{group}.{level}: there is no such level here")
            else:
                yield from _read_names(verdict)(names, servers)


_LISTS: Mapping[str, Permission] = {
    "allowlist": "allow",
    "sensitive_patterns": "ask",
    "denylist": "deny",
    "denylist_standalone": "deny",
}
"""Lists of Mistral Vibe; a command that is denied alone may have arguments."""


def _read_tool_tables(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    """Read a table of tools, each with `permission`, and with lists of commands or paths."""
    for name, given in (value if isinstance(value, Mapping) else {}).items():
        table = given if isinstance(given, Mapping) else {}
        tool = _name_tool(str(name), servers)
        for key, each in table.items():
            if key == "permission" and (verdict := _ACTIONS.get(str(each))) is not None:
                yield Rule(verdict=verdict, tool=tool)
            elif key in _LISTS:
                listed = _LISTS[key]
                for text in get_names(table, key):
                    is_prefix = tool == "Bash" and key != "denylist_standalone"
                    yield Rule(verdict=listed, tool=tool, pattern=f"{text}:*" if is_prefix else text)
            else:
                yield Unread(f"tools.{name}.{key}: there is nothing like it here")


_SUBJECTS = {"cmd": "Bash", "command": "Bash", "path": "", "file_path": "", "url": "WebFetch"}


def _read_ordered(value: object, servers: Collection[str]) -> Iterator[Rule | Unread]:
    """Read a list of rules of which the first one that fits counts."""
    for rule in value if isinstance(value, list) else ():
        if not isinstance(rule, Mapping):
            yield Unread(f"{rule!r} is no rule")
            continue
        shown = f"{rule.get('action')} {rule.get('tool')} {rule.get('matches', '')}".strip()
        verdict = _ACTIONS.get(str(rule.get("action")))
        matches = rule.get("matches", {})
        name = str(rule.get("tool"))
        tool = _name_tool(name, servers)
        if verdict is None:
            yield Unread(f"{shown}: a program that decides is a hook of PreToolUse here")
        elif "context" in rule and verdict == "allow":
            yield Unread(f"{shown}: rules hold for a session and its agents alike")
        elif not matches:
            yield from _read_all(verdict) if name == "*" else _read_names(verdict)([name], servers)
        elif not isinstance(matches, Mapping) or len(matches) > 1 or not set(matches) <= set(_SUBJECTS):
            yield Unread(f"{shown}: a rule here is for commands, paths or hosts alone")
        else:
            for key, patterns in matches.items():
                for text in patterns if isinstance(patterns, list) else [patterns]:
                    if not isinstance(text, str) or re.fullmatch(r"/.*/", text):
                        yield Unread(f"{shown}: a rule here has wildcards, and no regular expression")
                    elif _SUBJECTS[key] == "WebFetch":
                        yield from _read_addresses(verdict)([text], servers)
                    else:
                        yield Rule(verdict=verdict, tool=_SUBJECTS[key] or tool, pattern=text)


_READERS: Mapping[str, Callable[[object, Collection[str]], Iterator[Rule | Unread]]] = {
    "lists": _read_lists,
    "bases": _read_bases,
    "commands": _read_commands,
    "server_tools": _read_server_tools,
    "allowed_addresses": _read_addresses("allow"),
    "denied_addresses": _read_addresses("deny"),
    "allowed": _read_names("allow"),
    "denied": _read_names("deny"),
    "only": _read_only,
    "switches": _read_switches,
    "tree": _read_tree,
    "levels": _read_levels,
    "tool_tables": _read_tool_tables,
    "ordered": _read_ordered,
}
"""Ways in which other agents write permissions."""
