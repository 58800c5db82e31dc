"""Events as rules name them: `edit`, `edit(src/**)`, `shell(git push *)`, `tests-passed or untestable`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.rules import Rule, explain_empty_pattern, matches_pattern

About = Literal["paths", "command", "nothing"]

EVENTS: Mapping[str, About] = {
    "prompt": "nothing",
    "read": "paths",
    "edit": "paths",
    "create": "paths",
    "edit-test": "paths",
    "shell": "command",
    "tests-passed": "nothing",
    "tests-failed": "nothing",
    "untestable": "nothing",
    "commit": "nothing",
    "finish": "nothing",
}
"""Events, and what a pattern in parentheses is about.

edit: a file is changed, made or removed; create: there was no such file; edit-test: it is a test file
shell: a command of a command line, whichever tool runs it; commit: by a tool or a command line
tests-passed, tests-failed, untestable: a run of the whole suite
"""

IMPLIED: Mapping[str, tuple[str, ...]] = {
    "create": ("edit",),
    "edit-test": ("edit",),
    "git_commit": ("commit",),
    "tests-passed": ("run_tests",),
    "tests-failed": ("run_tests",),
    "untestable": ("run_tests",),
}
"""Events that happen whenever another one does."""

TEST_FILE = compile_lazily(
    r"(^|/)(tests?|spec|__tests__)/|(^|/)test_[^/]*$|[._](test|spec)\.\w+$|_test\.\w+$"
)

_FORM = compile_lazily(r"\s*([A-Za-z][\w.-]*)(?:\((.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happens in a session. commands: spellings of a command, as rules on commands see it"""

    name: str
    paths: frozenset[str] = frozenset()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPattern:
    """Events with a name, and, if there is a pattern, with a path or command that it matches."""

    name: str
    pattern: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.pattern})" if self.pattern else self.name

    @property
    def about(self) -> About:
        """What the pattern is about; that of a tool is about the paths of the call."""
        return EVENTS.get(self.name, "paths")

    def matches(self, happening: Happening) -> bool:
        """Whether the happening is such an event."""
        if happening.name != self.name:
            return False
        if not self.pattern:
            return True
        if self.about == "command":
            return matches_command(self.pattern, happening.commands)
        return any(matches_path(self.pattern, path) for path in happening.paths)

    def implies(self, other: EventPattern) -> bool:
        """Whether each of these events is one of the others, too, as far as the patterns tell."""
        if other.name != self.name and other.name not in IMPLIED.get(self.name, ()):
            return False
        if not other.pattern or other.pattern == self.pattern:
            return True
        return bool(self.pattern) and self.about == other.about and covers(other, self.pattern)


def covers(event: EventPattern, pattern: str) -> bool:
    """Whether an event's pattern matches all that another pattern of its kind matches; undecided cases count as no."""
    if event.about == "command":
        sample = pattern.removesuffix(" *").removesuffix(":*")
        return matches_command(event.pattern, (sample,)) and matches_command(event.pattern, (f"{sample} x",))
    samples = (pattern.replace("**", "x/y").replace("*", "x"), pattern.replace("**", "z").replace("*", "z.y"))
    return all(matches_path(event.pattern, posixpath.normpath(each)) for each in samples)


def matches_path(pattern: str, path: str) -> bool:
    """Whether a glob as in permissions matches a path: relative to the workspace, links resolved."""
    return matches_pattern(_build_rule("edit", pattern), path)


def matches_any_path(patterns: Sequence[str], path: str) -> bool:
    """Whether one of the globs matches; without any, every path does."""
    return not patterns or any(matches_path(pattern, path) for pattern in patterns)


def matches_command(pattern: str, spellings: Iterable[str]) -> bool:
    """Whether a pattern of commands matches one of the spellings of a command."""
    rule = _build_rule("shell", " ".join(pattern.split()))
    return any(matches_pattern(rule, " ".join(each.split())) for each in spellings)


def parse_events(text: str, tools: Collection[str]) -> tuple[EventPattern, ...]:
    """Parse events joined by "or". tools: known names of tools. Raises ValueError that says what is wrong."""
    return tuple(_parse_event(each, tools) for each in _split_alternatives(text))


def _parse_event(text: str, tools: Collection[str]) -> EventPattern:
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text.strip()!r} is no event: write it like edit(src/**) or git_commit")
    name, pattern = found[1], (found[2] or "").strip()
    if found[2] is not None and not pattern:
        raise ValueError(f"{text.strip()!r} has an empty pattern")
    if name not in EVENTS and name not in tools and "." not in name:
        import difflib

        near = difflib.get_close_matches(name, [*EVENTS, *tools], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"events: {', '.join(EVENTS)}, or the name of a tool"
        raise ValueError(f"there is no event {name!r}: {hint}")
    if pattern and EVENTS.get(name) == "nothing":
        raise ValueError(f"the event {name!r} takes no pattern")
    if pattern and EVENTS.get(name, "paths") == "paths":
        if pattern.startswith(("/", "~")):
            raise ValueError(f"{text.strip()!r} matches nothing: events name paths relative to the workspace")
        if reason := explain_empty_pattern("edit", pattern):
            raise ValueError(f"{text.strip()!r} {reason[0]}: {reason[1]}")
    return EventPattern(name=name, pattern=pattern)


def _split_alternatives(text: str) -> list[str]:
    """Split at "or" outside parentheses."""
    return [part for part in split_outside_parentheses(text, ("or",))[::2] if part or not text.strip()]


def split_outside_parentheses(text: str, words: Collection[str]) -> list[str]:
    """Return the parts of a text between some words, and the words themselves in between, in their order."""
    parts, depth, current = [], 0, ""
    for token in re.split(r"(\s+|[()])", text):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token in words and depth == 0:
            parts += [current.strip(), token]
            current = ""
        else:
            current += token
    return [*parts, current.strip()]


@cache
def _build_rule(kind: Literal["edit", "shell"], pattern: str) -> Rule:
    return Rule(
        kind=kind, pattern=pattern, verdict="deny"
    )  # as strict as one: spellings of the same name count
