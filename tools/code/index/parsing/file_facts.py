"""Facts of one file from a single parse: symbols, used names, imports and words.

Independent of other files: names are resolved by the index, from the facts of all files.
"""

from __future__ import annotations

import re
from array import array
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.index.parsing.document_outline import FORMATS, detect_document_format, parse_entries
from tools.code.index.parsing.document_outline import MAX_BYTES as MAX_DOCUMENT
from tools.code.index.parsing.document_outline import NAMES as DOCUMENTS
from tools.code.index.parsing.identifier_words import count_name_words, count_words
from tools.code.index.parsing.import_statements import Import, parse_imports
from tools.code.index.parsing.name_uses import count_names, exclude_holes, separate_prose
from tools.code.index.parsing.sql_definitions import SQL, parse_sql
from tools.code.languages import LANGUAGES, Language, detect_languages, encode_text, parse_text
from tools.code.symbols.definition import Definition
from tools.code.symbols.definitions import (
    Captures,
    build_patterns,
    count_patterns,
    list_matched_definitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Node, Query

MAX_BYTES = 1 << 20
"""Larger files are data or generated: they are listed, not read."""

MAX_LINE = 2_000
"""A file whose lines are longer than this on average is minified: it is listed, not read."""

MAX_SIGNATURE = 160
MAX_DOC = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A definition.

    name: qualified by the enclosing symbol, "Cart.total"
    first: its first line with decorators; line: start of the definition itself; last: both ends included
    signature: its head on one line
    doc: first line of its docstring, or of the comment above; "" if it has neither
    """

    name: str
    kind: str
    first: int
    line: int
    last: int
    signature: str
    doc: str

    @property
    def short(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts of one file.

    package: the package or namespace declared for the whole file, or ""
    uses: name → number of occurrences in code, and number of calls
    text_spans: starts and ends of comments and strings, in bytes of the text; needed by `find_name_lines`
    code, prose: word → number of occurrences in names, and in comments and strings
    lines: number of lines
    """

    language: str
    package: str
    symbols: tuple[Symbol, ...]
    uses: Mapping[str, tuple[int, int]]
    text_spans: Sequence[int]
    imports: tuple[Import, ...]
    code: Mapping[str, int]
    prose: Mapping[str, int]
    lines: int


def detect_language(path: str) -> Language | None:
    """Return the language by which a file is indexed, by its name; None for a file that is only listed."""
    found = [each for each in detect_languages(path) if _load_query_text(each.name)]
    if found:
        return found[-1]
    return SQL if path.lower().endswith(SQL.suffixes) else detect_document_format(path)


def extract_facts(language: Language, text: str) -> Facts | None:
    """Extract the facts of a text; None if it is too large, or looks like data."""
    count = text.count("\n") + 1
    if len(text) > MAX_BYTES or len(text) / count > MAX_LINE:
        return None
    if language.name in DOCUMENTS:
        return _extract_document_facts(language, text) if len(text) <= MAX_DOCUMENT else None
    return _extract_sql_facts(text) if language == SQL else _Reader(language, text).read()


def _extract_sql_facts(text: str) -> Facts:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    found = parse_sql(text)
    uses = count_names(SQL, found.code)
    return Facts(
        language=SQL.name,
        package="",
        symbols=tuple(
            Symbol(
                name=each.name,
                kind="variable" if each.kind == "column" else each.kind,
                first=each.first,
                line=each.first,
                last=each.last,
                signature=lines[each.first - 1].strip().rstrip(" (;")[:MAX_SIGNATURE],
                doc="" if each.kind == "column" else _find_comment_above(lines, each.first),
            )
            for each in found.created
        ),
        uses=uses,
        text_spans=(),
        imports=(),
        code=count_name_words({name: count for name, (count, _) in uses.items()}),
        prose=count_words(found.prose),
        lines=len(lines),
    )


def _find_comment_above(lines: list[str], first: int) -> str:
    """Return the first line of the comments right above a line."""
    at = first - 1
    while at > 0 and lines[at - 1].lstrip().startswith("--"):
        at -= 1
    return lines[at].strip(" \t-")[:MAX_DOC] if at < first - 1 else ""


def _extract_document_facts(language: Language, text: str) -> Facts:
    """Extract the facts of a document or data: headings or keys, and its words, all of them prose."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return Facts(
        language=language.name,
        package="",
        symbols=tuple(
            Symbol(
                name=each.name,
                kind=each.kind,
                first=each.first,
                line=each.first,
                last=each.last,
                signature=lines[each.first - 1].strip()[:MAX_SIGNATURE],
                doc="",
            )
            for each in parse_entries(language.name, text)
        ),
        uses={},
        text_spans=(),
        imports=(),
        code={},
        prose=count_words(text),
        lines=len(lines),
    )


class _Reader:
    def __init__(self, language: Language, text: str) -> None:
        self._language = language
        self._text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._lines = self._text.split("\n")

    def read(self) -> Facts:
        from tree_sitter import QueryCursor

        tree = parse_text(self._language, self._text)
        # A single query run for all captures: its cost depends little on the number of patterns.
        defining: list[Captures] = []
        other: list[Captures] = []
        first = count_patterns(self._language)
        for pattern, captures in QueryCursor(build_query(self._language)).matches(tree.root_node):
            (defining if pattern < first else other).append(captures)
        prose, imports, variables = _collect_captures(other)
        source = encode_text(self._text)
        code, said = separate_prose(source, prose)
        there = list_matched_definitions(self._language, self._text, tree, defining)
        uses = count_names(self._language, code.decode("utf-8", "replace"))
        return Facts(
            language=self._language.name,
            package=there[0].package if there else "",
            symbols=tuple(
                sorted(self._build_symbols(there, variables), key=lambda each: (each.first, -each.last))
            ),
            uses=uses,
            text_spans=array("I", chain.from_iterable(prose)),
            imports=tuple(parse_imports(self._language.name, imports)),
            code=count_name_words({name: count for name, (count, _) in uses.items()}),
            prose=count_words(said.decode("utf-8", "replace")),
            lines=len(self._lines),
        )

    def _build_symbols(
        self, there: list[Definition], variables: list[tuple[int, int, str]]
    ) -> Iterator[Symbol]:
        spans = []
        for each in there:
            yield Symbol(
                name=each.name,
                kind=each.kind,
                first=each.first,
                line=each.own_first,
                last=each.last,
                signature=self._build_signature(each),
                doc=self._find_doc(each),
            )
            if each.kind not in ("function", "method", "property"):  # local variables are not listed
                spans.append((each.own_first, each.last, each.name))
        seen = {each.name for each in there}
        for first, last, name in variables:
            inside = [outer for start, end, outer in spans if start <= first <= end and outer != name]
            whole = f"{inside[-1]}.{name}" if inside else name
            if whole not in seen:
                seen.add(whole)
                head = self._lines[first - 1].strip()[:MAX_SIGNATURE]
                yield Symbol(
                    name=whole, kind="variable", first=first, line=first, last=last, signature=head, doc=""
                )

    def _build_signature(self, each: Definition) -> str:
        end = max(each.own_first, min(each.body_first, each.own_first + 12))
        if self._language.name == "python" and end > each.own_first and end == each.body_first:
            end -= 1  # the body begins on a line of its own
        head = " ".join(line.strip() for line in self._lines[each.own_first - 1 : end])
        if _LOOSE.search(head):
            head = re.sub(r"\(\s+", "(", re.sub(r",?\s+\)", ")", head))
        head = head.rstrip(" {:")
        return head if len(head) <= MAX_SIGNATURE else head[: MAX_SIGNATURE - 1] + "…"

    def _find_doc(self, each: Definition) -> str:
        if self._language.name == "python":
            for line in self._lines[each.body_first - 1 : min(each.last, each.body_first + 2)]:
                if begins := _DOCSTRING.match(line):
                    text = begins[1].strip().rstrip("\"' \\")
                    if text:
                        return text[:MAX_DOC]
                    continue
                if line.strip() and line is self._lines[each.body_first - 1]:
                    return ""
                if line.strip():
                    return line.strip().rstrip("\"' ")[:MAX_DOC]
            return ""
        for line in self._lines[each.head_first - 1 : each.first - 1]:
            text = line.strip().strip("/*#-!<> \t")
            if text and not text.startswith("@"):
                return text[:MAX_DOC]
        return ""


def _collect_captures(
    matches: Iterable[Captures],
) -> tuple[list[tuple[int, int]], list[tuple[int, str]], list[tuple[int, int, str]]]:
    """Return ranges of comments and strings; line and text of imports; first and last line and name of variables."""
    found: dict[str, list[Node]] = {name: [] for name in _OTHER}
    spans: set[tuple[int, int]] = set()
    for captures in matches:
        for name, nodes in captures.items():
            if name == "prose":
                for node in nodes:
                    spans.add((node.start_byte, node.end_byte))
            elif name in found:  # other captures only serve predicates
                found[name] += nodes
    prose = sorted(spans)
    if holes := sorted((node.start_byte, node.end_byte) for node in found["hole"]):
        prose = list(exclude_holes(prose, holes))
    imports = {(node.start_point[0] + 1, _decode_node(node)) for node in found["import"]}
    variables = []
    for node in found["variable"]:
        around = node.parent or node
        variables.append((node.start_point[0] + 1, around.end_point[0] + 1, _decode_node(node)))
    return prose, sorted(imports), sorted(variables)


_OTHER = ("hole", "import", "variable")
"""Captures of a language's own query, apart from @prose."""


_LOOSE = compile_lazily(r"\(\s|\s\)")
_DOCSTRING = compile_lazily(r"""\s*[rRuUbB]{0,2}(?:\"{1,3}|'{1,3})(.*)""")


def _decode_node(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


@cache
def _load_query_text(name: str) -> str:
    path = Path(__file__).parent / "queries" / f"{name}.scm"
    return path.read_text("utf-8") if path.is_file() else ""


@cache
def build_query(language: Language) -> Query:
    """Build the query of a language: definitions, and `queries/NAME.scm` with the captures of `_OTHER`.

    @hole is code inside @prose.
    """
    from tree_sitter import Query

    from tools.code.languages import load_grammar

    return Query(load_grammar(language), f"{build_patterns(language)}\n{_load_query_text(language.name)}")


def get_language(name: str) -> Language:
    """Return a language of the table. Raises StopIteration for an unknown name; names come from the table itself."""
    return next(each for each in (*LANGUAGES, SQL, *FORMATS) if each.name == name)
