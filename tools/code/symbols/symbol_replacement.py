"""Replacement of a definition by new text at its depth, keeping decorators and comment if the new text has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sandbox.lazy_pattern import compile_lazily
from tools.code.languages import LANGUAGES, Language, parse_text
from tools.code.symbols.definition import Definition
from tools.code.symbols.definitions import list_definitions_between
from tools.edit.indentation import fit_indent_mapping, indent_of, is_tab_indented

if TYPE_CHECKING:
    from tree_sitter import Node

_TAIL = compile_lazily(r"[;,)]*\s*((//|#|/\*).*)?")
"""Text that may follow a definition on its last line; it is kept."""

_DECORATOR = compile_lazily(r"\s*(@(?!interface\b)|#?\[)")
"""Start of a decorator, attribute or annotation."""

_STRINGS = ("string", "heredoc", "nowdoc")
"""Parts of the grammars' names of string nodes."""


def build_replacement(text: str, definition: Definition, new: str) -> tuple[int, int, str]:
    """Return the lines that `new` replaces (from 1, both ends included), and the text to put there.

    The new text may have any depth; it gets the definition's, in the file's tabs or spaces. Omitted parts are kept:
    decorators if it has none, the comment above if it begins with none. It must define a symbol in the same scope
    (another name is a rename), and may define more. Raises ValueError.
    """
    language = next(each for each in LANGUAGES if each.name == definition.language)
    if definition.lead or not _TAIL.fullmatch(definition.tail):
        other = definition.lead or definition.tail
        raise ValueError(
            f"{definition.name} shares a line with other code ({other[:60]!r}): replace its lines instead"
        )
    if not new.strip():
        raise ValueError(f"the new text for {definition.name} is empty: to remove it, delete its lines")
    lines = text.split("\n")
    given = _indent_to_definition(language, lines, definition, _trim_blank_lines(new))
    fresh = _find_new_definition(language, text, lines, definition, given)
    return _compose_replacement(lines, definition, given, fresh)


def _trim_blank_lines(new: str) -> list[str]:
    lines = [line.rstrip("\r") for line in new.split("\n")]
    while not lines[0].strip():
        lines.pop(0)
    while not lines[-1].strip():
        lines.pop()
    return lines


def _find_new_definition(
    language: Language, text: str, lines: list[str], definition: Definition, given: list[str]
) -> Definition:
    """Return the definition in the new text, parsed in place of the old one. Lines count from the new text's first."""
    start = definition.head_first - 1
    whole = "\n".join([*lines[:start], *given, *lines[definition.last :]])
    there = list_definitions_between(language, whole, start + 1, start + len(given), before=text)
    inside = [each for each in there if each.parent == definition.parent]
    same = [each for each in inside if each.name == definition.name]
    if same or len(inside) == 1:
        return (same or inside)[0]
    says = ", ".join(each.name for each in inside[:5]) or "nothing that could be parsed as a definition"
    raise ValueError(
        f"the new text for {definition.name} defines {says}: give the whole {definition.kind}, "
        f"from the line that names it to its end"
    )


def _compose_replacement(
    lines: list[str], definition: Definition, given: list[str], fresh: Definition
) -> tuple[int, int, str]:
    offset = definition.head_first
    own = fresh.own_first - offset
    decorated = {line - offset for line in fresh.decorators}
    has_comment = any(given[row].strip() and row not in decorated for row in range(own))
    has_decorator = any(0 <= row < own for row in decorated) or bool(_DECORATOR.match(given[own]))
    kept = [] if has_decorator else [lines[line - 1] for line in definition.decorators]
    if has_comment:
        first = definition.head_first
        given = [*given[:own], *kept, *given[own:]]
    else:
        first = definition.own_first if kept else definition.first
    if (
        definition.tail
        and not fresh.tail
        and fresh.last - offset == len(given) - len(kept if has_comment else []) - 1
    ):
        given[-1] += _extract_tail(lines[definition.last - 1], definition.tail)
    return first, definition.last, "\n".join(given)


def _extract_tail(line: str, tail: str) -> str:
    """Return the tail as it appears in its line, with the space before it."""
    start = line.rindex(tail)
    return line[len(line[:start].rstrip()) :].rstrip()


def _indent_to_definition(
    language: Language, lines: list[str], definition: Definition, given: list[str]
) -> list[str]:
    """Return the new lines at the definition's depth, in the file's kind of indentation."""
    old = lines[definition.own_first - 1 : definition.last]
    target = indent_of(old[0])
    given = _restore_first_indent(language, old, given, target)
    base = indent_of(given[0])
    tabs = is_tab_indented(lines[definition.head_first - 1 : definition.last])
    mapping = fit_indent_mapping(
        [(base, target)], given, lines, is_tab_indented(lines) if tabs is None else tabs
    )
    fixed = _find_string_rows(language, given) if base != target or mapping is None else set()
    known = set(lines[definition.head_first - 1 : definition.last])
    result = []
    for row, line in enumerate(given):
        indent = indent_of(line)
        mapped = mapping(indent) if mapping else None
        if mapped is None:
            mapped = target + indent[len(base) :] if indent.startswith(base) else indent
        moved = mapped + line[len(indent) :]
        if row in fixed:  # inside a string, white space is content
            stays = moved not in known and (line in known or len(indent) <= len(base))
        elif not line.strip():
            stays, moved = base == target, ""
        else:  # preprocessor lines begin at the margin
            stays = line.startswith("#") and bool(row) and language.name in ("c", "cpp")
        result.append(line if stays else moved)
    return result


def _restore_first_indent(language: Language, old: Sequence[str], given: list[str], target: str) -> list[str]:
    """Restore the indentation of a first line that lost it while the others kept theirs."""
    rest = given[1:]
    if not target or indent_of(given[0]) or not rest:
        return given
    if given[0].startswith("@"):
        lost = indent_of(rest[0]) == target
    else:
        lost = _find_least_indent(language, rest).startswith(target) and _find_least_indent(
            language, rest
        ) == _find_least_indent(language, old[1:])
    return [target + given[0], *rest] if lost else given


def _find_least_indent(language: Language, lines: Sequence[str]) -> str:
    """Return the smallest indentation of lines; in Python a closing bracket does not show depth."""
    closing = (")", "]", "}") if language.name == "python" else ()
    indents = [indent_of(line) for line in lines if line.strip() and not line.lstrip().startswith(closing)]
    return min(indents, key=len, default="")


def _find_string_rows(language: Language, given: Sequence[str]) -> set[int]:
    """Return the rows that begin inside a string other than a docstring."""
    rows: set[int] = set()
    depth = len(indent_of(given[0]))
    shifted = [line[min(depth, len(indent_of(line))) :] for line in given]
    left: list[Node] = [parse_text(language, "\n".join(shifted)).root_node]
    while left:
        node = left.pop()
        if node.end_point[0] == node.start_point[0]:
            continue
        if not any(word in node.type for word in _STRINGS) or not node.is_named:
            left.extend(node.children)
        elif node.parent is None or node.parent.type != "expression_statement":
            rows.update(range(node.start_point[0] + 1, node.end_point[0] + 1))
    return rows
