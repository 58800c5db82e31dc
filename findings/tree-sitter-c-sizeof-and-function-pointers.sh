#!/usr/bin/env bash
# tree-sitter-c 0.24.2, all without an error node:
# 1. sizeof (a)[0] is a subscript of a sizeof, sizeof (s).x a field of it; C's grammar has a postfix expression after
# sizeof, as in sizeof (a) / sizeof (a)[0].
# 2. handler (*h)(int) = g; with a type name handler is an assignment to a call of a call, and handler *(*h)(int) = g;
# a product. With int, with static before it, or as an array both are the declarations that C has.
# 3. -x-- is (-x)--, which would not compile; (int) x-- is (int) (x--).
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-c==0.24.2 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_c as grammar
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
look('int f(void) { return sizeof (a)[0]; }', 'sizeof (a)[0]', 'subscript_expression', ['sizeof (a)', '[', '0', ']'])
look('int f(void) { return sizeof (s).x; }', 'sizeof (s).x', 'field_expression', ['sizeof (s)', '.', 'x'])
look('void f(void) { handler (*h)(int) = g; }', 'handler (*h)(int) = g',
     'assignment_expression', ['handler (*h)(int)', '=', 'g'])
look('void f(void) { handler *(*h)(int) = g; }', 'handler *(*h)(int) = g',
     'binary_expression', ['handler', '*', '(*h)(int) = g'])
look('void f(void) { static handler (*h)(int) = g; }', 'static handler (*h)(int) = g;',
     'declaration', ['static', 'handler', '(*h)(int) = g', ';'])
look('void f(void) { -x--; }', '-x--', 'update_expression', ['-x', '--'])
look('void f(void) { (int) x--; }', '(int) x--', 'cast_expression', ['(', 'int', ')', 'x--'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
