#!/usr/bin/env bash
# tree-sitter-zig 1.1.2, without an error node: try a + b is try (a + b), likewise with *, <<, | and orelse, and
# try a catch b is try (a catch b). In the grammar of the language reference try is a prefix (PrefixOp) like - and ~,
# which bind closer than any infix operator: (try a) + b. try a == b and -a + b are grouped so, so that two sums with
# different signs in front have different trees.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-zig==1.1.2 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_zig as grammar
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
look('const r = try a + b;\n', 'try a + b', 'try_expression', ['try', 'a + b'])
look('const r = try a * b;\n', 'try a * b', 'try_expression', ['try', 'a * b'])
look('const r = try a << b;\n', 'try a << b', 'try_expression', ['try', 'a << b'])
look('const r = try a | b;\n', 'try a | b', 'try_expression', ['try', 'a | b'])
look('const r = try a orelse b;\n', 'try a orelse b', 'try_expression', ['try', 'a orelse b'])
look('const r = try a catch b;\n', 'try a catch b', 'try_expression', ['try', 'a catch b'])
look('const r = try a == b;\n', 'try a == b', 'binary_expression', ['try a', '==', 'b'])
look('const r = -a + b;\n', '-a + b', 'binary_expression', ['-a', '+', 'b'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
