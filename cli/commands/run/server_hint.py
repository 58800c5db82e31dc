"""Hint after a one-shot run: an installed language server that the user's settings do not name."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from cli.output.standard_streams import write_error
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.app_dirs import Home
    from agent.turn.runtime import Runtime


def print_server_hint(runtime: Runtime, home: Home) -> None:
    """Print one line, once for each language; nothing is asked and nothing is stored but that it was said."""
    from cli.settings.server_offers import find_offer, remember_offer

    configured = runtime.settings.tools.language_servers
    root, files = runtime.workspace.root, list(runtime.facts.files)
    found = find_offer(home, root, files, configured, os.environ, kind="hinted")
    if found is None:
        return
    remember_offer(home, found, kind="hinted")
    command = shlex.join(
        ["patchwright", "config", "set", f"language_servers.{found.languages[0]}", found.command]
    )
    write_error(
        sanitize_text(f"patchwright: {found.name} is installed; for exact uses and renames: {command}\n")
    )
