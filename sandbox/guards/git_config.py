"""Files of a workspace that git's own configuration makes it obey: `include.path`, `includeIf`, `core.hooksPath`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sandbox.fs.regular_file import read_regular_text
from sandbox.fs.repository import find_common_dir

_MOST_FILES = 64
"""Files read in all: git itself gives up at ten nested includes."""

_LARGEST = 1 << 20
"""Bytes of a configuration file that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredPaths:
    """Paths that a repository's configuration names. included: files, existing or not; hooks: folders"""

    included: tuple[Path, ...] = ()
    hooks: tuple[Path, ...] = ()


def find_configured_paths(work_tree: Path, git_dir: Path) -> ConfiguredPaths:
    """Return the files that a repository's own configuration includes, under any condition, and its hook folders."""
    included: dict[Path, None] = {}
    hooks: dict[Path, None] = {}
    waiting = [find_common_dir(git_dir) / "config", git_dir / "config.worktree"]
    for _ in range(_MOST_FILES):
        if not waiting:
            break
        path = waiting.pop(0)
        for name, value in _read_entries(path):
            if name == "core.hookspath":
                hooks[_join_path(work_tree, value)] = None
            elif (place := _join_path(path.parent, value)) not in included:
                included[place] = None
                waiting.append(place)
    return ConfiguredPaths(included=tuple(included), hooks=tuple(hooks))


def _join_path(base: Path, value: str) -> Path:
    return base / os.path.expanduser(value)  # noqa: PTH111 (an unknown user is no error)


def _read_entries(path: Path) -> tuple[tuple[str, str], ...]:
    try:
        found = path.stat()
    except OSError:  # missing
        return ()
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        return ()
    return _parse_file(
        path, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    )


@lru_cache(maxsize=256)
def _parse_file(path: Path, identity: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """Return the entries that matter, read once per identity of the file."""
    text = read_regular_text(path, _LARGEST)
    if text is None:  # not readable, by git neither
        return ()
    return tuple(
        (f"{section}.{key}", value)
        for section, key, value in parse_config(text)
        if value and ((section, key) == ("core", "hookspath") or (section in _INCLUDES and key == "path"))
    )


_INCLUDES = ("include", "includeif")


def parse_config(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key (both in lower case) and value of each entry (git-config(1), "Syntax"); subsections are
    left out. Ends at the first place that git would refuse."""
    at, section = 0, ""
    while at < len(text):
        character = text[at]
        if character.isspace() or character == "\ufeff":
            at += 1
        elif character in "#;":
            at = _find_line_end(text, at)
        elif character == "[":
            end = _find_header_end(text, at)
            section, at = text[at + 1 : end].split('"')[0].strip().partition(".")[0].lower(), end + 1
        else:
            end = at
            while end < len(text) and (text[end].isalnum() or text[end] == "-"):
                end += 1
            if end == at:
                return
            key, at = text[at:end].lower(), end
            while at < len(text) and text[at] in " \t":
                at += 1
            value = ""
            if at < len(text) and text[at] == "=":
                value, at = _read_value(text, at + 1)
            yield section, key, value


def _find_line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _find_header_end(text: str, at: int) -> int:
    quoted = False
    while at < len(text) and (quoted or text[at] != "]"):
        if text[at] == "\\":
            at += 1
        elif text[at] == '"':
            quoted = not quoted
        at += 1
    return at


def _read_value(text: str, at: int) -> tuple[str, int]:
    """Return the value that begins at a position, and the position after its line."""
    found: list[str] = []
    kept, quoted = 0, False
    while at < len(text) and text[at] != "\n":
        character = text[at]
        if character == "\\" and at + 1 < len(text):
            at += 1
            if text.startswith("\r\n", at):
                at += 1
            if text[at] != "\n":  # else the value goes on in the next line
                found.append(_ESCAPES.get(text[at], text[at]))
                kept = len(found)
        elif character == '"':
            quoted, kept = not quoted, len(found)
        elif character in "#;" and not quoted:
            return "".join(found[:kept]), _find_line_end(text, at)
        elif quoted or found or not character.isspace():
            found.append(character)
            kept = len(found) if quoted or not character.isspace() else kept
        at += 1
    return "".join(found[:kept]), at


_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
