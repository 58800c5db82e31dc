"""Project files that show how tests are run: read once per run, within limits."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from sandbox.fs.workspace_tree import Tree

MAX_CONFIG = 1 << 20
"""Bytes of a configuration file that are read."""

MAX_ENTRIES = 20_000
"""Directory entries searched for test files, some 50 ms; deeper tests have a configuration file."""

MAX_DEPTH = 6

_TEST_FILE = compile_lazily(r"^(test_.*|.*_test|tests)\.py$")

_NOT_OURS = frozenset(
    {"node_modules", "venv", "env", "build", "dist", "target", "vendor", "site-packages", "__pycache__"}
)
"""Folders with third-party tests. Those that begin with a dot are excluded as well."""


MOST_FOLDERS, _DEEPEST = 20_000, 4
"""Folders in which packages are looked for, and how deep they are."""

_NO_PACKAGES = frozenset(("node_modules", "target", "build", "dist", "vendor", "venv", "__pycache__"))


class TestsNotRunnable(Exception):
    """A runner fits the project, but cannot run here: the text gives the reason."""

    __test__ = False


class HasFiles(Protocol):
    """A folder with access to its files; each workspace is one."""

    @property
    def root(self) -> Path: ...

    @property
    def files(self) -> Tree: ...


class Project:
    """Cached access to workspace files that show how tests are run.

    folder: of one package, relative to the workspace; "" for all of it
    """

    def __init__(self, at: HasFiles, folder: str = "") -> None:
        self._at = at
        self._files = at.files
        self.folder = folder
        self.root: Path = at.root / folder
        self.above = Project(at) if folder else None
        self._texts: dict[str, str | None] = {}

    def enter(self, folder: str) -> Project:
        """Return the project of a package. folder: relative to the workspace, "" for this"""
        return Project(self._at, folder) if folder else self

    @property
    def name(self) -> str:
        return f"{self.root.name}/"

    @cached_property
    def key(self) -> str:
        """Name of this project in a shared cache folder."""
        import hashlib

        return hashlib.blake2b(os.fsencode(self.root), digest_size=8).hexdigest()

    def read_text(self, name: str) -> str:
        """Return the beginning of a file, "" if it is missing or not readable."""
        return self._read_cached(name) or ""

    def contains_text(self, name: str, text: str) -> bool:
        """Return whether the file exists and contains `text`."""
        found = self._read_cached(name)
        return found is not None and text in found

    @cached_property
    def python_tests(self) -> tuple[str, ...]:
        """Python files whose names mark them as tests, those nearest to the root first."""
        return tuple(sorted(self._find_test_files(), key=lambda path: (path.count("/"), path)))

    def format_command(self, argv: Sequence[str]) -> str:
        """Format a command line as a user in the workspace root would type it."""
        prefix = f"{self.root}/"
        command = shlex.join(word.removeprefix(prefix) for word in argv)
        return f"(cd {shlex.quote(self.folder)} && {command})" if self.folder else command

    def _read_cached(self, name: str) -> str | None:
        if name not in self._texts:
            self._texts[name] = self._read_file(name)
        return self._texts[name]

    def _read_file(self, name: str) -> str | None:
        name = f"{self.folder}/{name}" if self.folder else name
        try:
            if not self._files.is_file(name):
                return None
            if self._files.get_size(name) > MAX_CONFIG:
                return ""
            return self._files.read(name).decode("utf-8", "replace")
        except (ValueError, OSError):  # outside the workspace or not readable: treated as missing
            return None

    def _find_test_files(self) -> Iterator[str]:
        left = MAX_ENTRIES
        folders = [(self.root, "", 0)]
        while folders and left > 0:
            folder, prefix, depth = folders.pop(0)
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:  # deleted or not readable: no tests
                continue
            for entry in entries:
                left -= 1
                if entry.is_dir(follow_symlinks=False):
                    if depth < MAX_DEPTH and entry.name not in _NOT_OURS and entry.name[0] != ".":
                        folders.append((Path(entry.path), f"{prefix}{entry.name}/", depth + 1))
                elif _TEST_FILE.match(entry.name) and entry.is_file(follow_symlinks=False):
                    yield f"{prefix}{entry.name}"


def iterate_folders(root: Path) -> Iterator[str]:
    """Yield the first folders below a project's root that may be packages or parts of them, relative to it."""
    return islice(_iterate_folders(root, "", 0), MOST_FOLDERS)


def _iterate_folders(root: Path, prefix: str, depth: int) -> Iterator[str]:
    try:
        entries = sorted((root / prefix).iterdir())
    except OSError:  # not readable: it has no packages for us
        return
    for entry in entries:
        named = entry.name[0] != "." and entry.name not in _NO_PACKAGES
        if named and entry.is_dir() and not entry.is_symlink():
            folder = f"{prefix}{entry.name}"
            yield folder
            if depth < _DEEPEST:
                yield from _iterate_folders(root, f"{folder}/", depth + 1)
