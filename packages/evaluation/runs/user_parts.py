"""Digest of the user's own files that a trial sees: agents, skills, hooks, plugins, the guideline of summaries."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from agent.app_dirs import Home
from agent.context.compression.summary import OWN_GUIDELINE
from agent.extension.extension_files import AGENTS, HOOKS, list_skill_folders
from agent.extension.plugins.plugin_store import list_plugins
from sandbox.errors import UserError
from sandbox.fs.regular_file import SOURCE, read_regular_file

_MOST_FILES = 100_000
"""Of one folder: more are no skills, but a link to somewhere else."""


def compute_user_digest(home: Home) -> str:
    """Return the digest of these files, in hex; "" where the user has none. Blocking."""
    digest = hashlib.sha256()
    found = False
    places = (
        ("agents", home.config / AGENTS),
        *((f"skills-{number}", folder) for number, folder in enumerate(list_skill_folders(home))),
        ("hooks", home.config / HOOKS),
        ("guideline", home.config / OWN_GUIDELINE),
    )
    for kind, place in places:
        for file in islice(_iterate_files(place), _MOST_FILES):
            content = _read_content(file)
            name = os.path.relpath(file, place)
            digest.update(f"{kind}\0{name}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
            found = True
    for plugin in list_plugins(home):
        digest.update(f"plugin\0{plugin.name}\0{plugin.record.digest}\0".encode())
        found = True
    return digest.hexdigest() if found else ""


def _iterate_files(place: Path) -> Iterator[str]:
    """Yield the files at or below a place in one order, through links, as sessions read them; each folder once."""
    if place.is_file():
        yield str(place)
    seen: set[str] = set()
    for folder, inner, names in os.walk(place, followlinks=True):
        seen.add(os.path.realpath(folder))
        inner[:] = [each for each in sorted(inner) if os.path.realpath(f"{folder}/{each}") not in seen]
        yield from (f"{folder}/{name}" for name in sorted(names))


def _read_content(file: str) -> bytes:
    """Return the content; of a file that no session reads either, its size and time."""
    try:
        return read_regular_file(file, SOURCE) or b""
    except (UserError, OSError):
        status = Path(file).lstat()
        return f"{status.st_size} {status.st_mtime_ns}".encode()
