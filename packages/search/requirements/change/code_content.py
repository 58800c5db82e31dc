"""What of a file's text is run: its syntax without comments, docstrings and layout, by the grammar of its language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import parse_word_set

if TYPE_CHECKING:
    from tree_sitter import Node

LARGEST = 400_000
"""Characters of a text that is parsed for a comparison; a longer one is data or generated, and compared as it is."""

_BESIDE_CODE = compile_lazily(
    r"(?:(?:^|/)(?:docs?|changes|changelog\.d|news|newsfragments)/(?:.*/)?[^/]+|"
    r"(?:^|/)(?:changelog|changes|history|news|readme|authors|contributors|contributing|license|copying|notice)[\w-]*)"
    r"(?:\.(?:md|rst|txt|adoc))?$",
    re.IGNORECASE,
)
_PROSE = (".md", ".rst", ".txt", ".adoc")

_DIRECTIVE = compile_lazily(
    r"^\W*(?:go:|\+build|export\s|line\s|eslint|@ts-|@jsx|@flow|@license|@preserve|nolint|noqa|type:|mypy:|pragma|pylint"
    r"|pyright|ruff|fmt:|isort|istanbul|c8\b|v8\b|prettier|jshint|jslint|global\s|coding[:=]|cython|distutils|webpack"
    r"|vite|#__|@__|sourcemapping|swiftlint|rubocop|frozen_string|clang-|language=|noinspection|spell|codespell)|^#!|<reference",
    re.IGNORECASE,
)
"""Comments that a tool or a compiler reads."""

_COMMANDS = parse_word_set(
    "command group callback tool get post put patch delete route option resource prompt"
)
"""Decorators that show a docstring to users."""

_HASH_COMMENTS = parse_word_set(
    ".yml .yaml .ini .cfg .conf .properties .pl .pm .r .jl .ex .exs .tf .mk .cmake .nix .fish .zsh .graphql"
)
_HASH_FILES = parse_word_set("makefile gnumakefile dockerfile cmakelists.txt .env .gitignore .dockerignore")
_DASH_COMMENTS = parse_word_set(".sql .hs .elm .adb .ads .vhd .vhdl")

_CLOSING = frozenset((")", "]", "}", ">"))
_WHOLE = ("string", "template_literal", "heredoc", "regex", "char_literal", "rune_literal")
"""Kinds of nodes whose text counts as it is, blanks and all."""


def is_beside_code(path: str) -> bool:
    """Return whether a file is prose for people: a document, a changelog, a licence."""
    suffix = PurePosixPath(path).suffix.lower()
    return suffix in _PROSE[:2] or (suffix in ("", *_PROSE) and bool(_BESIDE_CODE.search(path)))


@lru_cache(maxsize=32)  # asked for by several checks at the end of a turn
def reduce_code(path: str, text: str | None) -> object:
    """Return what of a text is run, for a comparison of before and after; a text that cannot be parsed as it is."""
    if text is None:
        return None
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    if len(text) > LARGEST:
        return text
    if path.endswith((".py", ".pyi")):
        return _reduce_python(text)
    if path.endswith(".toml"):
        return _reduce_toml(text)
    from tools.code.languages import detect_languages, parse_text

    for language in detect_languages(path):
        root = parse_text(language, text).root_node
        if not root.has_error and not (language.name == "go" and 'import "C"' in text):  # a comment that is C
            return _drop_final_marks(list(_iter_content(root, text.encode("utf-8", "replace"))))
    return _reduce_lines(path, text)


def _reduce_python(text: str) -> object:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    if "__doc__" not in text and "docopt" not in text:
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and not _shows_docstring(node):
                node.body = [each for each in body if not _is_idle_text(each)]  # type: ignore[attr-defined]
    try:
        return ast.dump(tree), _list_directives(text)
    except RecursionError:  # hundreds of branches, or terms: parsed in C, and too deep to be gone through
        return text


def _list_directives(text: str) -> list[str]:
    found = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    return [each.strip() for each in found if _DIRECTIVE.search(each)] + [
        line for line in text.splitlines()[:1] if line.startswith("#!")
    ]


def _is_idle_text(node: ast.AST) -> bool:
    """Return whether a statement is a text that nothing reads; examples in it are run as tests."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str) and ">>>" not in node.value.value


def _shows_docstring(node: ast.AST) -> bool:
    for each in getattr(node, "decorator_list", ()):
        called = each.func if isinstance(each, ast.Call) else each
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name.lower() in _COMMANDS:
            return True
    return False


def _reduce_toml(text: str) -> object:
    from sandbox.parsed_data import parse_toml

    try:
        return parse_toml(text)
    except ValueError:
        return text


def _iter_content(root: Node, data: bytes) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of the nodes in order: the text of leaves, "(" and ")" around the others; no comments."""
    stack: list[Node | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:
            yield ")", ""
            continue
        kind = node.type
        if "comment" in kind or kind in ("hash_bang_line", "shebang"):
            text = _read(node, data)
            if _DIRECTIVE.search(text):
                yield "directive", text
            continue
        if any(word in kind for word in _WHOLE) and node.is_named:
            yield "text", _unify_quotes(_read(node, data))
        elif not node.child_count:
            text = _read(node, data)
            if text.strip() and text != ";":
                yield kind, text.strip()
        else:
            yield "(", kind
            stack.append(None)
            stack.extend(reversed(node.children))


def _read(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _unify_quotes(text: str) -> str:
    is_plain = len(text) > 1 and text[0] == text[-1] == "'" and not re.search(r"[\"'\\$`]", text[1:-1])
    return f'"{text[1:-1]}"' if is_plain and len(text) != 3 else text  # of one letter: another type in C


def _drop_final_marks(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out commas before a closing bracket, which are layout; two of them are an empty item."""
    return [
        each
        for place, each in enumerate(found)
        if not (
            each[1] == ","
            and 0 < place < len(found) - 1
            and found[place + 1][1] in _CLOSING
            and found[place - 1][1] != ","
        )
    ]


def _reduce_lines(path: str, text: str) -> str:
    """Return a text of no known grammar without blank lines and lines that are comments by the ending of its file."""
    name = PurePosixPath(path).name.lower()
    suffix = PurePosixPath(name).suffix
    mark = (
        "#" if suffix in _HASH_COMMENTS or name in _HASH_FILES else "--" if suffix in _DASH_COMMENTS else ""
    )
    has_blocks = suffix in (".yml", ".yaml") and re.search(r"[|>][+-]?\d?\s*$", text, re.MULTILINE)
    if not mark or has_blocks:
        return text
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith(mark))
