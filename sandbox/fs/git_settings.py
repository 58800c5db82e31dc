"""Git's configuration files, read without git: their entries, and the files that they name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sandbox.fs.regular_file import read_regular_text
from sandbox.fs.stamped_cache import StampedCache
from sandbox.lazy_pattern import compile_lazily

_LARGEST = 1 << 20
"""Bytes of a file of settings that is read: real ones have a few thousand."""

_MOST_INCLUDES = 50
"""Included files that are read."""


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
    entries = parse_settings(read_plain_file(path))
    return [(each.key, "true" if each.value is None else each.value) for each in entries]


class Setting(NamedTuple):
    """One entry. section, name: in lower case; subsection: None without one; value: None for a name alone, which means
    true"""

    section: str
    subsection: str | None
    name: str
    value: str | None

    @property
    def key(self) -> str:
        """Section, subsection and name as `git config --list` joins them."""
        return ".".join(each for each in (self.section, self.subsection, self.name) if each is not None)


def parse_settings(text: str) -> Iterator[Setting]:
    """Yield each entry of a configuration (git-config(1), "Syntax"). Ends where git would refuse the rest; reads
    values that git refuses."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    at, section, subsection = 0, "", None
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
        elif text[at] in "#;":
            at = _find_line_end(text, at)
        elif header := _HEADER.match(text, at):
            section, at = header[1].lower(), header.end()
            subsection = None if header[2] is None else re.sub(r"\\(.)", r"\1", header[2])
        elif name := _NAME.match(text, at):
            value, at = None, name.end()
            if text[at : at + 1] == "=":
                value, at = _read_value(text, at + 1)
            yield Setting(section, subsection, name[1].lower(), value)
        else:
            return


_SPACE = " \t\r\n"

_HEADER = compile_lazily(r'\[([A-Za-z0-9.-]*)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]')

_NAME = compile_lazily(r"([A-Za-z0-9-]+)[ \t]*")


def _find_line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _read_value(text: str, at: int) -> tuple[str, int]:
    """Return the value that begins at a position, and the position after its line."""
    found: list[str] = []
    kept, quoted = 0, False
    while at < len(text) and text[at] != "\n":
        character = text[at]
        if character == "\\" and at + 1 < len(text):
            at += 1
            if text[at] != "\n":  # else the value goes on in the next line
                found.append(_ESCAPES.get(text[at], text[at]))
                kept = len(found)
        elif character == '"':
            quoted, kept = not quoted, len(found)
        elif character in "#;" and not quoted:
            return "".join(found[:kept]), _find_line_end(text, at)
        elif quoted or found or character not in _SPACE:
            found.append(character)
            kept = len(found) if quoted or character not in _SPACE else kept
        at += 1
    return "".join(found[:kept]), at


_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def format_setting(setting: Setting) -> str:
    """Return an entry without a subsection, in a form that is read as the same."""
    value = (setting.value or "").replace("\\", "\\\\").replace('"', '\\"')
    for letter, character in _ESCAPES.items():
        value = value.replace(character, f"\\{letter}")
    return f'[{setting.section}]\n\t{setting.name} = "{value}"\n'
