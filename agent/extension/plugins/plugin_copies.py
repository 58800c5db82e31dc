"""Copies of plugins where the commands of a session can read them: the plugins themselves are out of their sight."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from agent.extension.plugins.plugin_store import Plugin
from sandbox.errors import translate_write_errors
from sandbox.fs.private_files import create_private_folder
from sandbox.lazy_pattern import compile_lazily

_FOLDER = ".plugins"
"""Folder of the copies, beside those of skills, whose names do not begin so."""

_LASTS = 2 * 86_400.0
"""Seconds after which the copies of another session are removed; one that still needs them makes them anew."""

_ROOT = compile_lazily(r"\$\{(?:CLAUDE_)?PLUGIN_ROOT\}")


def place_plugin(plugin: Plugin, copies: Path) -> Path:
    """Return the folder in which commands see a plugin's files, copied with the first call. Raises UserError.

    copies: the session's folder of copies
    """
    target = copies / _FOLDER / plugin.name
    if target.is_dir():
        return target
    _remove_old_copies(copies)
    made = target.with_name(f".{plugin.name}.{os.getpid()}")
    with translate_write_errors(str(target)):
        create_private_folder(target.parent)
        shutil.copytree(plugin.folder, made, dirs_exist_ok=True)
        made.replace(target)
    return target


def _remove_old_copies(copies: Path) -> None:
    """Remove the copies of sessions that began long ago."""
    for each in copies.parent.parent.glob(f"*/{copies.name}/{_FOLDER}"):
        with suppress(OSError):  # removed by another session
            if each.parent != copies and time.time() - each.stat().st_mtime > _LASTS:
                shutil.rmtree(each, ignore_errors=True)


def expand_root(text: str, plugin: Plugin, copies: Path) -> str:
    """Put the folder of a plugin's files into a text that names it. Raises UserError."""
    return _ROOT.sub(lambda _: str(place_plugin(plugin, copies)), text) if _ROOT.search(text) else text
