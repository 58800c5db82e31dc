"""Names of the dependencies that a project declares, by the format of the file that declares them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_toml

_NAME = compile_lazily(r"^\s*([A-Za-z0-9][\w.-]*)")


def reads_dependencies(path: str) -> bool:
    """Return whether a file declares dependencies in a format that is understood."""
    return _find_reader(path) is not None


def list_dependencies(path: str, text: str | None) -> set[str]:
    """Return the names that a file declares, in lower case. Raises ValueError if it cannot be parsed."""
    reader = _find_reader(path)
    return {name.lower().replace("_", "-") for name in reader(text)} if reader and text else set()


def _find_reader(path: str) -> Callable[[str], Iterator[str]] | None:
    name = PurePosixPath(path).name
    if re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", name) or re.search(
        r"(?:^|/)requirements/[^/]+\.txt$", path
    ):
        return _read_lines
    return _READERS.get(name)


def _read_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.lstrip().startswith(("#", "-")) and (match := _NAME.match(line)):
            yield match[1]


def _read_pyproject(text: str) -> Iterator[str]:
    tables = _load_toml(text)
    project = tables.get("project", {})
    lists = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    lists += tables.get("dependency-groups", {}).values()
    lists.append(tables.get("build-system", {}).get("requires", []))
    for each in (item for items in lists for item in items if isinstance(item, str)):
        if match := _NAME.match(each):
            yield match[1]
    poetry = tables.get("tool", {}).get("poetry", {})
    yield from poetry.get("dependencies", {})
    yield from poetry.get("dev-dependencies", {})
    for group in poetry.get("group", {}).values():
        yield from group.get("dependencies", {})


def _read_cargo(text: str) -> Iterator[str]:
    def walk(table: Mapping[str, Any]) -> Iterator[str]:
        for key, value in table.items():
            if isinstance(value, Mapping):
                yield from value if key.endswith("dependencies") else walk(value)

    yield from walk(_load_toml(text))


def _read_pipfile(text: str) -> Iterator[str]:
    tables = _load_toml(text)
    yield from tables.get("packages", {})
    yield from tables.get("dev-packages", {})


def _read_package_json(text: str) -> Iterator[str]:
    tables = json.loads(text)
    if not isinstance(tables, dict):
        raise ValueError("no object")
    for key, value in tables.items():
        if key.lower().endswith("dependencies") and isinstance(value, dict | list):
            yield from (str(each) for each in value)


def _read_go_mod(text: str) -> Iterator[str]:
    for block in re.findall(r"^require\s+\(([^)]*)\)", text, re.MULTILINE):
        yield from re.findall(r"^\s*(\S+)\s+v", block, re.MULTILINE)
    yield from re.findall(r"^require\s+([^\s(]+)\s+v", text, re.MULTILINE)


def _read_gemfile(text: str) -> Iterator[str]:
    yield from re.findall(r"^\s*gem\s+['\"]([^'\"]+)", text, re.MULTILINE)


def _load_toml(text: str) -> dict[str, Any]:
    return parse_toml(text)


_READERS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "pyproject.toml": _read_pyproject,
    "Cargo.toml": _read_cargo,
    "Pipfile": _read_pipfile,
    "package.json": _read_package_json,
    "go.mod": _read_go_mod,
    "Gemfile": _read_gemfile,
}
