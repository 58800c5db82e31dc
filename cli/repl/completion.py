"""Completion in the prompt: slash commands at its beginning, files of the repository after an @."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from cli.repl.commands import COMMANDS
from cli.repl.files import list_files
from sandbox.inert import inert

FRESH = 10.0
"""Seconds for which a listing of the files is used again: it takes 5 to 500 ms, and files come and go."""

SHOWN = 50


class Completions(Completer):
    """Meant to be run in a thread: listing a large repository takes a while."""

    def __init__(self, root: Path) -> None:
        self._files = Files(root)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Nothing unless the text is a command's beginning or the word at the cursor starts with @."""
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text and "\n" not in text:
            yield from self._commands(text)
            return
        word = text.rpartition(" ")[2].rpartition("\n")[2]
        if word.startswith("@"):
            for path in self._files.matching(word[1:], SHOWN):
                yield Completion(path + " ", start_position=1 - len(word), display=inert(path))

    def _commands(self, text: str) -> Iterator[Completion]:
        for each in COMMANDS:
            if each.name.startswith(text):
                space = " " if each.argument else ""
                yield Completion(
                    each.name + space, start_position=-len(text), display=each.name, display_meta=each.help
                )


class Files:
    """The repository's files, listed when first asked for and again when the listing is old."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listed: list[str] = []
        self._when = float("-inf")

    def matching(self, query: str, limit: int) -> list[str]:
        """Paths that contain the query's letters in order; file names and closer matches come first."""
        if time.monotonic() - self._when > FRESH:
            self._listed, self._when = list_files(self._root), time.monotonic()
        ranked = [
            (rank, len(path), path)
            for path in self._listed
            if (rank := _rank(query.lower(), path)) is not None
        ]
        return [path for _, _, path in sorted(ranked)[:limit]]


def _rank(query: str, path: str) -> int | None:
    """0 name starts with it, 1 name contains it, 2 path contains it, 3 letters in order; None no match."""
    lower = path.lower()
    name = lower.rpartition("/")[2]
    if name.startswith(query):
        return 0
    if query in name:
        return 1
    if query in lower:
        return 2
    letters = iter(lower)
    return 3 if all(letter in letters for letter in query) else None
