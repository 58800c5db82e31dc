#!/usr/bin/env bash
# tree-sitter-rust 0.24.2, without an error node:
# 1. A macro called with braces as a statement is joined to the next line where that starts with *, &, - or [: m! { }
# and *p = 1; become one assignment to the product of m! { } and p. In Rust a macro with braces in statement place ends
# its statement, and the grammar does so after if, match, loop and unsafe blocks.
# 2. a = b = c is (a = b) = c; assignment in Rust is right-associative.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-rust==0.24.2 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_rust as grammar
parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
same = True
def look(source, part, kind, pieces):
    """Print into what the grammar divides `part` of `source`; `kind` and `pieces` are what it was on writing."""
    global same
    root = parser.parse(source.encode()).root_node
    found, open_nodes = None, [root]
    while open_nodes:
        node = open_nodes.pop()
        if node.text.decode() == part and node.child_count > 1:
            found = node
        open_nodes += node.children
    seen = [child.text.decode() for child in found.children] if found else []
    print(f"{part!r}: {found and found.type} {seen}{' error' if root.has_error else ''}")
    same &= bool(found) and not root.has_error and found.type == kind and seen == pieces
look('fn f() {\n    m! { }\n    *p = 1\n}\n', 'm! { }\n    *p = 1',
     'assignment_expression', ['m! { }\n    *p', '=', '1'])
look('fn f() {\n    m! { }\n    *p = 1;\n}\n', 'm! { }\n    *p', 'binary_expression', ['m! { }', '*', 'p'])
look('fn f() {\n    m! { }\n    -1\n}\n', 'm! { }\n    -1', 'binary_expression', ['m! { }', '-', '1'])
look('fn f() {\n    unsafe { }\n    *p = 1;\n}\n', '*p = 1', 'assignment_expression', ['*p', '=', '1'])
look('fn f() {\n    a = b = c;\n}\n', 'a = b = c', 'assignment_expression', ['a = b', '=', 'c'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
