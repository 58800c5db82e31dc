#!/usr/bin/env bash
# tree-sitter-java 0.23.5: a postfix ++ or -- takes the whole unary or cast expression before it as its operand,
# without an error node: -x-- is (-x)--, (int) x++ is ((int) x)++. Both would not compile; Java's grammar and javac
# make them -(x--) and (int) (x++).
# tree-sitter-c-sharp 0.23.5 and tree-sitter-php 0.25.1 group the same text as their languages do.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-java==0.23.5 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_java as grammar
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
look('class A { int x, y; int f() { return -x--; } }', '-x--', 'update_expression', ['-x', '--'])
look('class A { int x, y; int f() { return ~x++; } }', '~x++', 'update_expression', ['~x', '++'])
look('class A { int x, y; int f() { return (int) x++; } }', '(int) x++', 'update_expression', ['(int) x', '++'])
look('class A { int x, y; int f() { return - -x--; } }', '- -x--', 'update_expression', ['- -x', '--'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
