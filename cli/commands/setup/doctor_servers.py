"""State of the language servers that the settings name: each is started in the sandbox, as a session would."""

from __future__ import annotations

from pathlib import Path

from sandbox.errors import UserError

SECONDS = 20.0
"""Seconds for each to start."""


def check_language_servers(root: Path, scratch: Path) -> list[tuple[str, str]]:
    """Return for each server its languages, and why it does not start, "" if it does."""
    from cli.commands.setup.test_workspace import open_test_workspace
    from sandbox.process.bounded_end import run_loop
    from tools.code.lsp.session_servers import Servers

    try:
        at = open_test_workspace(root, scratch)
    except UserError:  # the settings are reported as such
        return []
    commands: dict[str, list[str]] = {}
    for language, command in at.settings.language_servers.items():
        commands.setdefault(command, []).append(language)
    if at.sandbox.name == "container":
        return [(command, "no server can run in a container") for command in commands]

    async def try_all() -> list[tuple[str, str]]:
        found = []
        for command, languages in commands.items():
            servers = Servers({languages[0]: command})
            try:
                found.append((f"{', '.join(languages)}: {command}", await servers.try_start(at, SECONDS)))
            finally:
                await servers.close()
        return found

    return run_loop(try_all())
