"""Files that a linter's configuration excludes when it looks for files itself, and that it checks if they are named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from sandbox.fs.regular_file import MANIFEST, read_regular_text
from sandbox.parsed_data import parse_toml


def is_excluded_from_black(folder: Path, path: str) -> bool:
    """Return whether a regular expression of pyproject.toml excludes a file. path: relative to `folder`"""
    text = read_regular_text(folder / "pyproject.toml", MANIFEST, "replace") or ""
    try:
        section = parse_toml(text)["tool"]["black"]
        patterns = [str(section[name]) for name in ("exclude", "extend-exclude") if name in section]
        return any(re.search(f"(?x){each}" if "\n" in each else each, f"/{path}") for each in patterns)
    except (ValueError, KeyError, TypeError, re.error):  # nothing that black would read either
        return False


def is_excluded_from_flake8(folder: Path, path: str) -> bool:
    """Return whether a list of names or paths with wildcards excludes a file or a folder above it, up to `folder`."""
    places = [path, *(str(each) for each in PurePosixPath(path).parents if str(each) != ".")]
    return any(
        fnmatch(place, pattern.removeprefix("./").rstrip("/"))
        if "/" in pattern.rstrip("/")
        else fnmatch(place.rpartition("/")[2], pattern.rstrip("/"))
        for pattern in _read_flake8_excludes(folder)
        for place in places
    )


def _read_flake8_excludes(folder: Path) -> Iterator[str]:
    import configparser

    for name in ("setup.cfg", "tox.ini", ".flake8"):
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(read_regular_text(folder / name, MANIFEST, "replace") or "")
            section = parser["flake8"]
        except (configparser.Error, KeyError):  # flake8 reads the next one
            continue
        listed = ",".join(section.get(key, "") for key in ("exclude", "extend-exclude", "extend_exclude"))
        yield from (each.strip() for each in re.split(r"[,\s]", listed) if each.strip())
        return
