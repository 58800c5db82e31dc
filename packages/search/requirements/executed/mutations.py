"""Mutations of one definition that any test of it has to notice: it returns nothing at once, or raises.

Stronger than the operators of mutation testing (DeMillo, Lipton and Sayward 1978): extreme mutation takes the body away
(Niedermayr et al. 2016), so that a surviving mutant is seldom an equivalent one.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, get_args

from tools.code.languages import detect_languages, encode_text, parse_text

if TYPE_CHECKING:
    from tree_sitter import Node

Mutation = Literal["returns nothing", "raises"]
MUTATIONS: tuple[Mutation, ...] = get_args(Mutation)

MESSAGE = "taken out to see whether a test notices"

_STATEMENTS: Mapping[Mutation, ast.stmt] = {
    "returns nothing": ast.parse("def f(): return None").body[0].body[0],  # type: ignore[attr-defined]
    "raises": ast.parse(f"raise NotImplementedError({MESSAGE!r})").body[0],
}

_RAISES: Mapping[str, str] = {
    "javascript": f"throw new Error('{MESSAGE}');",
    "typescript": f"throw new Error('{MESSAGE}');",
    "tsx": f"throw new Error('{MESSAGE}');",
    "go": f'panic("{MESSAGE}");',
    "rust": f'panic!("{MESSAGE}");',
    "java": f'if (true) throw new RuntimeException("{MESSAGE}");',  # a bare one makes the rest unreachable, an error
}
"""First statement of a function's body by language: others have no mutations."""


def mutate_definition(path: str, text: str, name: str, mutation: Mutation) -> str | None:
    """Return the text with each definition of a name mutated; None if there is none that can be.

    name: of a function, method or class ("total", "Cart.total", "Cart"); of a class, all methods are mutated
    """
    if path.endswith(".py"):
        return _mutate_python(text, name, mutation)
    if mutation != "raises":  # what nothing is differs by the type of the result
        return None
    return _insert_raise(path, text, name.rpartition(".")[2])


def _mutate_python(text: str, name: str, mutation: Mutation) -> str | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = list(_iter_functions(tree.body, "", name, is_inside=False))
    changed = False
    for each in found:
        body = each.body[1:] if ast.get_docstring(each) is not None else each.body
        is_short = len(body) == 1 and isinstance(body[0], ast.Pass | ast.Return | ast.Raise)
        if body and not (is_short and ast.dump(body[0]) in ("Pass()", ast.dump(_STATEMENTS[mutation]))):
            each.body = [_STATEMENTS[mutation]]
            changed = True
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n" if changed else None
    except RecursionError:  # hundreds of terms: parsed in C, and too deep to be written
        return None


def _iter_functions(
    body: Collection[ast.stmt], outer: str, name: str, *, is_inside: bool
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own = f"{outer}.{node.name}" if outer else node.name
            is_wanted = is_inside or own == name or own.endswith(f".{name}")
            if isinstance(node, ast.ClassDef):
                yield from _iter_functions(node.body, own, name, is_inside=is_wanted)
            elif is_wanted:
                yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
            yield from _iter_functions(inner, outer, name, is_inside=is_inside)


def _insert_raise(path: str, text: str, name: str) -> str | None:
    for language in detect_languages(path):
        statement = _RAISES.get(language.name)
        if statement is None:
            continue
        source = encode_text(text)
        wanted = name.encode()
        places = {
            body.start_byte + 1
            for body in _iter_bodies(parse_text(language, text).root_node, wanted)
            if source[body.start_byte : body.start_byte + 1] == b"{"
        }
        for place in sorted(places, reverse=True):
            source = source[:place] + statement.encode() + source[place:]
        return source.decode("utf-8", "replace") if places else None
    return None


def _iter_bodies(root: Node, name: bytes) -> Iterator[Node]:
    """Yield the bodies of the functions and methods of a name, and of functions that a variable of it holds."""
    rest = [root]
    while rest:
        node = rest.pop()
        rest += node.named_children
        named = node.child_by_field_name("name")
        if named is None or named.text != name:
            continue
        value = node.child_by_field_name("value")
        body = (value if value is not None else node).child_by_field_name("body")
        if body is not None and (value is not None or node.child_by_field_name("parameters") is not None):
            yield body
