"""Agent files: Markdown whose front matter says what an agent may do, and whose text is its instructions.

The format is that of Claude Code's sub-agents, which other agents read, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar, get_args

from agent.extension.front_matter import (
    NO_FRONT_MATTER,
    BadFrontMatter,
    read_list_field,
    split_front_matter,
)
from agent.model.model_settings import Effort
from agent.team.definitions.agent_definition import AgentDefinition, MemoryScope
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.decision import Mode
from tools.core.tool_names import ToolGrant, list_grants

Value = TypeVar("Value")

FIELDS = (
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "permissionMode",
    "maxTurns",
    "skills",
    "memory",
    "background",
    "isolation",
    "effort",
)
"""Fields of the front matter that are known."""

MODES: Mapping[str, Mode | None] = {
    "default": None,
    "manual": None,
    "acceptEdits": Mode.WORKSPACE,
    "auto": Mode.WORKSPACE,
    "dontAsk": Mode.WORKSPACE,
    "plan": Mode.READ_ONLY,
    "bypassPermissions": Mode.FULL,
    **{str(mode): mode for mode in Mode},
}
"""Permission modes as other agents name them, and ours. None of them makes a question go away."""

MODELS: Mapping[str, str] = {"inherit": "", "sonnet": "", "opus": "", "default": "", "haiku": "fast"}
"""Models as other agents name them: the session's own, or the one of its settings for small tasks."""

MEMORIES: Mapping[str, MemoryScope] = {"none": "", "project": "project", "local": "project", "user": "user"}
"""Notes as other agents name them, and ours. None are in the project's files."""

LONGEST_DESCRIPTION = 1_000
"""Characters of a description that are used: each session pays for those of all its agents."""

_NAME = compile_lazily(r"\w[\w.-]{0,63}")


class BadAgentFile(ValueError):
    """An agent file that cannot be used; its text is one line that says why and what to do."""


def parse_agent_file(text: str, source: str, stem: str, known: Collection[str]) -> AgentDefinition:
    """Parse an agent file. Raises BadAgentFile.

    stem: name of the file without its ending, for an agent that names itself nowhere; known: names of our tools
    """
    given, body = _split_file(text, source)
    reader = _FieldReader(given, source)
    name = reader.get_text("name", stem).lower()
    if not _NAME.fullmatch(name):
        raise BadAgentFile(f"{source}: {name!r} is no name: write letters, digits and - in `name:`")
    description = " ".join(reader.get_text("description", "").replace("\\n", " ").split())
    if not description:
        raise BadAgentFile(f"{source}: there is no description: say in `description:` when to use this agent")
    if not body.strip():
        raise BadAgentFile(f"{source}: there are no instructions: write them below the second `---`")
    tools = reader.read_grants("tools", known)
    denied = reader.read_grants("disallowedTools", known, widens=True)
    agent = AgentDefinition(
        name=name,
        description=description[:LONGEST_DESCRIPTION],
        instructions=body.strip(),
        tools=tools,
        denied=denied or (),
        model=_read_model(reader),
        mode=reader.read_choice("permissionMode", MODES, None),
        max_turns=reader.read_number("maxTurns"),
        background=reader.read_flag("background"),
        isolation=reader.read_choice("isolation", {"none": "", "worktree": "worktree"}, ""),
        effort=_read_effort(reader),
        skills=reader.read_names("skills"),
        memory=reader.read_choice("memory", MEMORIES, ""),
        source=source,
    )
    return replace(agent, warnings=tuple(_list_warnings(given, source, [*(tools or ()), *agent.denied])))


def _split_file(text: str, source: str) -> tuple[Mapping[str, Any], str]:
    try:
        found = split_front_matter(text)
    except BadFrontMatter as error:
        raise BadAgentFile(f"{source}: {error}") from None
    if found is None:
        raise BadAgentFile(f"{source}: {NO_FRONT_MATTER}")
    return found


class _FieldReader:
    """Reads fields of the front matter; its errors name the file, the field and the values that are possible."""

    def __init__(self, given: Mapping[str, Any], source: str) -> None:
        self._given = given
        self._source = source

    def get_text(self, field: str, default: str) -> str:
        value = self._given.get(field)
        if value is None:
            return default
        if not isinstance(value, str | int | float):
            raise self.build_error(field, "a text")
        return str(value).strip()

    def read_number(self, field: str) -> int | None:
        value = self.get_text(field, "")
        if not value:
            return None
        if not value.isdecimal() or not 0 < int(value) <= 10_000:
            raise self.build_error(field, "a number from 1 to 10000")
        return int(value)

    def read_flag(self, field: str) -> bool:
        value = str(self._given.get(field) or "false").lower()
        if value not in ("true", "false", "yes", "no"):
            raise self.build_error(field, "true or false")
        return value in ("true", "yes")

    def read_choice(self, field: str, choices: Mapping[str, Value], default: Value) -> Value:
        value = self.get_text(field, "")
        if value and value not in choices:
            raise self.build_error(field, f"one of {', '.join(choices)}")
        return choices[value] if value else default

    def read_grants(
        self, field: str, known: Collection[str], *, widens: bool = False
    ) -> tuple[ToolGrant, ...] | None:
        """Return a list of tools. An entry whose pattern means nothing here never grants.

        widens: whether such an entry means its whole tool, else none
        """
        value = self._given.get(field)
        if value is None or value in ("*", ["*"]):
            return None
        try:
            return list_grants(value, known, unknown_patterns="whole" if widens else "none")
        except ValueError as error:
            raise BadAgentFile(
                f"{self._source}: `{field}:` {error}: write names, as in `Read, Grep`"
            ) from None

    def read_names(self, field: str) -> tuple[str, ...]:
        try:
            return read_list_field(self._given, field)
        except BadFrontMatter:
            raise self.build_error(field, "a list of names") from None

    def build_error(self, field: str, wanted: str) -> BadAgentFile:
        return BadAgentFile(f"{self._source}: `{field}: {self._given[field]}` must be {wanted}")


def _read_model(reader: _FieldReader) -> str:
    name = reader.get_text("model", "")
    return MODELS.get(name.lower(), name)


def _read_effort(reader: _FieldReader) -> Effort:
    choices = {each: each for each in get_args(Effort) if each}
    value = reader.read_choice("effort", choices, "")
    return next(each for each in get_args(Effort) if each == value)


def _list_warnings(given: Mapping[str, Any], source: str, grants: list[ToolGrant]) -> list[str]:
    found = []
    if unknown := [each for each in given if each not in FIELDS]:
        found.append(f"{source}: unknown, not used: {', '.join(unknown)}")
    if nothing := [each.written for each in grants if not each.tools and each.is_known]:
        found.append(f"{source}: there is no such tool here, left out: {', '.join(nothing)}")
    if strange := [each.written for each in grants if not each.tools and not each.is_known]:
        found.append(f"{source}: no tool is called so, left out: {', '.join(strange)}")
    return found
