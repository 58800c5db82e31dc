"""Files that a project commits together: a manifest with its lock file, a change of a package with its changeset."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from sandbox.fs.regular_file import SETTINGS, read_regular_text
from tools.changes.lock_files import has_other_dependencies, list_locks_above
from tools.git.commits.changed_files import ChangedFile

_CODE = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".vue", ".svelte", ".py", ".rs", ".go", ".css")


def list_missing_companions(root: Path, files: Sequence[ChangedFile], paths: Collection[str]) -> list[str]:
    """Return notes on files that a commit should have beside its own. paths: of the commit"""
    notes = [note for file in files if file.path in paths for note in _note_locks(root, file, paths)]
    if note := _note_changeset(root, paths):
        notes.append(note)
    return notes


def _note_locks(root: Path, file: ChangedFile, paths: Collection[str]) -> Iterator[str]:
    if file.base is None or file.now is None:
        return
    for place, lock in list_locks_above(root, file.path):
        name = file.path.rpartition("/")[2]
        if place not in paths and has_other_dependencies(name, file.base.content, file.now.content):
            yield f"{file.path} changed its dependencies, and {place} did not follow: {lock.update}"


def _note_changeset(root: Path, paths: Collection[str]) -> str:
    """Return a note that the project describes changes in files of their own, and that this commit has none."""
    if not any(path.endswith(_CODE) for path in paths):
        return ""
    for folder, tool, command in _list_fragment_folders(root):
        if not any(path.startswith(f"{folder}/") for path in paths):
            return f"this project describes its changes for {tool} in {folder}/, and this commit has none: {command}"
    return ""


def _list_fragment_folders(root: Path) -> Iterator[tuple[str, str, str]]:
    if (root / ".changeset/config.json").is_file():
        yield ".changeset", "changesets", "npx changeset"
    if (root / ".changie.yaml").is_file():
        yield ".changes", "changie", "changie new"
    if (root / "rush.json").is_file() and (root / "common/changes").is_dir():
        yield "common/changes", "rush", "rush change"
    for name in ("towncrier.toml", "pyproject.toml"):
        text = read_regular_text(root / name, SETTINGS, "replace") or ""
        section = re.search(r"^\[tool\.towncrier\]((?:\n(?!\[).*)*)", text, re.MULTILINE)
        if section:
            named = re.search(r"^directory\s*=\s*[\"']([\w./-]+)", section[1], re.MULTILINE)
            yield (named[1].strip("/") if named else "newsfragments"), "towncrier", "towncrier create"
            return
