"""The user's rules, such as `shell(npm run *)` or `read(./.env)`: allow, ask or deny whatever the mode."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.rule_places import (
    STANDARD_FOLDERS,
    is_absolute,
    list_linked_patterns,
    list_relative_patterns,
)

if TYPE_CHECKING:
    from sandbox.policy.effects import Effect
    from sandbox.policy.shell import Segment

Permission = Literal["allow", "ask", "deny"]
Kind = Literal["shell", "read", "edit", "network", "mcp"]

PERMISSIONS: tuple[Permission, ...] = ("allow", "ask", "deny")
"""From the mildest to the strictest; of several matching rules the strictest applies."""

EXAMPLES: Mapping[Kind, str] = {
    "shell": "shell(npm run *)",
    "read": "read(./.env)",
    "edit": "edit(src/**)",
    "network": "network(pypi.org)",
    "mcp": "mcp(server.tool)",
}
"""An example of every kind of rule, shown in error messages."""

_FORM = compile_lazily(r"\s*([a-z]+)\((.+)\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    pattern: the text between the parentheses; of a rule that was bound to a workspace, relative to it
    written: the pattern as the user wrote it, where it is another one
    """

    kind: Kind
    pattern: str
    verdict: Permission
    written: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.kind}({self.written or self.pattern})"


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a user."""

    rules: tuple[Rule, ...] = ()

    def bind(self, root: Path) -> Rules:
        """Return the rules for a workspace: what a full path or `~` means in it is also named relative to it.

        The one place where a spelling becomes a place: policy, file tools, search and kernel compare relative paths.
        The full paths stay, for what lies outside, and for the work trees of child sessions.
        """
        if not any(rule.kind in ("read", "edit") for rule in self.rules):
            return self
        from sandbox.fs.repository import find_main_work_tree

        has_absolute = any(is_absolute(rule.pattern) for rule in self.rules)
        main = find_main_work_tree(root) if has_absolute else None  # its files are in a linked work tree, too
        found: dict[Rule, None] = {}
        for rule in self.rules:
            found[rule] = None
            if rule.kind not in ("read", "edit"):
                continue
            loose, written = rule.verdict != "allow", rule.written or rule.pattern
            if not is_absolute(rule.pattern):
                inside = list_linked_patterns(rule.pattern, root) if loose else ()
                found |= dict.fromkeys(replace(rule, pattern=each, written=written) for each in inside)
            else:
                inside = list_relative_patterns(rule.pattern, root, loose=loose)
                if main is not None and loose:
                    inside += list_relative_patterns(rule.pattern, main, loose=True)
                found |= dict.fromkeys(replace(rule, pattern=each, written=written) for each in inside)
        return Rules(tuple(found))

    def match_segment(
        self, segment: Segment, covers: Callable[[Rule], bool] = lambda rule: True
    ) -> Rule | None:
        """Return the strictest rule on a command. Allowing rules match only spellings that surely mean the same.

        covers: whether a rule that allows says all that the command does
        """
        return _pick_strictest_rule(
            rule
            for rule in self._select_kind("shell")
            if _matches_any_spelling(
                rule, segment.trusted_forms if rule.verdict == "allow" else segment.forms
            )
            and (rule.verdict != "allow" or covers(rule))
        )

    def match_effect(self, effect: Effect) -> Rule | None:
        """Return the strictest rule on the paths and hosts of an effect.

        To edit a file is to read it, so rules on reading that ask or deny apply to both. A rule that allows
        must match every path and host.
        """
        found: list[Rule] = []
        if effect.kind == "network":
            found += [rule for rule in self._select_kind("network") if _covers_targets(rule, effect.hosts)]
        if effect.kind in ("read", "write"):
            wanted: Kind = "read" if effect.kind == "read" else "edit"
            found += [rule for rule in self._select_kind(wanted) if _covers_targets(rule, effect.paths)]
        if effect.kind == "write":
            read = [rule for rule in self._select_kind("read") if rule.verdict != "allow"]
            found += [rule for rule in read if _covers_targets(rule, effect.paths)]
        return _pick_strictest_rule(found)

    def match_tool(self, name: str) -> Rule | None:
        """Return the strictest rule on the tool of a server, named `server.tool`."""
        return _pick_strictest_rule(rule for rule in self._select_kind("mcp") if matches_pattern(rule, name))

    def denies_reading(self, path: str) -> bool:
        """Whether a file (relative to the workspace, or absolute outside it) may not be read."""
        return any(matches_pattern(rule, path) for rule in self.read_denials)

    def allows_repository(self, path: str) -> bool:
        """Whether a rule such as `edit(build/**/.git)` lets commands make the git folder `path`.

        The last part of its pattern has to name it: one for a folder around it, such as `edit(build/**)`, means files.
        """
        name = path.rpartition("/")[2]
        rules = [rule for rule in self._select_kind("edit") if matches_pattern(rule, path)]
        named = [rule for rule in rules if rule.verdict == "allow" and _names_last_part(rule.pattern, name)]
        return bool(named) and all(rule.verdict == "allow" for rule in rules)

    @property
    def read_denials(self) -> tuple[Rule, ...]:
        """Rules that deny reading."""
        return tuple(rule for rule in self._select_kind("read") if rule.verdict == "deny")

    def with_allowed_commands(self, patterns: Sequence[str]) -> Rules:
        """Return the rules plus those that allow commands that the user has chosen to always allow."""
        more = [Rule(kind="shell", pattern=each, verdict="allow") for each in patterns]
        return Rules(tuple(dict.fromkeys((*self.rules, *more))))

    def _select_kind(self, kind: Kind) -> list[Rule]:
        return [rule for rule in self.rules if rule.kind == kind]


NO_RULES = Rules()


def parse_rule(text: str, verdict: Permission) -> Rule:
    """Parse a rule of the user. Raises UserError that explains the mistake."""
    found = _FORM.fullmatch(text)
    kind = next((each for each in EXAMPLES if found and each == found[1]), None)
    if found is None or kind is None or not found[2].strip():
        forms = ", ".join(EXAMPLES.values())
        raise UserError(Fault.CONFIGURATION, f"{text!r} is not a rule", f"Rules look like these: {forms}.")
    if reason := explain_empty_pattern(kind, found[2].strip()):
        raise UserError(Fault.CONFIGURATION, f"{text!r} {reason[0]}", reason[1])
    pattern = _normalize_command(found[2]) if kind == "shell" else found[2].strip()
    if kind in ("read", "edit") and posixpath.normpath(pattern) == ".":
        pattern = "**"
    if kind == "shell" and verdict == "allow" and not pattern.split()[0].strip("*?:"):
        raise UserError(
            Fault.CONFIGURATION,
            f"{text!r} would allow every command",
            "Name the command that is to run without asking, or use --mode full where that is safe.",
        )
    return Rule(kind=kind, pattern=pattern, verdict=verdict)


_NO_PLACE = compile_lazily(r"!|\$\{?\w|%\w+%|\w+://")
"""Beginnings by which a pattern was meant for another program: a variable, an address, an exception."""


def explain_empty_pattern(kind: Kind, pattern: str) -> tuple[str, str] | None:
    """Return why a pattern can match nothing, and what to write; None if it can match something."""
    if kind in ("read", "edit"):
        if _NO_PLACE.match(pattern):
            return (
                "is no path",
                "Variables, addresses and `!` mean nothing here: write a full path, or one from ~.",
            )
        place = posixpath.expanduser(pattern)
        if posixpath.normpath(place).startswith(".."):
            return "leads out of the workspace", "Name what lies outside by its full path, or from ~."
        if place.startswith("~"):
            return "names the home folder of no user", "Name the place by its full path."
        if place[0] in "\"'" and place[-1] == place[0]:
            return "is no path", "Write it without quotes: blanks need none."
        if re.match(r"/+(?:proc/(?:self|thread-self)|dev/fd)/", place):
            return "is no place of its own", "Name what it leads to."
        if "\0" in place or "\\" in place or re.search(r"\{[^{}]*,[^{}]*\}", place):
            return (
                "matches no path",
                "Write / between folders, and one rule for each alternative: * ? ** are wildcards.",
            )
    if kind == "network" and re.search(
        r"[/\s]|:(?:80|443)$", pattern
    ):  # hosts are named without the usual ports
        return "matches no host", "Name the host alone, such as network(pypi.org)."
    if kind == "mcp" and not re.search(r"[.*?]", pattern):
        return "matches no tool", "Name server and tool, such as mcp(server.*)."
    return None


def _normalize_command(pattern: str) -> str:
    """Return a pattern of commands with the program named as commands are compared: without a standard folder."""
    first, space, rest = " ".join(pattern.split()).partition(" ")
    folder, _, name = first.rpartition("/")
    return f"{name if folder in STANDARD_FOLDERS and name else first}{space}{rest}"


def check_examples(rule: Rule, match: Sequence[str], no_match: Sequence[str]) -> None:
    """Raise UserError for the first example for which the rule does not behave as the user expects."""
    for example in match:
        if not _applies_to_example(rule, example):
            raise UserError(
                Fault.CONFIGURATION,
                f"rule {str(rule)!r} does not match its example {example!r}",
                "Change the rule, or the example.",
            )
    for example in no_match:
        if _applies_to_example(rule, example):
            raise UserError(
                Fault.CONFIGURATION,
                f"rule {str(rule)!r} matches {example!r}, which its no_match says it does not",
                "Change the rule, or the example.",
            )


def _names_last_part(pattern: str, name: str) -> bool:
    last = pattern.removesuffix("/**").rstrip("/").rpartition("/")[2]
    return bool(last.strip("*?")) and re.fullmatch(_translate_name_pattern(last), name, re.DOTALL) is not None


def matches_pattern(rule: Rule, text: str) -> bool:
    """Whether a rule's pattern matches one spelling, path, host or tool name."""
    loose = rule.verdict != "allow"  # names that some file systems treat as the same are denied, too
    return _compile_pattern(rule.kind, rule.pattern, loose).fullmatch(text) is not None


def _applies_to_example(rule: Rule, example: str) -> bool:
    """Whether a rule decides an example: on any of its commands, or, to allow it, on all."""
    if rule.kind != "shell":
        return matches_pattern(
            rule, posixpath.normpath(example) if rule.kind in ("read", "edit") else example
        )
    from pathlib import Path

    from sandbox.policy.shell import judge_command_line

    segments = judge_command_line(example, root=Path("/")).segments
    rules = Rules((rule,))
    found = [rules.match_segment(each) is not None for each in segments]
    return bool(found) and (all(found) if rule.verdict == "allow" else any(found))


def _matches_any_spelling(rule: Rule, spellings: Sequence[str]) -> bool:
    return any(matches_pattern(rule, " ".join(each.split())) for each in spellings)


def _covers_targets(rule: Rule, things: Sequence[str]) -> bool:
    if not things:
        return rule.pattern == "*"
    found = [matches_pattern(rule, each) for each in things]
    return all(found) if rule.verdict == "allow" else any(found)


def _pick_strictest_rule(rules: Iterable[Rule]) -> Rule | None:
    return max(rules, key=lambda rule: PERMISSIONS.index(rule.verdict), default=None)


@cache
def _compile_pattern(kind: Kind, pattern: str, loose: bool) -> re.Pattern[str]:
    text = (
        _translate_command_pattern(pattern)
        if kind == "shell"
        else _translate_path_pattern(pattern, loose=loose)
        if kind in ("read", "edit")
        else _translate_name_pattern(pattern)
    )
    folded = kind in ("network", "mcp") or (loose and kind != "shell")
    return re.compile(text, re.DOTALL | (re.IGNORECASE if folded else 0))


def _translate_command_pattern(pattern: str) -> str:
    """Translate to a regular expression: `git push *` (or `git push:*`) also matches `git push`, not `git pushy`."""
    for ending in (" *", ":*"):
        if pattern.endswith(ending):
            return f"{_translate_name_pattern(pattern.removesuffix(ending))}(?: .*)?"
    return _translate_name_pattern(pattern)


def _translate_name_pattern(pattern: str) -> str:
    return "".join(".*" if each == "*" else "." if each == "?" else re.escape(each) for each in pattern)


def _translate_path_pattern(pattern: str, *, loose: bool) -> str:
    """Translate to a regular expression.

    `.env` matches at any depth, `./.env` at the top; `src/**` and `src` match the folder with all that is
    inside. loose: `[ab]` means one of its letters, too, and not only a name that holds brackets
    """
    anchored = "/" in pattern.rstrip("/")
    place = posixpath.normpath(posixpath.expanduser(pattern))
    place = place.removesuffix("/**")
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\[\]/]+\])", place)
    text = "".join(
        _translate_class(part)
        if loose and part.startswith("[") and part.endswith("]")
        else _GLOBS.get(part, re.escape(part))
        for part in parts
    )
    return ("" if anchored else "(?:.*/)?") + text + "(?:/.*)?"


def _translate_class(part: str) -> str:
    letters = (
        part[1:-1].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^", 1 if part[1] == "^" else 0)
    )
    way = f"[{'^' if letters[0] == '!' else ''}{letters.removeprefix('!')}]"
    try:
        re.compile(way)
    except re.error:  # no class: a name with brackets
        return re.escape(part)
    return f"(?:{re.escape(part)}|{way})"


_GLOBS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
