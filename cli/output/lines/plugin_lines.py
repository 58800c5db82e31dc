"""Plugins and their parts as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.extension.plugins.plugin_parts import PluginPart
    from agent.extension.plugins.plugin_store import Plugin


def format_plugin(found: Plugin) -> str:
    """Return a plugin on one line: name, version, description, source."""
    about = f"  {found.record.description}" if found.record.description else ""
    return f"{found.name} {format_version(found)}{about}  ({found.record.origin or found.record.source})"


def format_parts(parts: Sequence[PluginPart]) -> list[str]:
    """Return a line for each part: kind, name, rights."""
    return [f"  {each.kind} {each.name}: {each.does}" for each in parts]


def format_version(found: Plugin) -> str:
    """Return a plugin's version with its commit, or with the digest of its files."""
    record = found.record
    pinned = f"commit {record.commit[:12]}" if record.commit else f"files {record.digest[:12]}"
    return f"{record.version} ({pinned})".lstrip()
