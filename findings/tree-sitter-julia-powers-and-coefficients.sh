#!/usr/bin/env bash
# tree-sitter-julia 0.23.1, without an error node, against the Julia manual (operator precedence and associativity;
# numeric literal coefficients):
# 1. 2x^2 is (2x)^2; in the manual 2x^3 is 2*(x^3).
# 2. a^b^c is (a^b)^c; ^ is right-associative, so 2^3^2 is 512 and not 64. Likewise .^ and the arrow of the same level.
# 3. -2x is -(2x); in the manual a coefficient binds a little less than negation, so it is (-2)*x.
# 4. [1 -2] is a vector of one difference and [a b -c] a row of two; in brackets a sign with a space before it and none
#    behind begins the next column, so that they have two and three. Only [1 - 2] is a difference.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-julia==0.23.1 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_julia as grammar
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
look('r = 2x^2\n', '2x^2', 'binary_expression', ['2x', '^', '2'])
look('r = 2^3^2\n', '2^3^2', 'binary_expression', ['2^3', '^', '2'])
look('r = a .^ b .^ c\n', 'a .^ b .^ c', 'binary_expression', ['a .^ b', '.^', 'c'])
look('r = a ↑ b ↑ c\n', 'a ↑ b ↑ c', 'binary_expression', ['a ↑ b', '↑', 'c'])
look('r = -2x\n', '-2x', 'unary_expression', ['-', '2x'])
look('r = [1 -2]\n', '[1 -2]', 'vector_expression', ['[', '1 -2', ']'])
look('r = [a b -c]\n', 'a b -c', 'matrix_row', ['a', 'b -c'])
look('r = a => b => c\n', 'a => b => c', 'binary_expression', ['a', '=>', 'b => c'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
