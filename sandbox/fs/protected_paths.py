"""Paths in the workspace that commands must not write: git folders, tool settings, Patchwright's own files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from sandbox.fs.installation import list_installation_paths
from sandbox.fs.repository import find_common_dir, find_git_dir
from sandbox.guards import self_run_files
from sandbox.guards.git_config import ConfiguredPaths, find_configured_paths
from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.child_environment import list_homes

GIT = ".git"

OWN = ("patchwright.toml", ".patchwright")
"""Patchwright's settings in a project: they choose commands to run, so only the user changes them."""

FOLDERS = (GIT, *self_run_files.FOLDERS)
"""Settings of git, editors, continuous integration and hooks: programs run them with the user's rights."""

_PARTS_OF_GIT = ("objects", "refs", "commondir")
_ACTED_ON = ("config", "config.worktree", "hooks")
"""Entries of a git folder by which git finds its data, and by which it starts programs."""

BARE = "HEAD"
"""A workspace without `.git` becomes a repository's data itself by this file, `objects` and `refs`."""

HELD = frozenset({GIT, ".vscode", ".idea", BARE})
"""Names on which git, an editor or a shell prompt acts as soon as they appear: placeholders hold them while
commands run. New entries under other protected names are moved away after the command."""

FILES = self_run_files.FILES

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

    there: existing files and folders, links resolved; in the workspace, or git folders of it elsewhere
    links: protected names that are symbolic links (their targets are in `there`)
    folders: names of protected folders, existing or not
    files: names of protected files, existing or not
    missing: files that do not exist yet, at any depth, and on which git or an agent will act
    watched: names whose changes are reported
    installed: those of `there` that are not audited: large ones, such as Patchwright's installation
    """

    there: tuple[Path, ...]
    links: tuple[Path, ...]
    folders: tuple[Path, ...]
    files: tuple[Path, ...]
    watched: tuple[Path, ...]
    missing: tuple[Path, ...] = ()
    installed: frozenset[Path] = frozenset()

    def list_enclosing_folders(self, root: Path, denied: Iterable[Path] = ()) -> list[Path]:
        """Return the folders between root and protected or denied paths: renaming one would bypass the protection.

        None is in a protected or denied folder: a mount there would open what is closed.
        """
        top = f"{root}/".replace("//", "/")
        closed = {*map(str, self.there), *map(str, denied)}  # strings: the parents of a Path take long
        if not closed.isdisjoint((str(root), *map(str, root.parents))):
            return []
        inside = [place for place in closed if place.startswith(top)]
        between = {folder for place in inside for folder in _list_folders_between(top, place)}
        return sorted(
            Path(folder)
            for folder in between
            if closed.isdisjoint((folder, *_list_folders_between(top, folder)))
        )


def _list_folders_between(top: str, path: str) -> Iterator[str]:
    """Yield the folders around a path that are inside a folder. top: the folder, with a slash at its end"""
    at = path.find("/", len(top))
    while at > 0:
        yield path[:at]
        at = path.find("/", at + 1)


def find_protected_paths(root: Path, nested: tuple[Path, ...] = ()) -> ProtectedPaths:
    """Find the protected paths of a workspace.

    nested: existing ones below the top, see `Inventory.list_guarded`
    """
    is_home = root in list_homes()
    names = {entry.name for entry in _scan_entries(root)}
    tops = [root / GIT] if GIT in names else []
    tops += self_run_files.list_top_entries(root, names)
    if is_home:
        tops += [root / name for name in (*IN_A_HOME_FOLDERS, *IN_A_HOME) if name in names]
    tops += [path for path in nested if os.path.lexists(path)]
    configured = _find_configured(root, nested)
    tops += [path for path in (*configured.included, *configured.hooks) if os.path.lexists(path)]
    missing = [path for path in configured.included if not os.path.lexists(path)]
    installed = list_installation_paths(root)
    tops += installed
    present = [path for path in tops if path.exists()]
    # What a link leads to outside is not written anyway, and a mount of it could show what is hidden.
    there = [real for path in present if root in (real := path.resolve()).parents]
    for entry in present:
        if entry.name == GIT and entry.is_file() and (folder := find_git_dir(entry.parent)):
            there += [folder.resolve(), find_common_dir(folder).resolve()]
    # The top itself or a folder around it cannot be protected.
    kept = [path for path in dict.fromkeys(there) if path != root and path not in root.parents]
    links = [each for each in self_run_files.INSIDE_FOLDERS if each in names and (root / each).is_symlink()]
    for name in self_run_files.INSIDE_FILES if links else ():
        if name.partition("/")[0] in links:
            path = _resolve_parent(root / name)
            missing += [path] if root in path.parents and not os.path.lexists(path) else []
    unborn = () if GIT in names or BARE in names else (root / BARE,)
    folders, files, watched = _join_names(root, is_home)
    return ProtectedPaths(
        there=tuple(kept),
        links=tuple(path for path in tops if path.is_symlink()),
        folders=(*folders, *unborn),
        files=files,
        watched=watched,
        missing=tuple(missing),
        installed=frozenset(path.resolve() for path in installed),
    )


@lru_cache(maxsize=8)
def _join_names(root: Path, is_home: bool) -> tuple[tuple[Path, ...], ...]:
    """Return folders, files and watched names of a workspace as paths: a hundred, the same before each command."""
    folders = (*FOLDERS, *IN_A_HOME_FOLDERS) if is_home else FOLDERS
    files = (*FILES, *self_run_files.INSIDE_FILES, *(IN_A_HOME if is_home else ()))
    return tuple(tuple(root / name for name in names) for names in (folders, files, WATCHED))


def _resolve_parent(path: Path) -> Path:
    return Path(os.path.realpath(path.parent)) / path.name


def _find_configured(root: Path, nested: tuple[Path, ...]) -> ConfiguredPaths:
    """Return the paths in the workspace that the configuration of its repositories names."""
    included: dict[Path, None] = {}
    hooks: dict[Path, None] = {}
    repositories = [(root, find_git_dir(root))]
    for path in nested[:_MOST_CONFIGURED]:
        if path.name == GIT:
            repositories.append((path.parent, find_git_dir(path.parent)))
        elif (path / BARE).is_file():
            repositories.append((path, path))
    for work_tree, git_dir in repositories:
        if git_dir is None:
            continue
        found = find_configured_paths(work_tree, git_dir)
        for paths, kept in ((found.included, included), (found.hooks, hooks)):
            for path in paths:
                real = _resolve_parent(path)
                if real.name != ".." and root in real.parents:
                    kept[real] = None
    return ConfiguredPaths(included=tuple(included), hooks=tuple(hooks))


_MOST_CONFIGURED = 50
"""Repositories inside whose configuration is read: their state is checked before every command."""


def find_protected_name(root: Path, path: str) -> str:
    """Return the protected name in a path, else "". For edits, which the kernel does not confine.

    path: relative to the workspace, links resolved

    Names match at any depth, because an editor, a shell or a package manager may be started in any folder,
    and in any case, because some file systems take `.GitHub` for `.github`. Unlike commands, an edit names
    its target, so start-up files of shells are matched by name too: a home folder may link into the
    workspace.
    """
    parts = Path(os.path.normpath(path)).parts or (".",)  # the workspace itself
    if GIT in (part.casefold() for part in parts):
        return GIT
    if found := self_run_files.find_self_run_part(parts) or _find_in_home(root, parts):
        return found
    if found := _find_git_part(root, parts):
        return found
    place = Path(os.path.normpath(root / path))
    configured = _find_configured(root, ())
    if place in configured.included:
        return place.relative_to(root).as_posix()
    hooks = next((each for each in configured.hooks if place.is_relative_to(each)), None)
    return hooks.relative_to(root).as_posix() if hooks else ""


def _find_in_home(root: Path, parts: Sequence[str]) -> str:
    """Return a start-up file of a shell at any depth, or a folder of a workspace that is a home."""
    if parts[-1].casefold() in _FOLDED_HOME_FILES:
        return parts[-1]
    folders = _FOLDED_HOME_FOLDERS if root in list_homes() else frozenset()
    return next((part for part in parts if part.casefold() in folders), "")


def _find_git_part(root: Path, parts: Sequence[str]) -> str:
    """Return the part of a path by which a plain folder would become a repository's data, or by which git runs
    programs where it is one (`fixture.git`)."""
    if parts[-1] == BARE and not _is_plain_head(root.joinpath(*parts)):
        return BARE
    for at, name in enumerate(parts):
        folder = root.joinpath(*parts[:at])
        if name in _PARTS_OF_GIT and os.path.lexists(folder / BARE):
            return name
        if name in _ACTED_ON and all(os.path.lexists(folder / each) for each in (BARE, "objects", "refs")):
            return name
    return ""


def _is_plain_head(path: Path) -> bool:
    """Return whether a file `HEAD` is there with nothing beside it that makes its folder a repository's data: what it
    says then names no branch. The parts that are missing are not written while it is there."""
    return path.is_file() and not any(os.path.lexists(path.parent / each) for each in _PARTS_OF_GIT)


_FOLDED_HOME_FOLDERS = frozenset(IN_A_HOME_FOLDERS)
_FOLDED_HOME_FILES = frozenset(IN_A_HOME)
"""All these names are in lower case already."""


def _scan_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:  # not readable
        return
