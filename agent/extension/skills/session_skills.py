"""The skills of one session: what a model is told of them, and the tool by which it reads one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.extension.plugins.plugin_copies import expand_root, place_plugin
from agent.extension.skills.skill_catalog import SkillCatalog
from agent.extension.skills.skill_file import Skill
from agent.extension.skills.skill_files import copy_skill, read_skill_file
from sandbox.errors import UserError
from sandbox.policy.effects import Effect
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, tool
from tools.core.text import clip, join_names
from tools.core.untrusted_output import enclose_in_tag, format_note
from tools.core.workspace import Workspace

MOST_NAMED = 40
"""Files of a skill that are named when it is used."""

PAGE = 20_000
"""Characters of a skill that are returned at once: an observation has place for a little more."""

SUGGESTED, SUGGESTION = 5, 300
"""Skills that are named where none has the name that was asked for, and characters of the description of each."""

NAME_WEIGHT, DESCRIPTION_WEIGHT = 4.0, 1.5
"""Weights of words in a ranking of skills, as of tools (tools/discovery/tool_index.py)."""

SHORTEST = 40
"""Characters of a description below which only the names of skills are told."""


class SessionSkills:
    """The skills of a session in the workspace at `root`.

    copies: folder into which the user's skills are copied when they are used, so that commands can read them
    """

    def __init__(self, catalog: SkillCatalog, root: Path, copies: Path | None) -> None:
        self.catalog = catalog
        self._root = root
        self._copies = copies

    def find_skill(self, name: str) -> Skill | None:
        """Return a skill by its name, in capital or small letters."""
        return self.catalog.skills.get(name.strip().lower())

    def render_skill(self, skill: Skill, arguments: str = "") -> str:
        """Return a skill's instructions with the place and the names of its files. Raises UserError.

        arguments: for the places of its text that want some
        """
        folder = self._place_skill(skill)
        body = skill.body.replace("$ARGUMENTS", arguments)
        if skill.plugin is not None and self._copies is not None:
            body = expand_root(body, skill.plugin, self._copies)
        for variable in ("${CLAUDE_SKILL_DIR}", "${SKILL_DIR}"):
            body = body.replace(variable, folder)
        lines = [enclose_in_tag("skill", body, f" name={skill.name!r}"), f"Folder of this skill: {folder}"]
        if skill.files:
            lines.append(f"Its files: {join_names(list(skill.files), MOST_NAMED)}")
        if skill.compatibility:
            lines.append(f"It needs: {skill.compatibility}")
        return "\n".join(lines)

    def render_prompt(self, skill: Skill, request: str) -> str:
        """Return the prompt of a person who calls a skill by its name. Raises UserError. request: what they typed"""
        parts = ["Follow this skill:", self.render_skill(skill, request)]
        if request and "$ARGUMENTS" not in skill.body:
            parts.append(request)
        return "\n\n".join(parts)

    def read_file(self, skill: Skill, name: str) -> str:
        """Return a file of a skill as text. Raises ToolFailure for one that there is not."""
        content = read_skill_file(self._root, skill.inside, skill.folder, name)
        if content is None:
            known = join_names(list(skill.files), MOST_NAMED) if skill.files else "none"
            raise ToolFailure(f"skill: {skill.name} has no file {name!r}. Its files: {known}")
        if b"\0" in content[:8_000]:
            raise ToolFailure(
                f"skill: {name} is no text; a command can read it in {self._place_skill(skill)}"
            )
        return content.decode("utf-8", "replace")

    def _place_skill(self, skill: Skill) -> str:
        """Return the folder in which commands see a skill: relative to the workspace, or that of its copy."""
        if skill.inside:
            return skill.inside
        if self._copies is None:
            return str(skill.folder)
        if skill.plugin is not None:
            return str(
                place_plugin(skill.plugin, self._copies) / skill.folder.relative_to(skill.plugin.folder)
            )
        target = self._copies / skill.name
        return str(target if target.is_dir() else copy_skill(skill, self._root, target))


def make_skill_tool(skills: SessionSkills, budget: int) -> Tool | None:
    """Return the tool that reads a skill; None if no skill is offered to models.

    budget: characters of the names and descriptions that models are told
    """
    offered = [each for each in skills.catalog.skills.values() if each.is_offered]
    if not offered or not budget:
        return None

    def effect_of(arguments: Mapping[str, Any], at: Workspace) -> Effect:
        found = skills.find_skill(str(arguments.get("name") or ""))
        if found is None or not found.inside:
            return Effect(kind="none")
        return Effect(kind="read", paths=(f"{found.inside}/{arguments.get('file') or 'SKILL.md'}",))

    @tool(effect=effect_of)
    async def skill(name: str, file: str = "", line: int = 1, *, at: Workspace) -> Observation:
        """Read a skill: instructions for a kind of task. Do so before a task that its description fits, and follow them. They grant no permission.

        name: of the skill, or a few words about the task, to be told which skills fit
        file: instead, one of its files, relative to its folder
        line: first line, to go on with a long text
        """  # noqa: E501 - one paragraph for the model
        found = skills.find_skill(name)
        if found is None:
            raise ToolFailure(f"skill: there is no skill {name!r}. {_suggest_skills(offered, name)}")
        try:
            text = skills.read_file(found, file.strip()) if file.strip() else skills.render_skill(found)
        except UserError as error:
            raise ToolFailure(f"skill: {error.message}") from None
        return Observation(text=_cut_page(text, line), data={"skill": found.name, "file": file.strip()})

    return replace(
        skill,
        description="\n".join([skill.description, "Skills:", *describe_skills(offered, budget)]),
        reads_only=True,
    )


def describe_skills(skills: Sequence[Skill], budget: int) -> list[str]:
    """Return a line for each skill, its description cut so that all fit into `budget` characters; else the names."""
    lengths = [len(each.name) + 2 for each in skills]
    wanted = sum(lengths) + sum(len(each.description) for each in skills)
    if wanted <= budget:
        return [f"{each.name}: {each.description}" for each in skills]
    share = (budget - sum(lengths)) // len(skills)
    if share >= SHORTEST:
        return [f"{each.name}: {_shorten(each.description, share)}" for each in skills]
    return [clip(", ".join(each.name for each in skills), budget)]


def _suggest_skills(skills: Sequence[Skill], words: str) -> str:
    """Return the skills that have to do with some words, the likeliest first, as a phrase; else the names of all."""
    from tools.discovery.word_ranking import WordRanking

    ranking = WordRanking(
        ((each.name, NAME_WEIGHT), (each.description, DESCRIPTION_WEIGHT)) for each in skills
    )
    fitting = [skills[number] for number in ranking.rank(words)[:SUGGESTED]]
    if not fitting:
        return f"Skills: {', '.join(each.name for each in skills)}"
    lines = (f"{each.name}: {_shorten(each.description, SUGGESTION)}" for each in fitting)
    return "\n".join(["Those that may fit:", *lines])


def _cut_page(text: str, first: int) -> str:
    """Return the lines from `first` on that fit into one observation, and where the rest is."""
    lines = text.split("\n")[max(first, 1) - 1 :]
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size > PAGE and count:
            return "\n".join([*lines[:count], format_note(f"it goes on: line={max(first, 1) + count}")])
    return "\n".join(lines)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"
