"""`SKILL.md`: what a skill is for, and its instructions. Where another agent's reader is lenient, so is this one.

Format: agentskills.io/specification. What a file must be to follow it exactly is checked by `skill_check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.extension.front_matter import (
    NO_FRONT_MATTER,
    BadFrontMatter,
    read_flag_field,
    read_list_field,
    read_text_field,
    split_front_matter,
)
from agent.extension.plugins.plugin_store import Plugin
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

LONGEST_DESCRIPTION = 1_024
"""Characters of a description that are used, as many as the specification allows."""


class BadSkill(ValueError):
    """A skill that cannot be used; its text is one line that says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill.

    body: its instructions; source: path of its folder, for messages; folder: absolute
    inside: its folder relative to the workspace, "" for one of the user's
    allowed_tools: tools that it would like to use without a question: shown, and not granted
    is_offered: whether models are told of it; is_command: whether people can call it as `/NAME`
    files: its files besides SKILL.md, relative to its folder
    plugin: the plugin that it belongs to, None for none
    unused: fields of the file that have no effect, as `context: fork`, by which others give a skill to an agent
    """

    name: str
    description: str
    body: str
    source: str
    folder: Path
    inside: str = ""
    allowed_tools: tuple[str, ...] = ()
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    argument_hint: str = ""
    is_offered: bool = True
    is_command: bool = True
    files: tuple[str, ...] = ()
    plugin: Plugin | None = None
    unused: tuple[str, ...] = ()


_USED = frozenset(
    {"name", "description", "allowed-tools", "license", "compatibility", "metadata", "argument-hint"}
    | {"disable-model-invocation", "user-invocable"}
)

_NAME = compile_lazily(r"\w[\w.-]{0,127}")


def parse_skill(
    text: str, source: str, folder: Path, *, inside: str = "", files: tuple[str, ...] = ()
) -> Skill:
    """Parse a SKILL.md. Raises BadSkill. source: path of its folder, for messages"""
    try:
        found = split_front_matter(text)
        if found is None:
            raise BadSkill(f"{source}: {NO_FRONT_MATTER}")
        fields, body = found
        description = read_text_field(fields, "description")
        if not description:
            raise BadSkill(
                f"{source}: there is no description: say in `description:` what it does and when to use it"
            )
        return Skill(
            name=_choose_name(read_text_field(fields, "name"), folder.name, source),
            description=description[:LONGEST_DESCRIPTION],
            body=body.strip(),
            source=source,
            folder=folder,
            inside=inside,
            allowed_tools=read_list_field(fields, "allowed-tools"),
            license=read_text_field(fields, "license"),
            compatibility=read_text_field(fields, "compatibility"),
            metadata=_read_metadata(fields.get("metadata")),
            argument_hint=_read_hint(fields.get("argument-hint")),
            is_offered=not read_flag_field(fields, "disable-model-invocation", False),
            is_command=read_flag_field(fields, "user-invocable", True),
            files=files,
            unused=tuple(str(each) for each in fields if each not in _USED),
        )
    except BadFrontMatter as error:
        raise BadSkill(f"{source}: {error}") from None


def _choose_name(given: str, folder: str, source: str) -> str:
    """Return the name by which a skill is called: its own, or that of its folder where that is none."""
    for each in (given, folder):
        name = each.lower()
        if _NAME.fullmatch(name):
            return name
    raise BadSkill(f"{source}: {given or folder!r} is no name: write small letters, digits and - in `name:`")


def _read_metadata(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(key): str(each) for key, each in value.items()}


def _read_hint(value: Any) -> str:
    """Return the hint at a command's arguments: `[file]` without quotes is a list to YAML."""
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "" if value is None else " ".join(str(value).split())
