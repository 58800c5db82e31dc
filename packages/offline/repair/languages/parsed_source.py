"""Parsed source files of a project: functions, tests, and the names that they use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from sandbox.errors import UserError
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.languages import Language, detect_languages, encode_text, parse_text
from tools.code.symbols import Definition, list_definitions
from tools.testing.project_copies import SKIPPED

if TYPE_CHECKING:
    from tree_sitter import Node

SUPPORTED = frozenset({"go", "javascript", "typescript", "tsx", "java", "rust", "c", "cpp"})
# Maximum number of files, and bytes of one: faults are searched among names in tests, not in generated code.
MOST_FILES, LARGEST = 400, 200_000
# Folders with third-party code, or with build output.
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "spec", "specs", "testdata", "testcases", "e2e"})
_TEST_NAME = compile_lazily(
    r"(.*_test\.go|.*[._-](test|spec)s?\.[cm]?[jt]sx?|(test|spec)s?[._-].*|(test|spec)s?\.\w+"
    r"|.*_tests?\.(c|cc|cpp|cxx|rs)|.*(Test|Tests|TestCase|IT)\.java|Test[A-Z].*\.java)$"
)
_MEMBERS = frozenset({"enumerator", "enum_constant", "enum_variant", "enum_assignment"})
_TEST_MODULES = frozenset({"tests", "test"})
# What a program does that checks others instead of doing work.
_CHECK = compile_lazily(r"\bassert|\bAssertionError\b")


def is_test_file(path: str) -> bool:
    """Return whether the file belongs to the tests, by the conventions of its language; these are never changed."""
    pure = PurePosixPath(path)
    words = {word for part in pure.parts[:-1] for word in re.split(r"[^a-z0-9]+", part.lower())}
    return bool(_TEST_FOLDERS & words) or _TEST_NAME.fullmatch(pure.name) is not None


@dataclass(frozen=True)
class ParsedFile:
    """One file. Offsets refer to `source`, its text in UTF-8."""

    path: str
    text: str
    language: Language

    @cached_property
    def source(self) -> bytes:
        return encode_text(self.text)

    @cached_property
    def root(self) -> Node:
        return parse_text(self.language, self.text).root_node

    @cached_property
    def definitions(self) -> list[Definition]:
        """Functions and methods, without nested ones."""
        found = [
            each for each in list_definitions(self.path, self.text) if each.kind in ("function", "method")
        ]
        outer: list[Definition] = []
        for each in found:
            if not outer or each.own_first > outer[-1].last:
                outer.append(each)
        return outer

    @cached_property
    def functions(self) -> list[Definition]:
        """Functions that may be at fault, without tests."""
        return [] if is_test_file(self.path) else [d for d in self.definitions if not self.is_test(d)]

    @cached_property
    def members(self) -> frozenset[str]:
        """Names of the members of its enumerations."""
        everything = self.iter_nodes(1, self.text.count("\n") + 1)
        named = [n.child_by_field_name("name") for n in everything if n.type in _MEMBERS]
        return frozenset(get_text(each) for each in named if each is not None)

    def is_test(self, definition: Definition) -> bool:
        """Return whether it is a test, or a helper of tests, in a file of either kind.

        So is a `main` that asserts, whatever its file is called: to change it is to change what was asked for.
        """
        if is_test_file(self.path) or definition.name.split(".")[0] in _TEST_MODULES:
            return True
        lines = self.text.split("\n")
        if definition.name.rpartition(".")[2] == "main":
            return _CHECK.search("\n".join(lines[definition.own_first - 1 : definition.last])) is not None
        above = lines[definition.first - 1 : definition.own_first]
        return any(re.search(r"#\[(\w+::)*test\b|@Test\b", line) for line in above)

    def iter_nodes(self, first: int, last: int) -> Iterator[Node]:
        """Yield the nodes that begin in these lines, outer ones first."""
        left = [self.root]
        while left:
            node = left.pop()
            start, end = node.start_point[0] + 1, node.end_point[0] + 1
            if end < first or start > last:
                continue
            if first <= start and end <= last:
                yield node
            left.extend(reversed(node.children))

    def collect_names(self, first: int, last: int) -> set[str]:
        """Return the names in these lines."""
        return {get_text(node) for node in self.iter_nodes(first, last) if is_name(node)}


def get_text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def is_name(node: Node) -> bool:
    return node.is_named and node.child_count == 0 and node.type.endswith("identifier")


def load_sources(root: Path, overlay: dict[str, str]) -> list[ParsedFile]:
    """Return the project's files in the supported languages, in order of path; `overlay` replaces some."""
    found: list[ParsedFile] = []
    for path in _iter_files(root):
        languages = [each for each in detect_languages(path) if each.name in SUPPORTED]
        if not languages:
            continue
        try:
            content = read_workspace_file(root, path, LARGEST)
            if content is None:
                continue
            text = overlay.get(path) or content.decode("utf-8")
        except (UserError, UnicodeDecodeError):  # too large, or in an encoding that could not be written back
            continue
        found.append(ParsedFile(path, text, languages[0]))
        if len(found) == MOST_FILES:
            break
    return found


def _iter_files(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if each not in SKIPPED and not each.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix()
