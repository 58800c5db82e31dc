"""Files and folders of a plugin's parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agent.extension.plugins.plugin_store import Plugin

_SKILL = "SKILL.md"


def list_skill_places(plugin: Plugin) -> list[Path]:
    """Return the folders of a plugin's skills."""
    found: list[Path] = []
    for place in plugin.list_places("skills"):
        inside = sorted(place.iterdir()) if place.is_dir() else []
        found += (
            [place] if (place / _SKILL).is_file() else [each for each in inside if (each / _SKILL).is_file()]
        )
    return found


def list_markdown_files(plugin: Plugin, kind: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of its commands or agents, each with its name relative to their folder."""
    for place in plugin.list_places(kind):
        if place.is_file():
            yield place, place.name
            continue
        for path in sorted(place.rglob("*.md")):
            if path.name.lower() != "readme.md":
                yield path, path.relative_to(place).as_posix()
