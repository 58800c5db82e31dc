"""Outline of documents and data: Markdown headings, keys of JSON, YAML and TOML, read by line without a grammar.

Only the upper levels are listed: deeper ones are data, not places to look up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from sandbox.lazy_pattern import compile_lazily
from tools.code.languages import LANGUAGES, Language

FORMATS: tuple[Language, ...] = (
    Language(name="markdown", suffixes=(".md", ".markdown", ".mdx"), package=""),
    Language(name="yaml", suffixes=(".yaml", ".yml"), package=""),
    Language(name="toml", suffixes=(".toml",), package=""),
    *(each for each in LANGUAGES if each.name in ("json", "jsonc")),
)

NAMES = frozenset(each.name for each in FORMATS)

MAX_BYTES = 200_000
"""Larger files are data or lock files: they are listed, not read."""

MAX_DEPTH = 3
"""Levels of keys that are listed."""

MOST = 500
"""Headings or keys of a file that are listed."""


MAX_HEADING = 200
"""Characters of a heading that are read."""


class Entry(NamedTuple):
    """A heading or a key. name: qualified by the enclosing ones, "scripts.build"; lines count from 1"""

    name: str
    kind: str
    first: int
    last: int


def detect_document_format(path: str) -> Language | None:
    """Return the format of a file by its name; None for code, images, notebooks."""
    lower = path.lower()
    if lower.endswith(".ipynb"):
        return None
    return next((each for each in FORMATS if lower.endswith(each.suffixes)), None)


def is_document(path: str) -> bool:
    """Return whether the file is text or data, not code."""
    return path.lower().endswith(_SUFFIXES)


_SUFFIXES = tuple(suffix for each in FORMATS for suffix in each.suffixes)


def parse_entries(name: str, text: str) -> list[Entry]:
    """Return the headings or keys of a text in a format, in line order."""
    lines = text.split("\n")
    found = []
    for each in _READERS[name](lines):
        found.append(each)
        if len(found) > MOST:
            break
    return _compute_spans(found[:MOST], len(lines))


def slugify_heading(heading: str) -> str:
    """Return a heading as its link anchor: "Getting *started*" → getting-started (GitHub's rule)."""
    heading = heading[:MAX_HEADING]
    bare = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|<[^>]*>", r"\1", heading)
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", bare).strip().lower())


class _Level(NamedTuple):
    """An entry without its end. depth: nesting depth, in levels or columns"""

    depth: int
    name: str
    kind: str
    line: int


def _compute_spans(found: list[_Level], count: int) -> list[Entry]:
    """End each entry before the next of its level or above."""
    result, open_ = [], list[tuple[_Level, str]]()
    ends: dict[int, int] = {}
    placed: list[tuple[int, str, _Level]] = []
    for at, each in enumerate(found):
        while open_ and open_[-1][0].depth >= each.depth:
            open_.pop()
        whole = ".".join([*(name for _, name in open_[-1:]), each.name])
        open_.append((each, whole))
        placed.append((at, whole, each))
    below: list[tuple[int, int]] = []
    for at, _, each in reversed(placed):
        while below and below[-1][0] > each.depth:
            below.pop()
        ends[at] = below[-1][1] - 1 if below else count
        below.append((each.depth, each.line))
    for at, whole, each in placed:
        result.append(Entry(whole, each.kind, each.line, max(each.line, ends[at])))
    return result


_FENCE = compile_lazily(r"\s{0,3}(`{3,}|~{3,})")
_HEADING = compile_lazily(r"\s{0,3}(#{1,6})\s+(.*)")


def _read_markdown(lines: list[str]) -> Iterator[_Level]:
    """Yield CommonMark's two kinds of headings, outside fenced code."""
    fence = ""
    for number, line in enumerate(lines, 1):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif fence:
            continue
        elif parts := _HEADING.match(line):
            if name := slugify_heading(_strip_closing_hashes(parts[2])):
                yield _Level(len(parts[1]), name, "heading", number)
        elif (
            re.fullmatch(r"\s{0,3}(=+|-{2,})\s*", line)
            and number > 1
            and re.match(r"\s{0,3}[^\s>*+|#-]", lines[number - 2])
            and (name := slugify_heading(lines[number - 2]))
        ):
            yield _Level(1 if "=" in line else 2, name, "heading", number - 1)


def _strip_closing_hashes(text: str) -> str:
    """Strip a closing sequence of number signs."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else text


_YAML_KEY = compile_lazily(r"""( *)(?:- +)?(?:([\w.$/-][\w.$/ \t-]*)|"([^"]+)"\s*|'([^']+)'\s*):(?:\s|$)""")


def _read_yaml(lines: list[str]) -> Iterator[_Level]:
    """Yield keys of mappings, by their indentation; block scalars (`|`, `>`) are skipped."""
    columns: list[int] = []
    inside = -1
    for number, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip(" "))
        if inside >= 0 and (not line.strip() or indent > inside):
            continue
        inside = -1
        if line.startswith(("---", "...")):
            columns = []
        parts = _YAML_KEY.match(line)
        if re.search(r"(?:^|:|-)\s+[|>][+-]?\d*\s*(?:#.*)?$", line):
            inside = indent
        if parts is None:
            continue
        while columns and columns[-1] >= indent:
            columns.pop()
        columns.append(indent)
        if len(columns) <= MAX_DEPTH and not line.lstrip().startswith("- "):
            yield _Level(len(columns), (parts[2] or parts[3] or parts[4]).strip(), "key", number)


_TABLE = compile_lazily(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_TOML_KEY = compile_lazily(r"""\s*((?:[\w-]+|"[^"]+"|'[^']+')(?:\s*\.\s*(?:[\w-]+|"[^"]+"|'[^']+'))*)\s*=""")


def _read_toml(lines: list[str]) -> Iterator[_Level]:
    """Yield tables, and the keys in them; multi-line values are skipped."""
    depth, until, open_brackets = 0, "", 0
    for number, line in enumerate(lines, 1):
        if until:
            if until in line:
                until = ""
            continue
        if open_brackets > 0:
            open_brackets += _count_open_brackets(line)
            continue
        if (parts := _TABLE.match(line)) and (table := _strip_quotes(parts[1])):
            depth = 1
            yield _Level(depth, table, "key", number)
        elif parts := _TOML_KEY.match(line):
            value = line[parts.end() :].strip()
            yield _Level(depth + 1, _strip_quotes(parts[1]), "key", number)
            for quotes in ('"""', "'''"):
                if value.startswith(quotes) and value.count(quotes) == 1:
                    until = quotes
            open_brackets = 0 if until else _count_open_brackets(value)


def _strip_quotes(name: str) -> str:
    return re.sub(r"[\"'\s]", "", name)


def _count_open_brackets(line: str) -> int:
    """Return opening minus closing brackets, outside strings and comments."""
    bare = re.sub(r"""\"(?:[^\"\\]|\\.?)*(?:\"|$)|'[^']*'|#.*""", "", line)
    return bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}")


_JSON_TOKEN = compile_lazily(
    r'"((?:[^"\\\n]|\\[^\n]?)*)(?:"(\s*:)?|$)|//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|[{}\[\]]', re.MULTILINE
)
"""An unterminated string or comment is a token as well, so that it is scanned only once."""


def _read_json(lines: list[str]) -> Iterator[_Level]:
    """Yield keys of objects, except of those in arrays."""
    text = "\n".join(lines)
    around: list[str] = []
    number, at = 1, 0
    for token in _JSON_TOKEN.finditer(text):
        mark = token[0][0]
        if mark in "{[":
            around.append(mark)
        elif mark in "}]":
            del around[-1:]
        elif token[2] and token[1] and len(around) <= MAX_DEPTH and "[" not in around:
            number += text.count("\n", at, token.start())
            at = token.start()
            yield _Level(len(around), token[1], "key", number)


_READERS: Mapping[str, Callable[[list[str]], Iterator[_Level]]] = {
    "markdown": _read_markdown,
    "yaml": _read_yaml,
    "toml": _read_toml,
    "json": _read_json,
    "jsonc": _read_json,
}
