"""What a git command of the model would touch or start beyond the repository's own settings and hooks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sandbox.fs.protected_paths import find_protected_name
from sandbox.fs.regular_file import SOURCE, read_regular_text
from sandbox.fs.repository import find_common_dir, find_git_dir
from tools.git.broker import Broker

_EXEC = ("x", "exec")
"""Commands of a rebase's plan that run a line in a shell."""


def find_guarded_operand(root: Path, folder: Path, words: Sequence[str]) -> str:
    """Return the guarded name in the paths of `git mv`, or in what they become; "" if there is none.

    root: the workspace; folder: in which the command works
    """
    paths = [each for each in words if not each.startswith("-") or each is words[-1]]
    for path in [*paths, *(os.path.join(paths[-1], os.path.basename(each)) for each in paths[:-1])]:  # noqa: PTH118, PTH119
        real = os.path.realpath(folder / path)
        if found := find_protected_name(root, os.path.relpath(real, os.path.realpath(root))):
            return found
        if found := find_protected_name(root, os.path.relpath(folder / path, root)):
            return found
    return ""


def find_planned_program(folder: Path) -> str:
    """Return the first line that an unfinished rebase is to run in a shell; "" if there is none.

    folder: the work tree's git folder
    """
    plan = read_regular_text(folder / "rebase-merge/git-rebase-todo", SOURCE) or ""
    lines = (line.split(maxsplit=1) for line in plan.splitlines())
    return next((" ".join(words[1:]) for words in lines if words and words[0] in _EXEC), "")


def find_hooks_of_targets(broker: Broker, root: Path, words: Sequence[str]) -> str:
    """Return a repository on this machine that a push may reach and that has hooks: they would run as the user."""
    named = [
        value
        for key, value in ((each.key, each.value) for each in broker.list_settings())
        if _names_target(key)
    ]
    for each in (*named, *words, *(word.partition("=")[2] for word in words)):
        folder = _find_local_folder(broker.root, root, each)
        if folder is not None and any(_list_hooks(folder)):
            return each
    return ""


def _names_target(key: str) -> bool:
    return key.startswith(("remote.", "branch.")) and key.lower().endswith(("url", "remote", "pushdefault"))


def _find_local_folder(top: Path, root: Path, word: str) -> Path | None:
    """Return the git folder that a word names by a path or a file address; None if it names none."""
    path = unquote(urlsplit(word).path) if word.startswith("file:") else word
    if not path:
        return None
    for base in (root, top):
        for suffix in ("", ".git"):
            place = base / os.path.expanduser(path + suffix)  # noqa: PTH111
            found = find_git_dir(place) or (place if (place / "objects").is_dir() else None)
            if found is not None:
                return found
    return None


def _list_hooks(folder: Path) -> Iterator[str]:
    shared = find_common_dir(folder)
    if re.search("hook|include", read_regular_text(shared / "config", SOURCE) or "", re.IGNORECASE):
        yield "config"
    for path in (shared / "hooks").iterdir() if (shared / "hooks").is_dir() else ():
        if not path.suffix and os.access(path, os.X_OK):
            yield path.name
