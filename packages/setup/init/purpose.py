"""Name and purpose of a project: from its manifests first, then its README."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from sandbox import parsed_data
from sandbox.fs.regular_file import read_start


def identify_project(root: Path) -> tuple[str, str]:
    """Return name and one sentence; the folder's name and "" if no file has them."""
    name = purpose = ""
    for file, read in _SOURCES:
        text = read_beginning(root / file)
        if text and not (name and purpose):
            found, said = read(text)
            name, purpose = name or found, purpose or said
    return name or root.name, purpose


def read_beginning(path: Path, limit: int = 1 << 20) -> str:
    """Return the first `limit` bytes of a regular file as text, "" if it is missing or cannot be read."""
    return (read_start(path, limit) or b"").decode("utf-8", "replace")


def extract_first_sentence(text: str) -> str:
    """Return the first sentence of the first paragraph of prose in a Markdown or reStructuredText file."""
    for paragraph in re.split(r"\n\s*\n", text):
        prose = " ".join(paragraph.split())
        if prose and (prose[0].isalnum() or prose[0] in "`*") and not re.search(r"\n[=-]{3,}\s*$", paragraph):
            return re.split(r"(?<=[.!?])\s", prose)[0]
    return ""


def get_table(value: object, *keys: str) -> dict[str, object]:
    """Return a nested table of a parsed file, empty if it is missing or of another type."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def parse_toml(text: str) -> dict[str, object]:
    """Parse a TOML file; empty if it is not valid."""
    try:
        return parsed_data.parse_toml(text)
    except ValueError:
        return {}


def parse_json(text: str) -> object:
    """Parse a JSON file; None if it is not valid."""
    try:
        return parsed_data.parse_json(text)
    except ValueError:
        return None


def _read_pyproject(text: str) -> tuple[str, str]:
    parsed = parse_toml(text)
    project = get_table(parsed, "project") or get_table(parsed, "tool", "poetry")
    return str(project.get("name", "")), str(project.get("description", ""))


def _read_cargo(text: str) -> tuple[str, str]:
    package = get_table(parse_toml(text), "package")
    return str(package.get("name", "")), str(package.get("description", ""))


def _read_package_json(text: str) -> tuple[str, str]:
    package = get_table(parse_json(text))
    return str(package.get("name", "")), str(package.get("description", ""))


def _read_go_mod(text: str) -> tuple[str, str]:
    match = re.search(r"^module\s+(\S+)", text, re.MULTILINE)
    path = (
        re.sub(r"/v\d+$|\.v\d+$", "", match[1]) if match else ""
    )  # the major version is no part of the name
    return path.rpartition("/")[2], ""


def _read_cmake(text: str) -> tuple[str, str]:
    match = re.search(r"^\s*project\s*\(\s*\"?([\w.+-]+)", text, re.MULTILINE | re.IGNORECASE)
    return (match[1] if match else ""), ""


def _read_readme(text: str) -> tuple[str, str]:
    """Return the first heading, and the first sentence of the first paragraph of prose."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    title = re.search(r"^#\s+(.+?)\s*#*$|^(.+)\n[=]{3,}$", text, re.MULTILINE)
    name = next((part for part in title.groups() if part), "") if title else ""
    return _strip_markup(name), extract_first_sentence(text)[:300]


def _strip_markup(heading: str) -> str:
    """Return a heading without images, links and markup."""
    heading = re.sub(r"!\[[^\]]*\]\([^)]*\)|<[^>]+>", "", heading)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip(" *_`")


_SOURCES: tuple[tuple[str, Callable[[str], tuple[str, str]]], ...] = (
    ("pyproject.toml", _read_pyproject),
    ("package.json", _read_package_json),
    ("Cargo.toml", _read_cargo),
    ("go.mod", _read_go_mod),
    ("CMakeLists.txt", _read_cmake),
    ("README.md", _read_readme),
    ("README.rst", _read_readme),
    ("README", _read_readme),
    ("readme.md", _read_readme),
)
