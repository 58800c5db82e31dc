"""Completion in the prompt: slash commands and their arguments, files and symbols of the repository after an @."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from cli.repository_files import list_files
from cli.tui.commands.command_table import COMMANDS, Command
from cli.tui.commands.extension.custom_commands import load_custom_commands
from cli.tui.input.fuzzy_match import FuzzyIndex, rank_matches
from cli.tui.input.symbol_names import SymbolNames
from sandbox.errors import UserError
from sandbox.sanitize import sanitize_text
from tools.fs.search import build_exclusion_options

if TYPE_CHECKING:
    from cli.tui.conversation.chat import Chat

FRESH = 10.0
"""Seconds for which a file listing is reused: listing takes 5 to 500 ms, and files come and go."""

SHOWN = 50


class PromptCompleter(Completer):
    """Completer of the prompt, to be run in a thread: listing a large repository takes a while.

    again: called, in any thread, when more completions have become available
    """

    def __init__(self, chat: Chat, again: Callable[[], None]) -> None:
        self._chat = chat
        workspace = chat.runtime.workspace
        self._files = FileListing(workspace.root)
        cache = workspace.folders.shared or workspace.folders.cache
        self._names = SymbolNames(
            workspace.root, cache, tuple(build_exclusion_options(workspace)), arrived=again
        )

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield completions if the text starts with / or the word at the cursor with @."""
        text = document.text_before_cursor
        if text.startswith("/") and "\n" not in text:
            name, space, argument = text.partition(" ")
            yield from self._complete_argument(name, argument) if space else self._complete_command(text)
            return
        word = text.rpartition(" ")[2].rpartition("\n")[2]
        if word.startswith("@"):
            yield from self._complete_mention(word[1:])

    def _complete_mention(self, query: str) -> Iterator[Completion]:
        """Yield resources of MCP servers, files whose name contains the query, symbols, then all other files."""
        yield from self._complete_resource(query)
        files = self._files.find_matching(query, SHOWN)
        close = [path for path in files if query.lower() in path.rpartition("/")[2].lower()]
        start = -len(query)
        for path in close:
            yield Completion(f"{path} ", start_position=start, display=sanitize_text(path))
        for each in self._names.find_matching(query, SHOWN) if "/" not in query else ():
            where = sanitize_text(f"{each.kind} · {each.path}:{each.line}")
            text = f"{each.path}:{each.name} "
            yield Completion(text, start_position=start, display=sanitize_text(each.name), display_meta=where)
        for path in files:
            if path not in close:
                yield Completion(f"{path} ", start_position=start, display=sanitize_text(path))

    def _complete_resource(self, query: str) -> Iterator[Completion]:
        servers = self._chat.runtime.mcp
        found = [
            (f"{server.name}:{each.uri}", each.name) for server in servers or () for each in server.resources
        ]
        for index in rank_matches(query, [text for text, _ in found], SHOWN) if query else ():
            text, name = found[index]
            yield Completion(
                f"{text} ",
                start_position=-len(query),
                display=sanitize_text(text),
                display_meta=sanitize_text(name),
            )

    def _complete_command(self, text: str) -> Iterator[Completion]:
        commands = self._list_commands()
        first = [each for each in commands if each.name.startswith(text)]
        names = [each.name for each in commands]
        others = [commands[index] for index in rank_matches(text[1:], names) if commands[index] not in first]
        for each in [*first, *(others if len(text) > 2 else [])]:
            space = " " if each.argument else ""
            yield Completion(
                each.name + space, start_position=-len(text), display=each.name, display_meta=each.help
            )

    def _complete_argument(self, name: str, argument: str) -> Iterator[Completion]:
        command = next((each for each in self._list_commands() if each.name == name), None)
        if command is None or command.choices is None:
            return
        choices: list[tuple[str, str]] = []
        with suppress(UserError, OSError):  # no git repository, an unreadable folder: the command reports it
            choices += command.choices(self._chat)
        first = rank_matches(argument, [text for text, _ in choices], SHOWN)
        meant = [i for i, (_, about) in enumerate(choices) if argument and argument.lower() in about.lower()]
        for index in [*first, *(each for each in meant if each not in first)][:SHOWN]:
            text, about = choices[index]
            yield Completion(
                text,
                start_position=-len(argument),
                display=sanitize_text(text),
                display_meta=sanitize_text(about),
            )

    def _list_commands(self) -> list[Command]:
        return [*COMMANDS, *load_custom_commands(self._chat)]


class FileListing:
    """The repository's files, listed on first use and again when the listing is outdated."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listed: list[str] = []
        self._index = FuzzyIndex()
        self._when = float("-inf")

    def find_matching(self, query: str, limit: int) -> list[str]:
        """Return paths that contain the query's letters in order; file names and closer matches come first."""
        if time.monotonic() - self._when > FRESH:
            self._listed, self._when = list_files(self._root), time.monotonic()
            self._index = FuzzyIndex(self._listed)
        return [self._listed[index] for index in self._index.rank(query, limit)]
