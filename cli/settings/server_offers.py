"""Offers of language servers: which is due, and which were made, in a file of the user's data folder."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.app_dirs import Home
from sandbox.fs.private_files import create_private_folder, write_private_file

if TYPE_CHECKING:
    from tools.code.lsp.known_servers import FoundServer

OFFERS_FILE = "server-offers.json"

Kind = Literal["asked", "hinted"]
"""asked: in a conversation; hinted: in a line after a one-shot run, which leaves the question for a conversation."""


def find_offer(
    home: Home,
    root: Path,
    files: Iterable[str],
    configured: Collection[str],
    env: Mapping[str, str],
    *,
    kind: Kind = "asked",
) -> FoundServer | None:
    """Return a server for a language of these files that was not offered before; None in CI, or if there is none.

    configured: languages that have a server in the user's settings
    """
    from tools.code.lsp.known_servers import find_server, list_languages

    if env.get("CI"):
        return None
    made = _read_offers(home).get(kind, [])
    for language in list_languages(files):
        if language in configured or language in made:
            continue
        if (found := find_server(language, configured, root)) is not None:
            return found
    return None


def remember_offer(home: Home, server: FoundServer, *, kind: Kind = "asked") -> None:
    """Note that a server was offered: its languages are not offered one again. A full disk is no error."""
    made = _read_offers(home)
    made[kind] = list(dict.fromkeys([*made.get(kind, []), *server.languages]))
    try:
        create_private_folder(home.data)
        write_private_file(home.data / OFFERS_FILE, json.dumps(made).encode())
    except OSError:
        return


def store_server(home: Home, server: FoundServer) -> Path:
    """Set the server for its languages in the user's settings; return the file. Raises UserError."""
    from cli.settings.setting_sources import store_setting

    path = home.config
    for language in server.languages:
        path = store_setting(home, f"language_servers.{language}", json.dumps(server.command))
    return path


def _read_offers(home: Home) -> dict[str, list[str]]:
    """Return the languages that a server was offered for, by kind of offer."""
    try:
        made = json.loads((home.data / OFFERS_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):  # none yet, or damaged
        return {}
    if not isinstance(made, dict):
        return {}
    return {kind: [str(each) for each in names] for kind, names in made.items() if isinstance(names, list)}
