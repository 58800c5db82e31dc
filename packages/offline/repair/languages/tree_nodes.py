"""Classification of tree-sitter nodes by the kinds and fields that the grammars of several languages share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from packages.offline.repair.languages.parsed_source import get_text

if TYPE_CHECKING:
    from tree_sitter import Node

# Characters of a piece of code shown to the user.
LONGEST = 60
NUMBERS = frozenset({"int_literal", "number", "integer_literal", "number_literal", "decimal_integer_literal"})
COMPARING = frozenset({"<", "<=", ">", ">=", "==", "!=", "===", "!=="})
CALLS = frozenset({"call_expression", "method_invocation"})
ASSIGNMENTS = frozenset({
    "assignment_statement", "assignment_expression", "augmented_assignment_expression",
    "compound_assignment_expr", "update_expression", "inc_statement", "dec_statement",
})  # fmt: skip
STATEMENTS = ASSIGNMENTS - {
    "assignment_expression",
    "augmented_assignment_expression",
    "update_expression",
} | {
    "expression_statement",
    "if_statement",
    "break_statement",
    "continue_statement",
    "return_statement",
}


def get_operator(node: Node) -> Node | None:
    """Return the operator of a binary expression."""
    return node.child_by_field_name("operator")


def get_condition(node: Node) -> Node | None:
    """Return the condition of a branch or a loop, without its parentheses."""
    found = node.child_by_field_name("condition")
    while found is not None and found.type in ("parenthesized_expression", "expression_statement"):
        found = found.named_children[0] if found.named_children else None
    return found


def get_arguments(call: Node) -> list[Node]:
    given = call.child_by_field_name("arguments")
    return given.named_children if given is not None else []


def is_callee(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type not in CALLS:
        if not is_member(node) or parent.end_byte != node.end_byte:
            return False
        parent = parent.parent
    if parent is None:
        return False
    called = parent.child_by_field_name("function") or parent.child_by_field_name("name")
    return called is not None and called.start_byte <= node.start_byte and node.end_byte == called.end_byte


def is_member(node: Node) -> bool:
    if node.type in ("field_identifier", "property_identifier"):
        return node.parent is None or "declar" not in node.parent.type
    parent = node.parent
    if node.type != "identifier" or parent is None:
        return False
    named = parent.child_by_field_name("name" if parent.type == "method_invocation" else "field")
    owner = parent.child_by_field_name("object")
    return named is not None and owner is not None and named.start_byte == node.start_byte


def is_declared(node: Node) -> bool:
    """Return whether it is the name of a variable, a parameter or a function in its declaration."""
    parent = node.parent
    if parent is None:
        return False
    if any(word in parent.type for word in ("declar", "parameter", "pattern", "function", "method_def")):
        return parent.child_by_field_name("value") is None or (
            (value := parent.child_by_field_name("value")) is not None and value.start_byte != node.start_byte
        )
    return parent.type == "labeled_statement" or is_member(node)


def is_expression(node: Node) -> bool:
    """Return whether it is a composite expression with a value."""
    if node.child_count == 0 or node.type in _NO_VALUES or "statement" in node.type:
        return False
    return "expression" in node.type or node.type in _OPERANDS


def is_value(node: Node) -> bool:
    """Return whether it is an expression in a replaceable place: an argument, an operand, an index, a right side."""
    parent = node.parent
    if parent is None or not (node.type == "identifier" or is_expression(node)):
        return False
    if parent.type in _HOLDERS:
        return True
    if parent.type == "binary_expression":
        return get_text(get_operator(parent) or parent) in COMPARING
    if parent.type in ("index_expression", "subscript_expression", "array_access"):
        return parent.named_children[-1].start_byte == node.start_byte
    right = parent.child_by_field_name("right") or parent.child_by_field_name("value")
    return right is not None and right.start_byte == node.start_byte and right.end_byte == node.end_byte


_NO_VALUES = frozenset({"parenthesized_expression", "expression_list", *ASSIGNMENTS})
_OPERANDS = frozenset({"array_access", "field_access", "method_invocation"})
_HOLDERS = frozenset({
    "argument_list", "arguments", "range_expression", "slice_expression", "return_statement", "return_expression",
    "expression_list",
})  # fmt: skip


def is_statement(node: Node) -> bool:
    return node.type.endswith("statement") or node.type.endswith("declaration") or node.type in STATEMENTS


def get_owner(node: Node) -> Node | None:
    """Return the object of a field access or method call."""
    if node.type not in (
        "selector_expression", "member_expression", "field_access", "field_expression", "method_invocation",
    ):  # fmt: skip
        return None
    for name in ("operand", "object", "argument", "value"):
        owner = node.child_by_field_name(name)
        if owner is not None and owner.type in ("identifier", *_OPERANDS, "selector_expression"):
            return owner
    return None


def iter_descendants(node: Node) -> Iterator[Node]:
    left = [node]
    while left:
        each = left.pop()
        yield each
        left.extend(each.children)


def parenthesize(node: Node) -> str:
    """Return its text, in parentheses if a neighbouring operator could bind tighter."""
    return f"({get_text(node)})" if "binary" in node.type or "ternary" in node.type else get_text(node)


def format_short(node: Node) -> str:
    said = " ".join(get_text(node).split())
    return f"`{said[:LONGEST]}…`" if len(said) > LONGEST else f"`{said}`"


def get_line(node: Node) -> int:
    return node.start_point[0] + 1
