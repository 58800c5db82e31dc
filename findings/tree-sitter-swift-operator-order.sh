#!/usr/bin/env bash
# tree-sitter-swift 0.7.4, without an error node, against the precedence groups that Swift's standard library declares
# (from close to loose: shift, multiplication, addition, range, casting, ??, comparison, &&, ||, ?:):
# 1. a == b && c is a == (b && c), also as the condition of an if, and a && b || c is a && (b || c).
# 2. a ?? b == c is a ?? (b == c) and a ..< b == c is a ..< (b == c); both operators bind closer than ==.
# 3. a & b == c is a & (b == c), though & is in the group of multiplication; a << b * c is a << (b * c).
# 4. a ? b : c ? d : e is (a ? b : c) ? d : e; ?: is right-associative.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-swift==0.7.4 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_swift as grammar
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
look('let r = a == b && c\n', 'a == b && c', 'equality_expression', ['a', '==', 'b && c'])
look('let r = a && b || c\n', 'a && b || c', 'conjunction_expression', ['a', '&&', 'b || c'])
look('let r = a ?? b == c\n', 'a ?? b == c', 'nil_coalescing_expression', ['a', '??', 'b == c'])
look('let r = a ..< b == c\n', 'a ..< b == c', 'range_expression', ['a', '..<', 'b == c'])
look('let r = a & b == c\n', 'a & b == c', 'bitwise_operation', ['a', '&', 'b == c'])
look('let r = a << b * c\n', 'a << b * c', 'bitwise_operation', ['a', '<<', 'b * c'])
look('let r = a ? b : c ? d : e\n', 'a ? b : c ? d : e', 'ternary_expression', ['a ? b : c', '?', 'd', ':', 'e'])
look('func f() {\n    if x == y && z { g() }\n}\n', 'x == y && z', 'equality_expression', ['x', '==', 'y && z'])
look('func f() {\n    if x && y == z { g() }\n}\n', 'x && y == z', 'conjunction_expression', ['x', '&&', 'y == z'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
