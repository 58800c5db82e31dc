"""Paths in the workspace that commands must not write: git folders, tool settings, Patchwright's own files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.fs.installation import list_installation_paths
from sandbox.fs.repository import find_common_dir, find_git_dir
from sandbox.secrets.child_environment import list_homes

GIT = ".git"

OWN = ("patchwright.toml", ".patchwright")
"""Patchwright's settings in a project: they choose commands to run, so only the user changes them."""

FOLDERS = (GIT, ".patchwright", ".vscode", ".idea", ".github", ".circleci", ".husky", ".githooks")
"""Settings of git, editors, continuous integration and hooks: programs run them with the user's rights."""

HELD = frozenset({GIT, ".vscode", ".idea"})
"""Those of FOLDERS on which an editor or a shell prompt acts as soon as they appear: placeholders hold their
names while commands run. New entries under other protected names are moved away after the command."""

FILES = (
    "patchwright.toml",
    ".envrc",
    ".mcp.json",
    ".gitlab-ci.yml",
    ".pre-commit-config.yaml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
)
ENDING = ".code-workspace"
"""Files at the top of the workspace with this ending are protected too."""

WATCHED = (".gitattributes", ".gitmodules", "AGENTS.md")
"""Files that commands have good reasons to write and that do little alone: changes are reported, not refused."""

IN_A_HOME = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile"),
    *(
        ".gitconfig",
        ".gitignore_global",
        ".vimrc",
        ".tmux.conf",
        ".pam_environment",
        ".xinitrc",
        ".selected_editor",
    ),
)
IN_A_HOME_FOLDERS = (".config", ".local", ".vim", "bin", ".ssh", ".gnupg")
"""Files and folders read at log-in: protected when the workspace is a home folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedPaths:
    """Protected paths of a workspace as they are now.

    there: existing files and folders, links resolved
    links: protected names that are symbolic links (their targets are in `there`)
    folders: names of protected folders, existing or not
    files: protected file names that do not exist yet
    watched: names whose changes are reported
    installed: those of `there` that hold Patchwright's installation; not audited, because they are large
    """

    there: tuple[Path, ...]
    links: tuple[Path, ...]
    folders: tuple[Path, ...]
    files: tuple[Path, ...]
    watched: tuple[Path, ...]
    installed: frozenset[Path] = frozenset()

    def list_enclosing_folders(self, root: Path) -> list[Path]:
        """Return the folders between root and protected paths: renaming one would bypass the protection."""
        between = {folder for place in self.there for folder in place.parents if root in folder.parents}
        return sorted(folder for folder in between if folder not in self.there)


def find_protected_paths(root: Path, nested: tuple[Path, ...] = ()) -> ProtectedPaths:
    """Find the protected paths of a workspace.

    nested: `.git` entries of nested repositories, see `find_nested_git_dirs`
    """
    is_home = root in list_homes()
    folders = (*FOLDERS, *IN_A_HOME_FOLDERS) if is_home else FOLDERS
    files = (*FILES, *IN_A_HOME) if is_home else FILES
    names = {entry.name for entry in _scan_entries(root)}
    tops = [root / name for name in (*folders, *files) if name in names]
    tops += [root / name for name in names if name.endswith(ENDING)]
    tops += [path for path in nested if os.path.lexists(path)]
    if hooks := _find_hooks_folder(root):
        tops.append(hooks)
    installed = list_installation_paths(root)
    tops += installed
    present = [path for path in tops if path.exists()]
    there = [path.resolve() for path in present]
    for entry in present:
        if entry.name == GIT and entry.is_file() and (folder := find_git_dir(entry.parent)):
            there += [folder.resolve(), find_common_dir(folder).resolve()]
    # The top itself or a folder around it cannot be protected, so a link to it is skipped.
    kept = [path for path in dict.fromkeys(there) if path != root and path not in root.parents]
    return ProtectedPaths(
        there=tuple(kept),
        links=tuple(path for path in tops if path.is_symlink()),
        folders=tuple(root / name for name in folders),
        files=tuple(root / name for name in files if name not in names),
        watched=tuple(root / name for name in WATCHED),
        installed=frozenset(path.resolve() for path in installed),
    )


def find_protected_name(root: Path, path: str) -> str:
    """Return the protected name in a path, else "". For edits, which the kernel does not confine.

    path: relative to the workspace, links resolved

    Names match at any depth, because an editor, a shell or a package manager may be started in any folder,
    and in any case, because some file systems take `.GitHub` for `.github`. Unlike commands, an edit names
    its target, so start-up files of shells are matched by name too: a home folder may link into the
    workspace.
    """
    parts = Path(os.path.normpath(path)).parts or (".",)  # the workspace itself
    folders = _FOLDED_FOLDERS | (_FOLDED_HOME_FOLDERS if root in list_homes() else frozenset())
    for part in parts[:-1]:
        if part.casefold() in folders:
            return part
    name = parts[-1].casefold()
    if name in _FOLDED_FILES or name in folders or name.endswith(ENDING):
        return parts[-1]
    hooks = _find_hooks_folder(root)
    if hooks and Path(os.path.normpath(root / path)).is_relative_to(hooks):
        return hooks.relative_to(root).as_posix()
    return ""


_FOLDED_FOLDERS = frozenset(FOLDERS)
_FOLDED_HOME_FOLDERS = frozenset(IN_A_HOME_FOLDERS)
_FOLDED_FILES = frozenset((*FILES, *IN_A_HOME))
"""All these names are in lower case already."""


def find_nested_git_dirs(root: Path) -> tuple[Path, ...]:
    """Return the `.git` entries of repositories and submodules below the top, as far as a bounded walk finds them."""
    found: list[Path] = []
    waiting = [root]
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            break
        folder = waiting.pop(0)
        for entry in _scan_entries(folder):
            if entry.name == GIT:
                found += [folder / GIT] if folder != root else []
            elif entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                waiting.append(folder / entry.name)
            elif entry.name == "HEAD" and (folder / "hooks").is_dir() and (folder / "config").is_file():
                found.append(folder)  # a bare repository
    return tuple(found)


_MOST_FOLDERS = 2000
"""Folders searched, nearest first: 20 ms, once in a session. Nested repositories usually are near the top."""

_SKIPPED = frozenset({"node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".mypy_cache"})


def _scan_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:  # not readable
        return


_HOOKS_PATH = re.compile(r"^\s*hooksPath\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


def _find_hooks_folder(root: Path) -> Path | None:
    """Return the hooks folder set in the repository's own configuration, if it is in the workspace."""
    folder = find_git_dir(root)
    if folder is None:
        return None
    try:
        found = _HOOKS_PATH.search((find_common_dir(folder) / "config").read_text("utf-8", "replace"))
    except OSError:  # no configuration, so no hooks folder
        return None
    path = Path(os.path.normpath(root / found[1])) if found else root
    return path if root in path.parents else None
