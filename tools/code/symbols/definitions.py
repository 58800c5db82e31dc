"""Definitions of functions, methods, classes and types in a file, for every language that has a grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from tools.code.languages import Language, detect_languages, load_grammar, parse_text
from tools.code.symbols.definition import Definition
from tools.code.symbols.grammar_shapes import BLOCKS, COMMENTS, SHAPES, Shape
from tools.code.symbols.hidden_definitions import add_hidden_definitions

if TYPE_CHECKING:
    from tree_sitter import Node, Query, Tree

Captures = Mapping[str, "Sequence[Node]"]
"""The named nodes of one query match."""

_CLASSES = frozenset({"class", "interface", "struct", "enum", "trait", "object", "container", "union"})
"""Kinds in which a function is a method."""

_NO_NAMES = frozenset({"", "this", "self", "prototype", "module", "exports", "companion"})
"""Parts of an assigned name that identify nothing: `module.exports.f`, `Cart.prototype.total`."""


def list_definitions(path: str, text: str) -> list[Definition]:
    """Return every symbol that the file defines, in text order; empty for a language without a grammar."""
    languages = [each for each in detect_languages(path) if each.name in SHAPES]
    if len(languages) > 1:  # a header of C or of C++: prefer the language that parses without errors
        languages.sort(key=lambda each: parse_text(each, text).root_node.has_error)
    if not languages:
        return []
    return list_definitions_in_tree(languages[0], text, parse_text(languages[0], text))


def list_definitions_in_tree(language: Language, text: str, tree: Tree) -> list[Definition]:
    """Return every symbol of a parsed text; empty for a language without definitions.

    What the grammar cannot parse may hide the definitions behind it: the text is then read anew from their first lines.
    """
    if language.name not in SHAPES:
        return []
    found = _Reader(language, text).read(tree)
    return _add_hidden(language, text, tree, found)


def _add_hidden(language: Language, text: str, tree: Tree, found: list[Definition]) -> list[Definition]:
    if not tree.root_node.has_error:
        return found

    def read(rest: str) -> list[Definition]:
        return _Reader(language, rest).read(parse_text(language, rest))

    return add_hidden_definitions(language.name, text, tree, found, read)


def list_matched_definitions(
    language: Language, text: str, tree: Tree, matches: Iterable[Captures]
) -> list[Definition]:
    """Return the same as `list_definitions_in_tree` from matches of `build_patterns`, for callers that run them within
    a larger query."""
    if language.name not in SHAPES:
        return []
    return _add_hidden(language, text, tree, _Reader(language, text).read_matches(matches))


def list_definitions_between(
    language: Language, text: str, first: int, last: int, *, before: str | None = None
) -> list[Definition]:
    """Return the definitions that begin and end between two lines.

    before: the text before an edit, whose cached tree saves time
    """
    near = _Reader(language, text).read(parse_text(language, text, before=before), (first - 1, last))
    return [each for each in near if first <= each.own_first <= each.last <= last]


_WITHOUT_BRACES = frozenset({"python", "lua"})
"""Languages whose definitions never end in a brace that a comment may follow (see `_find_end`)."""

_WRAPPERS_OF_STATEMENTS = frozenset(
    {"expression_statement", "variable_declaration", "argument_list", "type_declaration"}
)
"""Nodes around a definition that may begin on its line, or above a blank line, and end after it."""


@dataclass(slots=True)
class _Scope:
    end: int
    names: tuple[str, ...]
    kind: str


class _Reader:
    """Reader of the definitions in one tree."""

    def __init__(self, language: Language, text: str) -> None:
        self._language = language
        self._shape = SHAPES[language.name]
        self._lines = text.split("\n")
        self._package = ""

    def read(self, tree: Tree, rows: tuple[int, int] | None = None) -> list[Definition]:
        """Return all definitions; with rows only those that touch them."""
        from tree_sitter import QueryCursor

        cursor = QueryCursor(_build_query(self._language))
        if rows:
            cursor.set_point_range((rows[0], 0), (rows[1], 0))
        return self.read_matches(captures for _, captures in cursor.matches(tree.root_node))

    def read_matches(self, matches: Iterable[Captures]) -> list[Definition]:
        """Return the matched definitions, each once."""
        found: list[tuple[Node, str, Node, Node | None]] = []
        seen: set[int] = set()
        for captures in matches:
            if package := captures.get("package"):
                self._package = re.sub(r"[\\/:]+", ".", _decode_node(package[0]))
                continue
            kind = next(each for each in captures if each not in ("name", "scope"))
            node = captures[kind][0]
            if node.id not in seen:
                seen.add(node.id)
                scope = captures.get("scope")
                found.append((node, kind, captures["name"][0], scope[0] if scope else None))
        found.sort(key=lambda each: (each[0].start_byte, -each[0].end_byte))
        return self._nest_definitions(found)

    def _nest_definitions(self, found: list[tuple[Node, str, Node, Node | None]]) -> list[Definition]:
        result: list[Definition] = []
        around: list[_Scope] = []
        for node, kind, name_node, scope_node in found:
            while around and around[-1].end <= node.start_byte:
                around.pop()
            own = _split_name(name_node)
            if not own:
                continue
            outer = around[-1] if around else _Scope(0, (), "")
            if kind == "function" and outer.kind in _CLASSES:
                kind = "method"
            names = (*outer.names, *(_split_name(scope_node) if scope_node else ()), *own)
            around.append(_Scope(node.end_byte, names, kind))
            if kind != "container":
                result.append(self._build_definition(node, ".".join(names), kind))
        return result

    def _build_definition(self, node: Node, name: str, kind: str) -> Definition:
        row, column = node.start_point
        if self._is_alone(row, column):
            outer, head, first_row, lead, comments = node, row, row, "", set[int]()
        else:
            outer = _find_outermost(node, self._shape)
            top, first_row, comments = self._find_attached_above(outer)
            head = min([top.start_point[0], *comments])
            row, column = (top if first_row == top.start_point[0] else outer).start_point
            lead = _text_before(self._lines[first_row], column if row == first_row else 0)
        own_row = _find_own_row(outer, self._shape)
        end_row, end_column = outer.end_point if self._language.name in _WITHOUT_BRACES else _find_end(outer)
        if end_column == 0 and end_row > outer.start_point[0]:  # it ends with its newline
            end_row -= 1
            tail = ""
        else:
            tail = _text_after(self._lines[end_row], end_column)
        between = set(range(head, own_row)) - comments if head < own_row else ()
        return Definition(
            name=name,
            kind=kind,
            head_first=head + 1,
            first=first_row + 1,
            own_first=own_row + 1,
            body_first=_find_body_row(node) + 1,
            last=end_row + 1,
            decorators=tuple(row + 1 for row in sorted(between) if self._lines[row].strip()),
            lead=lead,
            tail=tail,
            language=self._language.name,
            package=self._package,
        )

    def _is_alone(self, row: int, column: int) -> bool:
        """Return whether nothing can be attached: the definition begins its line, below a blank one.

        Finding a parent or a sibling takes a walk from the root, which most definitions do not need.
        """
        return (
            not (self._shape.wrappers & _WRAPPERS_OF_STATEMENTS)
            and (row == 0 or not self._lines[row - 1].strip())
            and not _text_before(self._lines[row], column)
        )

    def _find_attached_above(self, outer: Node) -> tuple[Node, int, set[int]]:
        """Return the topmost attached node, the first row of the decorators, and the rows of comments."""
        top, first_row, comments = outer, outer.start_point[0], set[int]()
        while (near := _find_previous(top)) is not None:
            is_comment = near.type in COMMENTS
            if not is_comment and near.type not in self._shape.decorators:
                break
            end_row = _find_end_row(near)
            if end_row < top.start_point[0] - 1:
                break
            row, column = near.start_point
            if _text_before(self._lines[row], column):
                break  # it follows other code on its line
            if is_comment:
                if end_row == top.start_point[0]:
                    break
                comments |= set(range(row, end_row + 1))
            elif not comments:
                first_row = row
            top = near
        return top, first_row, comments


@cache
def _build_query(language: Language) -> Query:
    from tree_sitter import Query

    return Query(load_grammar(language), build_patterns(language))


def build_patterns(language: Language) -> str:
    """Return the query for a language's definitions; "" if it has none."""
    if language.name not in SHAPES:
        return ""
    shape = SHAPES[language.name]
    simple = [
        f"({node} name: (_) @name) @{kind}" for kind, nodes in shape.kinds.items() for node in nodes.split()
    ]
    return "\n".join([*simple, shape.patterns])


@cache
def count_patterns(language: Language) -> int:
    """Return the number of patterns in `build_patterns`; those appended to them have higher numbers."""
    return _build_query(language).pattern_count if language.name in SHAPES else 0


def _decode_node(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _split_name(node: Node) -> tuple[str, ...]:
    """Return the parts of a name: of `n::A<T>::m`, of `*Type[K]`, of `module.exports.f`, of an enclosing declarator."""
    inner: Node | None = node
    while inner is not None and inner.type.endswith("declarator"):
        node = inner
        inner = node.child_by_field_name("declarator") or next(reversed(node.named_children), None)
    text, operator = _decode_node(inner or node), tuple[str, ...]()
    if text.isidentifier() and text not in _NO_NAMES:  # the usual case: nothing to split
        return (text,)
    if cut := re.search(r"\boperator\b\W", text):
        text, operator = text[: cut.start()], (re.sub(r"\s+", "", text[cut.start() :]),)
    while (bare := re.sub(r"<[^<>]*>|\[[^\[\]]*\]", "", text)) != text:
        text = bare
    parts = [part.strip(" *&\"'`\n\t") for part in re.split(r"::?|\.|\\", text)]
    plain = (part for part in parts if part not in _NO_NAMES and re.fullmatch(r"[~#@$\w]+[?!=]?", part))
    return (*plain, *operator)


def _find_outermost(node: Node, shape: Shape) -> Node:
    """Return the definition with `export`, `template <…>` and such, unless these hold other definitions as well."""
    while (around := node.parent) is not None and around.type in shape.wrappers:
        if sum(each.type == node.type for each in around.named_children) > 1:
            break
        node = around
    return node


def _find_own_row(outer: Node, shape: Shape) -> int:
    """Return the row after the decorators inside the definition."""
    node = outer
    while True:
        rest = _skip_decorators(node, shape)
        if rest is None or not (rest.type in shape.modifiers or _has_decorator(rest, shape)):
            break
        inner = _skip_decorators(rest, shape)
        if inner is None:  # modifiers that consist of decorators only
            after = rest.next_sibling
            return after.start_point[0] if after is not None else rest.start_point[0]
        node = rest
    return rest.start_point[0] if rest is not None else outer.start_point[0]


def _skip_decorators(node: Node, shape: Shape) -> Node | None:
    first = node.child(0) if node.child_count else None
    if first is None or first.type not in shape.decorators:
        return first
    return next((each for each in node.children if each.type not in shape.decorators), None)


def _has_decorator(node: Node, shape: Shape) -> bool:
    first = node.child(0) if node.child_count else None
    return first is not None and first.type in shape.decorators


def _find_body_row(node: Node) -> int:
    value = node.child_by_field_name("value") or node.child_by_field_name("right") or node
    body = value.child_by_field_name("body") or value.child_by_field_name("type")
    if body is None:  # grammars without a field for the body
        body = next((each for each in node.named_children if each.type.endswith("body")), node)
    return body.start_point[0]


def _find_previous(node: Node) -> Node | None:
    """Return the previous sibling; for the first node of a block, the block's."""
    near = node.prev_sibling
    around = node.parent
    if near is None and around is not None and around.type in BLOCKS:
        near = around.prev_sibling
    return near


def _find_end(outer: Node) -> tuple[int, int]:
    """Return the end of a definition, without a trailing comment that grammars with optional semicolons include."""
    node = outer
    while (count := node.child_count) and (last := node.child(count - 1)) is not None:
        if last.type in COMMENTS:
            rest = [each for each in node.children[-4:] if each.type not in COMMENTS]
            if rest and rest[-1].type == "}":
                return rest[-1].end_point
        node = last
    return outer.end_point


def _find_end_row(node: Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def _text_before(line: str, column: int) -> str:
    if line.isascii():
        return line[:column].strip()
    return line.encode("utf-8", "replace")[:column].decode("utf-8", "replace").strip()


def _text_after(line: str, column: int) -> str:
    if line.isascii():
        return line[column:].strip()
    return line.encode("utf-8", "replace")[column:].decode("utf-8", "replace").strip()
