"""Cross-check of the parser: tree-sitter's bash grammar must find the same commands and words.

Either parser has its mistakes; an attack has to find one that both make. tree-sitter alone would not do: it
takes words after a redirection for file names, ends words where bash does not, and recovers from syntax that
bash rejects.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from sandbox.policy.shell.parsing.syntax import ParsedSource, parse_word_set

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Span = tuple[int, int]


def explain_disagreement(reading: ParsedSource) -> str:
    """Return why the two parses of a source differ, "" if they do not."""
    tree = _load_parser().parse(reading.source.encode("latin-1"))
    if tree.root_node.has_error:
        return "the syntax is not understood"
    names, words = _collect_tree_spans(tree.root_node)
    if names ^ _collect_command_spans(reading):
        return "two readings find different commands"
    if words ^ _collect_word_spans(reading):
        return "two readings find different words"
    return ""


@cache
def _load_parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _collect_command_spans(reading: ParsedSource) -> set[Span]:
    return {(command.words[0].start, command.words[0].end) for command in reading.commands if command.words}


def _collect_word_spans(reading: ParsedSource) -> set[Span]:
    found: set[Span] = set()
    for command in reading.commands:
        if not (command.words and reading.source[command.words[0].start : command.words[0].end] == "["):
            found.update((word.start, word.end) for word in command.words[1:])
        found.update(
            (redirect.target.start, redirect.target.end) for redirect in command.redirects if redirect.target
        )
    return found


def _collect_tree_spans(root: Node) -> tuple[set[Span], set[Span]]:
    names: set[Span] = set()
    words: set[Span] = set()
    for node in _iterate_nodes(root):
        if node.type in _COMMANDS:
            _add_command_spans(node, names, words)
        elif node.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
            # Words that follow a redirection are its children, whichever command they belong to.
            words.update(_get_span(child) for child in node.named_children if child.type not in _NOT_WORDS)
        elif node.type == "test_command" and node.children[0].type == "[":
            names.add(_get_span(node.children[0]))
    return names, words


_COMMANDS = frozenset(("command", "declaration_command", "unset_command"))
_NOT_WORDS = parse_word_set(
    "command_name variable_assignment file_redirect herestring_redirect heredoc_redirect file_descriptor comment"
    " heredoc_start heredoc_body heredoc_end pipeline list"
)
_REDIRECTS = frozenset(("file_redirect", "herestring_redirect", "heredoc_redirect"))


def _add_command_spans(node: Node, names: set[Span], words: set[Span]) -> None:
    if node.type == "command":
        name = node.child_by_field_name("name")
        if name is None:
            return
        children = [child for child in node.named_children if child.type not in _NOT_WORDS]
        if name.text == b"time" and children:  # reserved; for tree-sitter a command like any other
            name, *children = children[1:] if children[0].text == b"-p" and len(children) > 1 else children
        names.add(_get_span(name))
        words.update(_get_span(child) for child in children)
    else:
        names.add(_get_span(node.children[0]))
        words.update(
            _get_span(child) for child in node.children[1:] if child.type not in _REDIRECTS | {"comment"}
        )


def _get_span(node: Node) -> Span:
    return node.start_byte, node.end_byte


def _iterate_nodes(root: Node) -> Iterator[Node]:
    """Yield all nodes, with an explicit stack: the source may be nested deeper than Python's."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.named_children)
