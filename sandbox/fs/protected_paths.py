"""What a command may not write although it lies in the workspace: git's folders, settings that others act on, us."""

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
"""Our settings in a project: they say what we run, so only a person changes them."""

FOLDERS = (GIT, ".patchwright", ".vscode", ".idea", ".github", ".circleci", ".husky", ".githooks")
"""Settings of git, editors, continuous integration and hooks: programs that trust the user act on them."""

HELD = frozenset({GIT, ".vscode", ".idea"})
"""Those of FOLDERS on which an editor or a prompt acts the moment they appear: their places are held while
commands run. What appears under another guarded name is moved away after the command, before anyone acts on it."""

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
"""Files at the top of the workspace with this ending are guarded as well."""

WATCHED = (".gitattributes", ".gitmodules", "AGENTS.md")
"""Commands have good reasons to write these, and they do little alone: a change is told, not refused."""

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
"""What a log-in starts: guarded when the workspace is a home folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedPaths:
    """The guarded places of a workspace as they are now.

    there: existing files and folders, links resolved
    links: guarded names that are symbolic links (their targets are in `there`)
    folders: the names of guarded folders, whether they are there or not
    files: the names of guarded files that nothing has yet
    watched: names whose change is told
    installed: those of `there` that hold our own installation; not audited, because they are large
    """

    there: tuple[Path, ...]
    links: tuple[Path, ...]
    folders: tuple[Path, ...]
    files: tuple[Path, ...]
    watched: tuple[Path, ...]
    installed: frozenset[Path] = frozenset()

    def list_enclosing_folders(self, root: Path) -> list[Path]:
        """Folders between the workspace and a guarded place: renamed, they would take its guard with them."""
        between = {folder for place in self.there for folder in place.parents if root in folder.parents}
        return sorted(folder for folder in between if folder not in self.there)


def list_protected_paths(root: Path) -> list[Path]:
    """Existing places under guard, links resolved; of a worktree or submodule the real git folders."""
    return list(find_protected_paths(root).there)


def find_protected_paths(root: Path, nested: tuple[Path, ...] = ()) -> ProtectedPaths:
    """What is under guard in a workspace. nested: `.git` entries of repositories inside it, see `nested_git`."""
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
    # The top itself, or what holds it, can't be closed: a link to it guards nothing.
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
    """Which guarded name a path of the workspace has in it, "" if none: for edits, which the kernel does not see.

    path: relative to the workspace, links followed

    At any depth, because an editor, a shell or a package manager may be started in any folder; in whatever case,
    because there are file systems that take `.GitHub` for `.github`. Unlike commands, an edit says what it writes,
    so start-up files of shells are looked for by name too: the workspace may be where a home folder links to.
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
"""All of these names are in lower case already."""


def find_nested_git_dirs(root: Path) -> tuple[Path, ...]:
    """The `.git` entries of repositories and submodules below the top, as far as a short walk finds them."""
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
"""Looked into, nearest first: 20 ms, once in a session. Repositories inside others lie near the top."""

_SKIPPED = frozenset({"node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".mypy_cache"})


def _scan_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:  # not ours to list
        return


_HOOKS_PATH = re.compile(r"^\s*hooksPath\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


def _find_hooks_folder(root: Path) -> Path | None:
    """The folder of hooks that the repository's own settings name, if it lies in the workspace."""
    folder = find_git_dir(root)
    if folder is None:
        return None
    try:
        found = _HOOKS_PATH.search((find_common_dir(folder) / "config").read_text("utf-8", "replace"))
    except OSError:  # no settings, so no such folder
        return None
    path = Path(os.path.normpath(root / found[1])) if found else root
    return path if root in path.parents else None
