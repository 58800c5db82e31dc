"""Adding, updating and removing plugins: files are staged, shown, and act only after they were accepted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agent.app_dirs import PLUGINS, Home
from agent.extension.plugins.git_source import open_source
from agent.extension.plugins.marketplace import select_plugin
from agent.extension.plugins.plugin_manifest import read_manifest
from agent.extension.plugins.plugin_parts import PluginContents, compare_parts, read_parts
from agent.extension.plugins.plugin_store import (
    Plugin,
    PluginRecord,
    find_plugin,
    locate_plugin,
    write_record,
)
from agent.extension.plugins.source_tree import SourceTree, compute_tree_digest
from sandbox.errors import Fault, UserError, translate_write_errors
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.fs.regular_file import SOURCE, read_regular_file
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPlugin:
    """A plugin whose files are stored and do not act yet. left: unused parts with the reason, a line each"""

    plugin: Plugin
    contents: PluginContents
    left: tuple[str, ...]


def stage_plugin(home: Home, source: str, name: str = "", reference: str = "") -> StagedPlugin:
    """Store the files of a plugin without accepting it. Raises UserError.

    name: of one in a marketplace, or a folder inside the source; reference: branch, tag or commit
    """
    with open_source(home, source, reference) as tree:
        found = select_plugin(tree, name)
        if isinstance(found, SourceTree):
            return _store_tree(home, found, source, name, reference)
        source = tree.origin if not tree.commit else source
    with open_source(home, found.address, found.reference) as far:
        chosen = far.narrow(found.path)
        return _store_tree(home, chosen, source, name, reference, origin=found.address)


def accept_plugin(home: Home, staged: StagedPlugin) -> None:
    """Let a staged plugin act, in place of its earlier version. Raises UserError."""
    plugin = staged.plugin
    with translate_write_errors(str(plugin.folder)):
        write_record(home, plugin.record)
    for each in plugin.folder.parent.iterdir():
        if each.is_dir() and each not in (plugin.folder, plugin.state):
            shutil.rmtree(each, ignore_errors=True)


def discard_plugin(home: Home, staged: StagedPlugin) -> None:
    """Remove the files of a staged plugin; those of an accepted one stay."""
    place, accepted = staged.plugin.folder, find_plugin(home, staged.plugin.name)
    if accepted is None or accepted.folder != place:
        shutil.rmtree(place, ignore_errors=True)
    _remove_empty(place.parent)


def stage_update(home: Home, plugin: Plugin) -> StagedPlugin:
    """Store the present version of a plugin's source without accepting it. Raises UserError."""
    record = plugin.record
    staged = stage_plugin(home, record.source, record.path, record.ref)
    if staged.plugin.name != plugin.name:
        discard_plugin(home, staged)
        raise UserError(
            Fault.USAGE,
            f"{record.source!r} is called {staged.plugin.name!r} now, not {plugin.name!r}",
            "Remove it, and add the other one.",
        )
    return staged


def compare_versions(before: Plugin, staged: StagedPlugin) -> list[str]:
    """Return the changes of an update: parts with their rights, then other files, a line each."""
    lines = compare_parts(read_parts(before).parts, staged.contents.parts)
    old, new = _read_stored(before.folder), _read_stored(staged.plugin.folder)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            word = "file added" if name not in old else "file removed" if name not in new else "file changed"
            lines.append(f"  {word}: {name}")
    return lines


def remove_plugin(home: Home, plugin: Plugin) -> None:
    """Remove a plugin with all that its programs stored."""
    place = plugin.folder.parent
    with suppress(OSError):  # first its record
        (place / "record.json").unlink()
    shutil.rmtree(place, ignore_errors=True)
    _remove_empty(place)


def is_unchanged(plugin: Plugin) -> bool:
    """Return whether a plugin's files are those that were accepted."""
    files = _read_stored(plugin.folder)
    return compute_tree_digest(files, _list_programs(plugin.folder, files)) == plugin.record.digest


def _store_tree(
    home: Home, tree: SourceTree, source: str, path: str, reference: str, origin: str = ""
) -> StagedPlugin:
    manifest, files = read_manifest(tree), tree.read_all()
    programs = frozenset(name for name in files if tree.entries[name].is_program)
    record = PluginRecord(
        name=manifest.name,
        source=source if tree.commit or origin else tree.origin,
        digest=compute_tree_digest(files, programs),
        path=path,
        ref=reference,
        origin=origin,
        commit=tree.commit,
        version=manifest.version,
        description=manifest.description,
        layout=manifest.layout,
    )
    plugin = locate_plugin(home, record)
    with translate_write_errors(str(plugin.folder)):
        _write_files(plugin.folder, files, programs)
    contents = read_parts(plugin)
    return StagedPlugin(
        plugin=plugin, contents=contents, left=(*manifest.left, *contents.left, *tree.left_out)
    )


def _write_files(folder: Path, files: Mapping[str, bytes], programs: frozenset[str]) -> None:
    if folder.is_dir() and compute_tree_digest(files, programs).startswith(folder.name):
        stored = _read_stored(folder)
        if stored == files:
            return
        shutil.rmtree(folder)
    for name, content in files.items():
        path = folder / name
        create_private_folder(path.parent)
        write_private_file(path, content)
        if name in programs:
            path.chmod(0o700)


def _read_stored(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            found[path.relative_to(folder).as_posix()] = read_regular_file(path, SOURCE) or b""
    return found


def _list_programs(folder: Path, files: Mapping[str, bytes]) -> frozenset[str]:
    return frozenset(name for name in files if (folder / name).stat().st_mode & 0o100)


def _remove_empty(place: Path) -> None:
    """Remove a plugin's folder, and that of all plugins, where nothing is left in it."""
    for each in (place, place.parent):
        if each.name == PLUGINS or each.parent.name == PLUGINS:
            with suppress(OSError):  # not empty, or gone
                each.rmdir()
