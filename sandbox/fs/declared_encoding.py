"""Encodings that a repository declares for its files: `.editorconfig`, and git's `working-tree-encoding`."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path, PurePosixPath

from sandbox.fs.regular_file import SETTINGS, read_regular_text
from sandbox.fs.repository import find_git_folders, find_root
from sandbox.fs.stamped_cache import StampedCache
from sandbox.fs.text_encoding import find_codec
from sandbox.lazy_pattern import compile_lazily

EDITOR_SETTINGS = ".editorconfig"

_WITH_MARK = ("utf-8-bom", "utf-16le", "utf-16be")
"""Values of `charset` with which editors begin a new file with a byte-order mark."""


def list_declared_encodings(root: Path, path: str) -> list[str]:
    """Return the codecs that the repository declares for a file, the nearest first. path: relative, links resolved"""
    found = (find_codec(_find_charset(root, path)), find_codec(_find_git_encoding(root, path)))
    return [name for name in found if name]


def needs_mark(root: Path, path: str) -> bool:
    """Return whether a new file begins with a byte-order mark."""
    named = _find_git_encoding(root, path).lower()
    return _find_charset(root, path) in _WITH_MARK or named in ("utf-16", "utf-32") or named.endswith("-bom")


def _find_charset(root: Path, path: str) -> str:
    """Return the value of `charset` in the nearest `.editorconfig` that has one for the file, in lower case."""
    top = find_root(root) or root
    place = root / path
    for folder in place.parents:
        if not folder.is_relative_to(top):
            break
        sections, is_top = _SECTIONS.get(f"{folder}/{EDITOR_SETTINGS}", partial(_read, folder))
        inner = place.relative_to(folder).as_posix()
        values = [charset for pattern, charset in sections if pattern.fullmatch(inner)]
        if values and values[-1] != "unset":
            return values[-1]
        if values or is_top:
            break
    return ""


_Sections = tuple[list[tuple[re.Pattern[str], str]], bool]

_SECTIONS = StampedCache[_Sections]()


def _read(folder: Path) -> tuple[_Sections, list[str]]:
    """Return the sections of a folder's `.editorconfig` that set a charset, and whether no other one is above it."""
    place = str(folder / EDITOR_SETTINGS)
    sections: list[tuple[re.Pattern[str], str]] = []
    is_top, pattern = False, None
    for line in (read_regular_text(place, SETTINGS) or "").splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            pattern = _compile_glob(line[1:-1])
            continue
        key, _, value = (part.strip().lower() for part in line.partition("="))
        if key == "root" and pattern is None:
            is_top = value == "true"
        elif key == "charset" and pattern is not None:
            sections.append((pattern, value))
    return (sections, is_top), [place]


def _compile_glob(glob: str) -> re.Pattern[str]:
    """Return the expression for a section (spec.editorconfig.org); one that cannot be read matches nothing."""
    anywhere = "" if "/" in glob else "(?:.*/)?"
    body = "".join(map(_translate, _TOKEN.findall(glob.removeprefix("/"))))
    try:
        return re.compile(anywhere + body)
    except re.error:
        return re.compile(r"(?!)")


_TOKEN = compile_lazily(r"\*\*/?|\*|\?|\[[^\]/]+\]|\{-?\d+\.\.-?\d+\}|\\.|[{},]|[^*?\[{},\\]+|.")
_NUMBERS = compile_lazily(r"\{-?\d+\.\.-?\d+\}")


def _translate(token: str) -> str:
    if _NUMBERS.fullmatch(token):
        return r"[+-]?\d+"
    if len(token) > 1 and token[0] == "[":
        return f"[{'^' + token[2:-1] if token[1] == '!' else token[1:-1]}]"
    if len(token) == 2 and token[0] == "\\":
        return re.escape(token[1])
    return _PARTS.get(token, re.escape(token))


_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}


def _find_git_encoding(root: Path, path: str) -> str:
    """Return git's `working-tree-encoding` of a file. git is asked only where an attribute file speaks of it."""
    folders = find_git_folders(root)
    repository = find_root(root)
    if folders is None or repository is None:
        return ""
    above = [each for each in (root / path).parents if each.is_relative_to(repository)]
    places = [*(each / ".gitattributes" for each in above), folders[1] / "info" / "attributes"]
    if not any(_SPEAKS.get(str(each), partial(_speaks_of_encoding, each)) for each in places):
        return ""
    from sandbox.helpers.git_runner import LITERAL, GitRunner

    runner = GitRunner(root, {**os.environ, "LC_ALL": "C"}, workspace=root)
    named = str(PurePosixPath(path))
    done = runner.run(LITERAL, "check-attr", "-z", "working-tree-encoding", "--", named)
    value = done.split_fields()[-1] if done.returncode == 0 and done.stdout else ""
    return "" if value in ("unspecified", "set", "unset") else value


_SPEAKS = StampedCache[bool]()


def _speaks_of_encoding(place: Path) -> tuple[bool, list[str]]:
    return "working-tree-encoding" in (read_regular_text(place, SETTINGS) or ""), [str(place)]
