"""The agents of a session: built in, the user's, and those of a project that the user trusts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path

from agent.app_dirs import Home
from agent.extension.extension_files import AGENT_FOLDERS, AGENTS
from agent.extension.front_matter import split_head
from agent.extension.plugins.plugin_layout import list_markdown_files
from agent.extension.plugins.plugin_store import Plugin, list_plugins
from agent.extension.project_trust import describe_untrusted, is_trusted
from agent.team import OWN_TOOLS
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.definitions.agent_file import BadAgentFile, parse_agent_file
from agent.team.definitions.builtin_agents import BUILT_IN
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Definition
from sandbox.sanitize import quote_name
from tools.builtin_tools import NAMES

TRUST_PLACE = AGENT_FOLDERS[0]
"""Place below which the trust in all agents of a project is stored."""

MOST_FILES = 200
"""Files of one folder that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCatalog:
    """agents: by name; notices: what is not used, and why, a line each; bad: those of them that a person has to mend"""

    agents: Mapping[str, AgentDefinition] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    """A file with its text. shown: its path in messages"""

    name: str
    shown: str
    content: bytes


def load_agents(home: Home, root: Path) -> AgentCatalog:
    """Load the agents of a session in the workspace at `root`. Files that cannot be used become notices."""
    loaded = _Loading()
    for each in BUILT_IN:
        loaded.agents[each.name] = each
    loaded.add_files(_read_user_files(home, loaded.notices))
    files = list(_read_project_files(root, loaded.notices))
    if files and is_trusted(home, root, TRUST_PLACE, _list_definitions(files)):
        loaded.add_files(files, of_project=True)
    elif files:
        loaded.notices.append(describe_untrusted(len(files), "agent", root))
    for plugin in list_plugins(home):
        loaded.add_plugin(plugin)
    return AgentCatalog(agents=loaded.agents, notices=tuple(loaded.notices), bad=tuple(loaded.bad))


def check_agent_files(home: Home, root: Path) -> AgentCatalog:
    """Read all files, whether trusted or not, to see which of them can be used."""
    loaded = _Loading()
    for each in BUILT_IN:
        loaded.agents[each.name] = each
    loaded.add_files(_read_user_files(home, loaded.notices))
    loaded.add_files(list(_read_project_files(root, loaded.notices)), of_project=True)
    return AgentCatalog(agents=loaded.agents, notices=tuple(loaded.notices), bad=tuple(loaded.bad))


def find_agents_to_trust(root: Path) -> tuple[Definition, ...]:
    """Return the agents of the project's files, each with what it asks for."""
    return _list_definitions(list(_read_project_files(root, [])))


class _Loading:
    """The agents that were read so far; of those in one place the first of a name counts."""

    def __init__(self) -> None:
        self.agents: dict[str, AgentDefinition] = {}
        self.notices: list[str] = []
        self.bad: list[str] = []

    def add_files(self, files: list[_File], *, of_project: bool = False) -> None:
        here: dict[str, AgentDefinition] = {}
        for each in files:
            try:
                agent = parse_agent_file(
                    each.content.decode("utf-8"), each.shown, Path(each.name).stem, NAMES | OWN_TOOLS
                )
            except BadAgentFile as error:
                self._add_bad(str(error))
                continue
            except UnicodeDecodeError:
                self._add_bad(f"{each.shown}: it is not UTF-8: save it so")
                continue
            if agent.name in here:
                self._add_bad(
                    f"{each.shown}: {here[agent.name].source} is called {agent.name!r}, too: rename one"
                )
                continue
            if of_project and agent.memory == "user":  # a project does not write what others read
                agent = replace(agent, memory="project")
            here[agent.name] = agent
            self.notices += agent.warnings
        self.agents |= here

    def add_plugin(self, plugin: Plugin) -> None:
        """Add the agents of a plugin under its name; what of them is not used was told when it was added."""
        own = _Loading()
        for path, name in list_markdown_files(plugin, "agents"):
            content = read_regular_file(path, SETTINGS)
            if content is not None:
                own.add_files([_File(name, f"{plugin.name}:{name}", content)], of_project=True)
        for each in own.agents.values():
            name = f"{plugin.name}:{each.name}"
            self.agents[name] = replace(each, name=name)

    def _add_bad(self, line: str) -> None:
        self.bad.append(line)
        self.notices.append(line)


def _read_user_files(home: Home, notices: list[str]) -> list[_File]:
    folder, found = home.config / AGENTS, []
    for name in _list_names(folder):
        try:
            content = read_regular_file(folder / name, SETTINGS)
        except UserError as error:
            notices.append(f"{error.message}: not used")
            continue
        if content is not None:
            found.append(_File(name, quote_name(str(folder / name)), content))
    return found


def _read_project_files(root: Path, notices: list[str]) -> Iterator[_File]:
    for folder in AGENT_FOLDERS:
        for name in _list_names(root / folder):
            try:
                content = read_workspace_file(root, f"{folder}/{name}", SETTINGS)
            except UserError as error:
                notices.append(f"{error.message}: not used")
                continue
            if content is not None:
                yield _File(name, quote_name(f"{folder}/{name}"), content)


def _list_names(folder: Path) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:  # there is none
        return []
    return sorted(name for name in names if name.endswith(".md") and name.lower() != "readme.md")[:MOST_FILES]


def _list_definitions(files: list[_File]) -> tuple[Definition, ...]:
    return tuple(
        Definition(
            kind="agent",
            name=each.shown,
            runs=_describe_content(each.content),
            digest=hashlib.sha256(each.content).hexdigest(),
        )
        for each in files
    )


def _describe_content(content: bytes) -> str:
    """Return the lines of the front matter that give rights, and the size of the instructions."""
    text = content.decode("utf-8", "replace")
    head, _ = split_head(text) or ("", text)
    lines = [line.strip() for line in head.split("\n")]
    rights = [line for line in lines if line.startswith(("tools:", "permissionMode:", "model:"))]
    return "; ".join([*rights, f"{len(content)} bytes"])
