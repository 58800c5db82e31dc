"""Git's configuration files, read without git: which files they name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from sandbox.fs.regular_file import read_regular_text
from sandbox.fs.stamped_cache import StampedCache

_LARGEST = 1 << 20
"""Bytes of a file of settings that is read: real ones have a few thousand."""

_MOST_INCLUDES = 50
"""Included files that are read."""

_SECTION = re.compile(r'\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")
_REMARK = re.compile(r"\s[#;].*$")


def read_plain_file(path: Path) -> str:
    """Return the text of a regular file of at most 1 MiB; "" for anything else: a pipe would block, a device
    never end."""
    return read_regular_text(path, _LARGEST) or ""


def read_git_settings(path: Path) -> list[tuple[str, str]]:
    """Return pairs of key and value of one file, without those that it includes. Sections and names are in lower
    case."""
    return _SETTINGS.get(str(path), lambda: (_read_settings(path), [str(path), os.path.realpath(path)]))


_SETTINGS = StampedCache[list[tuple[str, str]]]()


def list_named_files(config: str) -> list[str]:
    """Return the files that a configuration file names, links resolved, and those that its includes name.

    Whether the condition of an `includeIf` holds is git's to know.
    """
    return _NAMED.get(f"{config}\0{os.environ.get('HOME')}", lambda: _list_named(config))


_NAMED = StampedCache[list[str]]()


def _list_named(config: str) -> tuple[list[str], list[str]]:
    found: list[str] = []
    read = [config]
    for each in read:  # it grows meanwhile
        for path, is_include in _iterate_named(each):
            found.append(path)
            if is_include and path not in read and len(read) < _MOST_INCLUDES:
                read.append(path)
    return found, [*read, *map(os.path.realpath, read)]


def _iterate_named(config: str) -> Iterator[tuple[str, bool]]:
    """Yield each file that one configuration file names, and whether it is included."""
    for key, value in read_git_settings(Path(config)):
        path = f"{Path.home()}{value[1:]}" if value.startswith("~/") else value
        is_include = key.startswith(("include.", "includeif.")) and key.endswith(".path")
        if is_include and path and not path.startswith("/"):
            path = f"{os.path.dirname(os.path.realpath(config))}/{path}"  # noqa: PTH120 (a string)
        if not path.startswith("/"):
            continue
        real = os.path.realpath(path)
        if os.path.isfile(real) or (key == "init.templatedir" and os.path.isdir(real)):  # noqa: PTH112, PTH113
            yield real, is_include


def _read_settings(path: Path) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    section = ""
    for line in read_plain_file(path).replace("\\\n", "").splitlines():
        rest = line
        while head := _SECTION.match(rest):
            name = re.sub(r"\\(.)", r"\1", head[2]) if head[2] is not None else ""
            section = head[1].lower() + (f".{name}" if name else "")
            rest = rest[head.end() :]
        if setting := _SETTING.match(rest):
            found.append((f"{section}.{setting[1].lower()}", _parse_value(setting[2])))
    return found


def _parse_value(text: str | None) -> str:
    """Undo quoting, and take a remark away. A name alone means true."""
    if text is None:
        return "true"
    plain = text.strip()
    if '"' not in plain:
        plain = _REMARK.sub("", plain).rstrip()
        return re.sub(r"\\(.)", r"\1", plain)
    parts, quoted, at = "", False, 0
    while at < len(plain):
        char = plain[at]
        if char == "\\" and at + 1 < len(plain):
            at += 1
            parts += plain[at]
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            parts += char
        at += 1
    return parts if quoted else parts.rstrip()
