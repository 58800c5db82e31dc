"""Paths that one git command may use: its repository, the user's configuration, and the files that we name to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from sandbox.fs.git_layout import read_git_layout
from sandbox.fs.git_settings import list_named_files
from sandbox.fs.repository import find_common_dir, find_root
from sandbox.helpers.helper_confinement import Reach
from sandbox.helpers.own_programs import find_own_program

_READING = frozenset(
    {"blame", "cat-file", "check-attr", "check-ignore", "diff", "diff-files", "diff-index", "diff-tree"}
    | {
        "for-each-ref",
        "grep",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "merge-file",
        "name-rev",
        "rev-list",
    }
    | {"rev-parse", "shortlog", "show", "show-ref", "status", "var", "version"}
)
"""Commands that write nothing, as we call them: GIT_OPTIONAL_LOCKS=0 keeps the index as it is."""

_FILTERING = frozenset(
    {
        "add",
        "apply",
        "am",
        "blame",
        "checkout",
        "checkout-index",
        "cherry-pick",
        "commit",
        "diff",
        "diff-files",
    }
    | {
        "diff-index",
        "hash-object",
        "merge",
        "read-tree",
        "rebase",
        "reset",
        "restore",
        "revert",
        "rm",
        "stash",
    }
    | {"status", "switch", "update-index", "worktree"}
)
"""Commands that may pass files of the work tree through filters (git LFS, git-crypt)."""

_PLACES = ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY")
"""Variables that name a folder which git may write."""

_WITH_VALUE = frozenset(("-c", "-C", "--git-dir", "--work-tree", "--exec-path", "--namespace"))


def find_command_name(arguments: Sequence[str]) -> str:
    """Return git's subcommand, "" if there are only options."""
    each = iter(arguments)
    for word in each:
        if word in _WITH_VALUE:
            next(each, None)
        elif not word.startswith("-"):
            return word
    return ""


def may_filter(arguments: Sequence[str]) -> bool:
    """Return whether a command may pass files through filters."""
    return find_command_name(arguments) in _FILTERING


def build_git_reach(
    program: str,
    folder: Path,
    environment: Mapping[str, str],
    arguments: Sequence[str],
    scratch: Sequence[Path],
) -> Reach:
    """Return what a command may use.

    environment: git's own, complete
    scratch: folders and files outside the repository that it may read and write, too
    """
    here = os.path.realpath(folder)
    root = str(find_root(Path(here)) or here)
    own, readable = _list_repository_paths(root, environment)
    places = [os.path.realpath(Path(here, environment[name])) for name in _PLACES if environment.get(name)]
    if named := environment.get("GIT_DIR"):
        places.append(os.path.realpath(find_common_dir(Path(here, named))))
    if index := environment.get("GIT_INDEX_FILE"):
        places.append(os.path.realpath(Path(here, index).parent))  # beside it, git makes a lock
    own += [*places, *(os.path.realpath(each) for each in scratch)]
    others = environment.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "").split(os.pathsep)
    readable += [os.path.realpath(os.path.join(here, each)) for each in others if each]  # noqa: PTH118
    named_files = (*_list_user_files(environment), *_list_argument_files(arguments))
    readable += [os.path.realpath(each) for each in named_files if each.startswith(os.sep)]
    writes = find_command_name(arguments) not in _READING and not _only_asks(arguments)
    return Reach(
        programs=(program, *_list_own_parts(program, environment.get("GIT_EXEC_PATH", ""))),
        readable=tuple(readable if writes else [*own, *readable]),
        writable=tuple(own) if writes else (),
    )


def _list_repository_paths(root: str, environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the folders of the repository, and the files outside it that belong to it."""
    layout = read_git_layout(Path(root))
    if layout is None or environment.get("GIT_DIR"):
        return [root], []
    # Links out of a git folder are refused before, unless the user trusts them.
    own = [root, layout.own, layout.shared, *layout.linked]
    configs = dict.fromkeys(f"{each}/{name}" for each in own[1:3] for name in ("config", "config.worktree"))
    named = [each for config in configs for each in list_named_files(config)]
    if named:
        from sandbox.secrets.child_environment import list_secret_paths

        secret = [f"{each}/" for each in list_secret_paths(())]
        named = [each for each in named if not f"{each}/".startswith(tuple(secret))]
    return own, [*layout.borrowed, *named]


def _only_asks(arguments: Sequence[str]) -> bool:
    name = find_command_name(arguments)
    if name == "config":
        return any(each in ("--get", "--get-all", "--get-regexp", "--list") for each in arguments)
    return not name


@lru_cache(maxsize=16)
def _list_own_parts(program: str, named: str) -> tuple[str, ...]:
    """Return git's other copy, by which it starts itself, and env(1), by which GitPython starts it."""
    prefix = Path(program).resolve().parents[1]
    folders = (named, *(f"{prefix}/{each}/git-core" for each in ("lib", "libexec")))
    found = [os.path.realpath(f"{each}/git") for each in folders if each and Path(each, "git").is_file()]
    env = find_own_program("env")
    return (*found, *((env,) if env else ()))


def _list_user_files(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the user's and the system's configuration, and the files that it names."""
    home = environment.get("HOME", "")
    folder = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    own = environment.get("GIT_CONFIG_GLOBAL")
    configs = [own] if own else [f"{home}/.gitconfig", f"{folder}/git/config"]
    system = environment.get("GIT_CONFIG_SYSTEM")
    configs += [system] if system else [*_SYSTEM_CONFIGS]
    yield from (f"{folder}/git/ignore", f"{folder}/git/attributes", *_SYSTEM_ATTRIBUTES)
    for config in configs:
        if config != os.devnull:
            yield config
            yield from list_named_files(config)
    yield from (value for name, value in environment.items() if name.startswith("GIT_CONFIG_VALUE_"))


_SYSTEM_CONFIGS = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
_SYSTEM_ATTRIBUTES = ("/etc/gitattributes", "/usr/local/etc/gitattributes")


def _list_argument_files(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the files that our own options `-c name=path` name."""
    for option, setting in pairwise(arguments):
        value = setting.partition("=")[2]
        if option == "-c" and value.startswith("/"):
            yield value
