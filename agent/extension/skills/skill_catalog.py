"""The skills of a session: the user's, and those of a project that the user trusts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from agent.app_dirs import Home
from agent.extension.extension_files import SKILL_FILE, SKILL_FOLDERS, SKILLS_TRUST, list_skill_folders
from agent.extension.plugins.plugin_layout import list_skill_places
from agent.extension.plugins.plugin_store import Plugin, list_plugins
from agent.extension.project_trust import describe_untrusted, has_trust, is_trusted
from agent.extension.skills.skill_check import find_deviations
from agent.extension.skills.skill_file import BadSkill, Skill, parse_skill
from agent.extension.skills.skill_files import list_skill_files, measure_skill, read_skill_file
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Definition
from sandbox.sanitize import quote_name
from tools.core.text import clip, format_count, format_size

MOST_SKILLS = 500
"""Skills of one folder that are read."""

MOST_BYTES = 64_000_000
"""Bytes of all skills of a project: they are read at each start, to see whether they are as they were trusted."""

_SCRIPTS = "scripts/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillCatalog:
    """skills: by name; notices: what is not used, and why, a line each; bad: those of them that a person has to mend

    deviations: what does not follow the specification, and is used all the same, a line each
    """

    skills: Mapping[str, Skill] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A folder with a SKILL.md. source: its path in messages"""

    folder: Path
    inside: str
    source: str
    content: bytes
    files: tuple[str, ...]


def load_skills(home: Home, root: Path) -> SkillCatalog:
    """Load the skills of a session in the workspace at `root`. Those that cannot be used become notices."""
    loaded = _Loading()
    found = list(_find_project_skills(root, loaded))
    asks = bool(found) and has_trust(home, root, SKILLS_TRUST)
    if asks and is_trusted(home, root, SKILLS_TRUST, _list_definitions(root, found, described=False)):
        loaded.add_skills(found)
    elif found:
        loaded.notices.append(describe_untrusted(len(found), "skill", root))
    loaded.add_skills(_find_user_skills(home, loaded))
    for plugin in list_plugins(home):
        loaded.add_plugin(plugin)
    catalog = loaded.build_catalog()
    _latest[:] = [(home.config, root, catalog)]
    return catalog


def take_skills(home: Home, root: Path) -> SkillCatalog:
    """Return the skills that the settings of this start have just loaded, to tell what is not used; else load them."""
    if _latest and _latest[0][:2] == (home.config, root):
        return _latest.pop()[2]
    return load_skills(home, root)


_latest: list[tuple[Path, Path, SkillCatalog]] = []


def check_skills(home: Home, root: Path) -> SkillCatalog:
    """Read all skills, whether trusted or not, to see which of them can be used and follow the specification."""
    loaded = _Loading()
    loaded.add_skills(_find_project_skills(root, loaded), strict=True)
    loaded.add_skills(_find_user_skills(home, loaded), strict=True)
    return loaded.build_catalog()


def check_skill_folder(folder: Path) -> SkillCatalog:
    """Read one skill, or all skills in a folder, which may be anywhere."""
    loaded = _Loading()
    loaded.add_skills(list_skills_below(folder, loaded), strict=True)
    return loaded.build_catalog()


def find_skills_to_trust(root: Path) -> tuple[Definition, ...]:
    """Return the skills of the project, each with what it is and would like to do."""
    return _list_definitions(root, list(_find_project_skills(root, _Loading())))


class _Loading:
    """The skills that were read so far; the first of a name counts."""

    def __init__(self) -> None:
        self.skills: dict[str, Skill] = {}
        self.notices: list[str] = []
        self.bad: list[str] = []
        self.deviations: list[str] = []

    def add_skills(self, found: Iterator[_Found] | Sequence[_Found], *, strict: bool = False) -> None:
        for each in found:
            try:
                text = each.content.decode("utf-8")
                skill = parse_skill(text, each.source, each.folder, inside=each.inside, files=each.files)
            except BadSkill as error:
                self.add_bad(str(error))
                continue
            except UnicodeDecodeError:
                self.add_bad(f"{each.source}/{SKILL_FILE}: it is not UTF-8: save it so")
                continue
            if strict:
                self.deviations += [
                    f"{each.source}: {line}" for line in find_deviations(text, each.folder.name)
                ]
                if (other := self.skills.get(skill.name)) is not None:
                    self.deviations.append(f"{each.source}: not used, since {other.source} has its name")
            self.skills.setdefault(skill.name, skill)

    def add_plugin(self, plugin: Plugin) -> None:
        """Add the skills of a plugin under its name; what of them is not used was told when it was added."""
        own = _Loading()
        for folder in list_skill_places(plugin):
            own.add_skills(list_skills_below(folder, own))
        for each in own.skills.values():
            name = f"{plugin.name}:{each.name}"
            self.skills.setdefault(name, replace(each, name=name, plugin=plugin))

    def add_bad(self, line: str) -> None:
        self.bad.append(line)
        self.notices.append(line)

    def build_catalog(self) -> SkillCatalog:
        return SkillCatalog(
            skills=self.skills,
            notices=tuple(self.notices),
            bad=tuple(self.bad),
            deviations=tuple(self.deviations),
        )


def _find_project_skills(root: Path, loaded: _Loading) -> Iterator[_Found]:
    inside, left = root.resolve(), MOST_BYTES
    for parent in SKILL_FOLDERS:
        for name in _list_names(root / parent):
            folder = root / parent / name
            if not folder.resolve().is_relative_to(inside):
                loaded.add_bad(
                    f"{quote_name(f'{parent}/{name}')}: it is a link that leads outside: remove it"
                )
                continue
            found = _read_skill(root, folder, f"{parent}/{name}", quote_name(f"{parent}/{name}"), loaded)
            if found is None:
                continue
            left -= measure_skill(folder, found.files)
            if left < 0:
                loaded.add_bad(f"{found.source}: not used: the skills of this project are larger than 64 MB")
                return
            yield found


def _find_user_skills(home: Home, loaded: _Loading) -> Iterator[_Found]:
    for parent in list_skill_folders(home):
        yield from list_skills_below(parent, loaded)


def list_skills_below(parent: Path, loaded: _Loading) -> Iterator[_Found]:
    """Yield the skill that a folder is, or those that it has."""
    folders = [parent] if (parent / SKILL_FILE).is_file() else [parent / name for name in _list_names(parent)]
    for folder in folders:
        found = _read_skill(folder, folder, "", quote_name(str(folder)), loaded)
        if found is not None:
            yield found


def _read_skill(root: Path, folder: Path, inside: str, source: str, loaded: _Loading) -> _Found | None:
    try:
        content = read_skill_file(root, inside, folder, SKILL_FILE)
        if content is None:
            return None
        return _Found(
            folder=folder, inside=inside, source=source, content=content, files=list_skill_files(folder)
        )
    except UserError as error:
        loaded.add_bad(f"{error.message}: not used")
        return None


def _list_names(parent: Path) -> list[str]:
    try:
        names = os.listdir(parent)
    except OSError:  # there is none
        return []
    return sorted(name for name in names if not name.startswith(".") and (parent / name).is_dir())[
        :MOST_SKILLS
    ]


def _list_definitions(
    root: Path, found: Sequence[_Found], *, described: bool = True
) -> tuple[Definition, ...]:
    return tuple(
        Definition(
            kind="skill",
            name=each.source,
            runs=_describe(each) if described else "",
            digest=_compute_digest(root, each),
        )
        for each in found
    )


def _describe(found: _Found) -> str:
    """Return what a skill is for, what it would like to do, and its scripts."""
    try:
        skill = parse_skill(found.content.decode("utf-8", "replace"), found.source, found.folder)
    except BadSkill as error:
        return str(error)
    parts = [clip(skill.description, 200)]
    if skill.allowed_tools:
        parts.append(f"would like, and is not granted: {', '.join(skill.allowed_tools)}")
    if scripts := [each for each in found.files if each.startswith(_SCRIPTS)]:
        parts.append(f"scripts, which run in the sandbox: {clip(', '.join(scripts), 200)}")
    parts.append(
        f"{format_count(len(found.files) + 1, 'file')}, instructions of {format_size(len(found.content))}"
    )
    return "; ".join(parts)


def _compute_digest(root: Path, found: _Found) -> str:
    """Return a digest of all files of a skill; one that cannot be read counts by its name."""
    whole = hashlib.sha256()
    for name in (SKILL_FILE, *found.files):
        try:
            content = read_skill_file(root, found.inside, found.folder, name) or b""
        except UserError:
            content = b"not read"
        whole.update(f"{name!r} {hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()
