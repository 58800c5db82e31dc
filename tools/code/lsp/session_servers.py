"""The language servers of a session: one per command line, started on the first request for its language."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.process.command_line import parse_command_line
from tools.code.languages import match_languages
from tools.code.lsp.language_server import Server
from tools.shell.server_pipes import ServerGone

if TYPE_CHECKING:
    from tools.core.surroundings import Surroundings


_BY_NAME = "(by name: the language server {name} has no answer, {why})"


def _spare_nothing(path: str) -> bool:
    """Return False: no rule protects any path."""
    return False


class Servers:
    """commands: language → command line, from the user's settings

    spared: whether a user's rule forbids a change of a path; checked here because the files that a rename changes
        are known only after the policy's decision
    """

    def __init__(self, commands: Mapping[str, str], spared: Callable[[str], bool] = _spare_nothing) -> None:
        self.spared = spared
        self._commands = commands
        self._running: dict[str, Server] = {}
        self._failed: dict[str, str] = {}

    def get_server(self, at: Surroundings, path: str) -> Server | None:
        """Return the server for a file; None if its language has none, or if the server has failed before."""
        names = [each.name for each in match_languages(path)]
        command = next((self._commands[each] for each in reversed(names) if each in self._commands), "")
        if not command or command in self._failed:
            return None
        return self._get_by_command(at, command)

    def _get_by_command(self, at: Surroundings, command: str) -> Server:
        if command not in self._running:
            line = parse_command_line(command)
            self._running[command] = Server(at, Path(line.argv[0]).name, line)
        return self._running[command]

    async def try_start(self, at: Surroundings, seconds: float) -> str:
        """Start the servers of all languages; return why the first that does not start does not, "" if all do."""
        for command in dict.fromkeys(self._commands.values()):
            try:
                async with asyncio.timeout(seconds):
                    await self._get_by_command(at, command).ensure_started()
            except TimeoutError:
                return f"it did not answer within {seconds:g} s"
            except (ServerGone, ValueError) as error:  # ValueError: a command line that is none
                return str(error)
        return ""

    def warm_up(self, at: Surroundings, path: str) -> None:
        """Start the server for a file that was read, and let it read the project before the first edit."""
        server = self.get_server(at, path)
        if server is not None:
            server.warm_up(path)

    async def give_up(self, server: Server, gone: ServerGone, note: str = _BY_NAME) -> str:
        """Close a server that ended, for the rest of the session, and return a note to the model."""
        if not server.alive:
            command = next((each for each, known in self._running.items() if known is server), "")
            if command:
                del self._running[command]
                self._failed[command] = str(gone)
            await server.close()
        return note.format(name=server.name, why=gone)

    async def close(self) -> None:
        """End all servers. A later request starts them again."""
        running, self._running = list(self._running.values()), {}
        for each in running:
            await each.close()
