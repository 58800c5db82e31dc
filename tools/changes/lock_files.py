"""Lock files of package managers: which manifest each belongs to, and what a manifest says that it has to follow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from sandbox.fs.regular_file import MANIFEST, UnsafeFileError, read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json, parse_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """A lock file. update: the command that brings it up to its manifest"""

    name: str
    manifest: str
    update: str


LOCK_FILES = tuple(
    LockFile(name=name, manifest=manifest, update=update)
    for name, manifest, update in (
        ("package-lock.json", "package.json", "npm install --package-lock-only"),
        ("npm-shrinkwrap.json", "package.json", "npm install --package-lock-only"),
        ("pnpm-lock.yaml", "package.json", "pnpm install --lockfile-only"),
        ("yarn.lock", "package.json", "yarn install"),
        ("bun.lock", "package.json", "bun install --lockfile-only"),
        ("deno.lock", "deno.json", "deno install"),
        ("Cargo.lock", "Cargo.toml", "cargo update --workspace"),
        ("go.sum", "go.mod", "go mod tidy"),
        ("uv.lock", "pyproject.toml", "uv lock"),
        ("poetry.lock", "pyproject.toml", "poetry lock"),
        ("pdm.lock", "pyproject.toml", "pdm lock"),
        ("Pipfile.lock", "Pipfile", "pipenv lock"),
        ("Gemfile.lock", "Gemfile", "bundle lock"),
        ("composer.lock", "composer.json", "composer update --lock"),
        ("mix.lock", "mix.exs", "mix deps.get"),
        ("pubspec.lock", "pubspec.yaml", "dart pub get"),
        ("Package.resolved", "Package.swift", "swift package resolve"),
        ("flake.lock", "flake.nix", "nix flake lock"),
    )
)

_STATES_DEPENDENCIES = compile_lazily(
    "depend|require|workspaces|^version$|^name$|^source$|^overrides$|^resolutions$", re.I
)


def list_locks_above(root: Path, path: str) -> Iterator[tuple[str, LockFile]]:
    """Yield the lock files of a manifest: of its folder or, as in workspaces, of the nearest above that has one."""
    name = path.rpartition("/")[2]
    for lock in LOCK_FILES:
        if lock.manifest == name:
            places = (str(folder / lock.name) for folder in PurePosixPath(path).parents)
            found = next((place for place in places if (root / place).is_file()), None)
            if found:
                yield found, lock


def read_locks(root: Path, manifests: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of the lock files of some manifests."""
    found: dict[str, bytes] = {}
    for path in manifests:
        for place, _ in list_locks_above(root, path):
            try:
                content = read_regular_file(root / place, MANIFEST)
            except UnsafeFileError:
                continue
            if content is not None:
                found[place] = content
    return found


def has_other_dependencies(name: str, before: bytes, after: bytes) -> bool:
    """Return whether a change of a manifest is one that its lock file has to follow."""
    try:
        sides = [_collect(_parse(name, each.decode("utf-8", "replace"))) for each in (before, after)]
    except ValueError:
        return False
    return bool(sides[0] != sides[1])


def _parse(name: str, text: str) -> Any:
    if name.endswith(".json"):
        return parse_json(text)
    if name.endswith(".toml"):
        return parse_toml(text)
    lines = (line.partition("#")[0].partition("//")[0].strip() for line in text.splitlines())
    return {"dependencies": [line for line in lines if line]}


def _collect(value: Any) -> Any:
    """Return the parts of a manifest that state dependencies, {} for none."""
    if not isinstance(value, Mapping):
        return {}
    found = {}
    for key, inner in value.items():
        if _STATES_DEPENDENCIES.search(str(key)):
            found[key] = inner
        elif isinstance(inner, Mapping) and (below := _collect(inner)):
            found[key] = below
    return found
