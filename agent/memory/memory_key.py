"""Key of a repository's memory: its first commit, with the remotes and folders that share it; without git, the folder.

Worktrees share a git folder, clones a remote, or the one has the other as its remote. A fork has the same first commit
and neither, so that what somebody else's copy taught is not told in one's own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agent.app_dirs import Home, make_private_folder
from sandbox.errors import UserError
from sandbox.fs.private_files import write_private_file
from sandbox.fs.repository import find_git_folders
from sandbox.parsed_data import parse_json

_GROUPS = ".groups"
"""End of the file that says which copies of a repository share which key: identities by key, as JSON."""

_KEY_FILE = "memory-key"
"""File of a project's folder that keeps the key: finding the first commit of a long history takes a while.

With it stands when git made the repository here, since another one may be put in its place.
"""

_TIMEOUT = 20.0
"""Seconds for git to walk the history once; a repository for which that is too short is known by its folder."""


def find_store_path(home: Home, root: Path) -> Path:
    """Return where the store of a repository is, or would be."""
    return home.memory / f"{find_memory_key(home, root)}.sqlite"


def find_memory_key(home: Home, root: Path) -> str:
    """Return the key of the repository at `root`.

    That of the first commit is kept; a folder's is not, since the first commit may yet be made.
    """
    file, stamp = home.get_project_folder(root) / _KEY_FILE, _read_stamp(root)
    with suppress(OSError, UnicodeDecodeError):
        known, _, made = file.read_text("ascii").strip().partition(" ")
        is_key = len(known) == _DIGITS + 2 and known[2:].isalnum() and known[:2] == "c-"
        if is_key and made == stamp:
            return known
    first = _find_first_commit(root)
    if not first:
        return "f-" + hashlib.sha256(os.fsencode(root)).hexdigest()[:_DIGITS]
    key = _join_group(home, first, _list_identities(root))
    with suppress(OSError, UserError):  # not writable: found again next time
        make_private_folder(file.parent)
        write_private_file(file, f"{key} {stamp}".encode())
    return key


def _read_stamp(root: Path) -> str:
    """Return what differs between two repositories that git made at one place: of a file that is written once."""
    folders = find_git_folders(root)
    if folders is None:
        return ""
    with suppress(OSError):
        made = (folders[1] / "description").stat()
        return f"{made.st_ino}.{made.st_mtime_ns}"
    with suppress(OSError):
        return str(folders[1].stat().st_ino)
    return ""


def _join_group(home: Home, first: str, identities: Sequence[str]) -> str:
    """Return the key of the copies of a repository that share an identity with this one, and note this one's.

    A remote that is added later does not move a copy: its own key is kept.
    """
    file = home.memory / f"{_hash(first)}{_GROUPS}"
    groups: dict[str, list[str]] = {}
    with suppress(OSError, ValueError, AttributeError, TypeError):
        groups = {
            str(key): [str(each) for each in known] for key, known in parse_json(file.read_bytes()).items()
        }
    shared = (key for key, known in groups.items() if set(known) & set(identities))
    key = next(shared, "") or _hash(first if not groups else "\0".join([first, *identities]))
    groups[key] = sorted({*groups.get(key, ()), *identities})
    with suppress(OSError, UserError):
        make_private_folder(home.memory)
        write_private_file(file, json.dumps(groups).encode())
    return key


def _hash(text: str) -> str:
    return "c-" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]


def _list_identities(root: Path) -> list[str]:
    """Return the git folder of a repository, and its remotes, in one form for all ways to write them."""
    from tools.git.git_process import Git, GitFailed

    folders = find_git_folders(root)
    found = [os.path.realpath(folders[1])] if folders is not None else []
    try:
        listed = Git(root, alone=True).run_text("config", "--local", "--get-regexp", r"^remote\..*\.url$")
    except (GitFailed, OSError):  # it has none
        return found
    for line in listed.splitlines():
        url = line.partition(" ")[2].strip()
        folder = find_git_folders(root / url) if url and (root / url).is_dir() else None
        found.append(os.path.realpath(folder[1]) if folder is not None else _simplify_url(url))
    return found


def _simplify_url(url: str) -> str:
    """Return `host/path` of an address, however it is written: git@host:path, ssh://, https://, with .git or not."""
    plain = url.partition("://")[2] or url.replace(":", "/", 1)
    host, _, path = plain.partition("/")
    return f"{host.rpartition('@')[2].lower()}/{path.strip('/').removesuffix('.git')}"


_DIGITS = 24


def _find_first_commit(root: Path) -> str:
    """Return the id of the oldest first commit of a whole history; "" without git, a commit, or in a shallow clone."""
    folders = find_git_folders(root)
    if folders is None or (folders[1] / "shallow").exists():  # the oldest commit there is not the first one
        return ""
    from tools.git.git_process import Git, GitFailed

    try:
        found = Git(root, alone=True).run_text(
            "rev-list", "--max-parents=0", "--date-order", "HEAD", timeout=_TIMEOUT
        )
    except (GitFailed, OSError):
        return ""
    return found.split("\n")[-1].strip()
