"""The commands of a session: the user's, and those of a project that the user trusts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from agent.app_dirs import Home
from agent.extension.commands.command_file import SHELL, BadCommandFile, PromptCommand, parse_command_file
from agent.extension.extension_files import COMMAND_FOLDERS, COMMANDS, COMMANDS_TRUST
from agent.extension.plugins.plugin_layout import list_markdown_files
from agent.extension.plugins.plugin_store import Plugin, list_plugins
from agent.extension.project_trust import describe_untrusted, is_trusted
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Definition
from sandbox.sanitize import quote_name
from tools.core.text import SHOWN_COMMAND, clip, format_size

MOST_FILES = 500
"""Files of one folder that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCatalog:
    """commands: by name; notices: what is not used, and why, a line each"""

    commands: Mapping[str, PromptCommand] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def find_command(self, name: str) -> PromptCommand | None:
        """Return a command by its name, or by its last part (`commit` for `git:commit`) if that is clear."""
        wanted = name.lower()
        if (exact := self.commands.get(wanted)) is not None:
            return exact
        ends = [each for each in self.commands.values() if each.name.rpartition(":")[2] == wanted]
        return ends[0] if len(ends) == 1 else None


@dataclass(frozen=True, slots=True)
class _File:
    """A file with its text. name: relative to its folder; shown: its path in messages"""

    name: str
    shown: str
    content: bytes


def load_commands(home: Home, root: Path) -> CommandCatalog:
    """Load the commands of a session in the workspace at `root`. Files that cannot be used become notices."""
    notices: list[str] = []
    commands: dict[str, PromptCommand] = {}
    files = list(_read_project_files(root, notices))
    if files and is_trusted(home, root, COMMANDS_TRUST, _list_definitions(files)):
        _add_files(commands, files, notices, is_project=True)
    elif files:
        notices.append(describe_untrusted(len(files), "command", root))
    _add_files(commands, _read_user_files(home, notices), notices, is_project=False)
    for plugin in list_plugins(home):
        _add_plugin(commands, plugin)
    return CommandCatalog(commands=commands, notices=tuple(notices))


def find_commands_to_trust(root: Path) -> tuple[Definition, ...]:
    """Return the commands of the project, each with the command lines that it runs."""
    return _list_definitions(list(_read_project_files(root, [])))


def _add_plugin(commands: dict[str, PromptCommand], plugin: Plugin) -> None:
    """Add the commands of a plugin under its name; what of them is not used was told when it was added."""
    own: dict[str, PromptCommand] = {}
    for path, name in list_markdown_files(plugin, "commands"):
        content = read_regular_file(path, SETTINGS)
        if content is not None:
            _add_files(own, [_File(name, f"{plugin.name}:{name}", content)], [], is_project=True)
    for each in own.values():
        name = f"{plugin.name}:{each.name}"
        commands.setdefault(name, replace(each, name=name, plugin=plugin))


def _add_files(
    commands: dict[str, PromptCommand],
    files: Iterator[_File] | Sequence[_File],
    notices: list[str],
    *,
    is_project: bool,
) -> None:
    for each in files:
        name = each.name.removesuffix(".md").replace("/", ":")
        try:
            command = parse_command_file(
                each.content.decode("utf-8"), each.shown, name, is_project=is_project
            )
        except BadCommandFile as error:
            notices.append(str(error))
        except UnicodeDecodeError:
            notices.append(f"{each.shown}: it is not UTF-8: save it so")
        else:
            commands.setdefault(command.name, command)


def _read_user_files(home: Home, notices: list[str]) -> Iterator[_File]:
    folder = home.config / COMMANDS
    return _read_files(
        _list_names(folder), notices, lambda name: read_regular_file(folder / name, SETTINGS), str(folder)
    )


def _read_project_files(root: Path, notices: list[str]) -> Iterator[_File]:
    for folder in COMMAND_FOLDERS:

        def read(name: str, folder: str = folder) -> bytes | None:
            return read_workspace_file(root, f"{folder}/{name}", SETTINGS)

        yield from _read_files(_list_names(root / folder), notices, read, folder)


def _read_files(
    names: Sequence[str], notices: list[str], read: Callable[[str], bytes | None], folder: str
) -> Iterator[_File]:
    for name in names:
        try:
            content = read(name)
        except UserError as error:
            notices.append(f"{error.message}: not used")
            continue
        if content is not None:
            yield _File(name, quote_name(f"{folder}/{name}"), content)


def _list_names(folder: Path) -> list[str]:
    """Return the Markdown files below a folder, relative to it; linked folders are left out."""
    found = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        shown = Path(base).relative_to(folder)
        found += [
            (shown / each).as_posix()
            for each in names
            if each.endswith(".md") and each.lower() != "readme.md"
        ]
        if len(found) > MOST_FILES:
            break
    return sorted(found)[:MOST_FILES]


def _list_definitions(files: Sequence[_File]) -> tuple[Definition, ...]:
    return tuple(
        Definition(
            kind="command",
            name=each.shown,
            runs=_describe_content(each),
            digest=hashlib.sha256(each.content).hexdigest(),
        )
        for each in files
    )


def _describe_content(file: _File) -> str:
    """Return what a command is for, what it runs in the sandbox, and what it would like to do."""
    text = file.content.decode("utf-8", "replace")
    try:
        command = parse_command_file(text, file.shown, "x", is_project=True)
    except BadCommandFile as error:
        return str(error)
    parts = [clip(command.description, 200)]
    if lines := SHELL.findall(command.template):
        parts.append(f"runs in the sandbox: {clip('; '.join(lines), SHOWN_COMMAND)}")
    if command.allowed_tools:
        parts.append(f"would like, and is not granted: {', '.join(command.allowed_tools)}")
    return "; ".join([*parts, format_size(len(file.content))])
