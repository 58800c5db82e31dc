"""Detection of a file's language, and parsing with its grammar: one table, and a cache of recent trees."""

from __future__ import annotations

from collections import OrderedDict
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Tree

MAX_TREES = 8
"""Trees kept for the next edit of the same text: one of 10,000 lines takes some 10 MB."""

LONG = 400_000
"""Bytes of a text that is parsed in pieces; a shorter one takes at most a fifth of a second."""

PARSE_PIECE, NODE_PIECE = 1 << 14, 1 << 8
"""Bytes of a piece for the parser, and for the text of one node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language and the package that holds its grammar.

    suffixes: lower-case ends of its file names
    function: the package's function that returns the grammar
    """

    name: str
    suffixes: tuple[str, ...]
    package: str
    function: str = "language"


LANGUAGES: tuple[Language, ...] = (
    Language(name="python", suffixes=(".py", ".pyi"), package="tree_sitter_python"),
    Language(name="bash", suffixes=(".sh", ".bash"), package="tree_sitter_bash"),
    Language(name="javascript", suffixes=(".js", ".jsx", ".mjs", ".cjs"), package="tree_sitter_javascript"),
    Language(
        name="typescript",
        suffixes=(".ts", ".mts", ".cts"),
        package="tree_sitter_typescript",
        function="language_typescript",
    ),
    Language(name="tsx", suffixes=(".tsx",), package="tree_sitter_typescript", function="language_tsx"),
    Language(name="go", suffixes=(".go",), package="tree_sitter_go"),
    Language(name="rust", suffixes=(".rs",), package="tree_sitter_rust"),
    Language(name="java", suffixes=(".java",), package="tree_sitter_java"),
    Language(name="c", suffixes=(".c", ".h"), package="tree_sitter_c"),
    Language(
        name="cpp", suffixes=(".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".h"), package="tree_sitter_cpp"
    ),
    Language(
        name="ruby", suffixes=(".rb", ".rake", ".gemspec", "rakefile", "gemfile"), package="tree_sitter_ruby"
    ),
    Language(name="csharp", suffixes=(".cs",), package="tree_sitter_c_sharp"),
    Language(name="php", suffixes=(".php",), package="tree_sitter_php", function="language_php"),
    Language(name="kotlin", suffixes=(".kt", ".kts"), package="tree_sitter_kotlin"),
    Language(name="swift", suffixes=(".swift",), package="tree_sitter_swift"),
    Language(name="scala", suffixes=(".scala", ".sc", ".sbt"), package="tree_sitter_scala"),
    Language(name="lua", suffixes=(".lua",), package="tree_sitter_lua"),
    Language(name="json", suffixes=(".json", ".ipynb"), package="tree_sitter_json"),
    Language(  # json with comments and trailing commas
        name="jsonc",
        suffixes=(
            "tsconfig.json",
            "jsconfig.json",
            "settings.json",
            "launch.json",
            "tasks.json",
            ".eslintrc.json",
            "devcontainer.json",
            ".jsonc",
        ),
        package="tree_sitter_json",
    ),
    Language(name="css", suffixes=(".css",), package="tree_sitter_css"),
    Language(name="html", suffixes=(".html", ".htm"), package="tree_sitter_html"),
)


def detect_languages(path: str) -> tuple[Language, ...]:
    """Return the languages possible for a file name, of those with an installed grammar.

    None, one, or two (a header of C or of C++). A missing grammar (a platform without its wheel, a package that was
    left out) affects only the files of its language.
    """
    return tuple(each for each in match_languages(path) if is_installed(each))


def match_languages(path: str) -> tuple[Language, ...]:
    """Return the languages possible for a file name, with or without an installed grammar."""
    lower = path.lower()
    return tuple(each for each in LANGUAGES if lower.endswith(each.suffixes))


@cache
def is_installed(language: Language) -> bool:
    """Return whether the language's grammar can be imported, without importing it."""
    from importlib.util import find_spec

    return find_spec(language.package) is not None


@cache
def load_grammar(language: Language) -> Grammar:
    """Return the language's grammar, imported on first use."""
    from importlib import import_module

    from tree_sitter import Language as Grammar

    return Grammar(getattr(import_module(language.package), language.function)())


def parse_text(language: Language, text: str, *, before: str | None = None) -> Tree:
    """Parse a text into a tree.

    before: the text before an edit; if its tree is cached, only the difference is parsed
    """
    key = (language.name, text)
    if (known := _trees.get(key)) is not None:
        return known
    from tree_sitter import Parser

    old = _trees.get((language.name, before)) if before is not None else None
    source = _prepare_source(language, text)
    parser = Parser(load_grammar(language))
    if old is None or before is None:
        tree = _parse_source(parser, source)
    else:
        tree = _parse_source(parser, source, _edit_tree(old, _prepare_source(language, before), source))
        if tree.root_node.has_error:  # error recovery depends on the tree that parsing started with
            tree = _parse_source(parser, source)
    _trees.put(key, tree)
    return tree


def _parse_source(parser: Parser, source: bytes, old: Tree | None = None) -> Tree:
    """Parse bytes; a long text in pieces, between which other threads run.

    The parser holds the interpreter but for its calls back: limits of time and interrupts would wait for it.
    """
    trees = () if old is None else (old,)
    if len(source) <= LONG:
        return parser.parse(source, *trees)
    pieces = _Pieces(source)
    tree = parser.parse(pieces.read, *trees)
    pieces.size = NODE_PIECE
    return tree


class _Pieces:
    """A source as the parser reads it, and the tree later for the texts of its nodes. size: bytes of a piece"""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.size = PARSE_PIECE

    def read(self, offset: int, point: object) -> bytes:
        """Return the bytes at an offset, b"" at the end."""
        return self._source[offset : offset + self.size]


def can_parse(path: str, text: str) -> bool:
    """Return whether a grammar of the file's language parses a text without errors, or there is none."""
    languages = detect_languages(path)
    return not languages or any(not parse_text(each, text).root_node.has_error for each in languages)


def _prepare_source(language: Language, text: str) -> bytes:
    """Return the bytes to parse, with C and C++ macros blanked; offsets do not change."""
    if language.name not in ("c", "cpp"):
        return encode_text(text)
    from tools.code.macros import blank_macros

    return blank_macros(encode_text(text))


def encode_text(text: str) -> bytes:
    """Return the bytes that a tree's offsets refer to."""
    return text.encode("utf-8", "replace")


def measure_common_ends(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the lengths in bytes of two texts' common beginning and common end, without overlap."""
    limit = min(len(before), len(after))
    low, high = 0, limit
    while low < high:  # slices are compared at memory speed: bisection is faster than a loop over bytes
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    start = low
    low, high = 0, limit - start
    while low < high:
        middle = (low + high + 1) // 2
        if before[len(before) - middle : len(before) - low] == after[len(after) - middle : len(after) - low]:
            low = middle
        else:
            high = middle - 1
    return start, low


def _edit_tree(tree: Tree, before: bytes, after: bytes) -> Tree:
    """Return a copy of the tree with the changed byte range marked."""
    from copy import copy

    start, tail = measure_common_ends(before, after)
    old_end, new_end = len(before) - tail, len(after) - tail
    edited = copy(tree)
    edited.edit(
        start,
        old_end,
        new_end,
        _offset_to_point(before, start),
        _offset_to_point(before, old_end),
        _offset_to_point(after, new_end),
    )
    return edited


def _offset_to_point(source: bytes, offset: int) -> tuple[int, int]:
    return source.count(b"\n", 0, offset), offset - (source.rfind(b"\n", 0, offset) + 1)


class _Trees:
    """Cache of the most recently parsed texts' trees."""

    def __init__(self) -> None:
        self._trees: OrderedDict[tuple[str, str], Tree] = OrderedDict()
        self._lock = Lock()  # tools may parse in threads of their own

    def get(self, key: tuple[str, str]) -> Tree | None:
        with self._lock:
            tree = self._trees.get(key)
            if tree is not None:
                self._trees.move_to_end(key)
            return tree

    def put(self, key: tuple[str, str], tree: Tree) -> None:
        with self._lock:
            self._trees[key] = tree
            while len(self._trees) > MAX_TREES:
                self._trees.popitem(last=False)


_trees = _Trees()
