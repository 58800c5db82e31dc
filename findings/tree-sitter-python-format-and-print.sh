#!/usr/bin/env bash
# tree-sitter-python 0.25.0, without an error node:
# 1. f'{a:=5}' has an assignment expression a := 5 in it. In Python the first colon outside parentheses begins the
# format, here =5 (pad after the sign), and nothing is bound; {a:>5} has a format.
# 2. print >> log, 1 is a print statement with a redirection, as in Python 2. Python 3 compiles it as a tuple of a
# shift; print << log, 1 is one in the tree also.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-python==0.25.0 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_python as grammar
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
look("f'{a:=5}'", 'a:=5', 'named_expression', ['a', ':=', '5'])
look("f'{a:>5}'", '{a:>5}', 'interpolation', ['{', 'a', ':>5', '}'])
look('print >> log, 1', 'print >> log, 1', 'print_statement', ['print', '>> log', ',', '1'])
look('print << log, 1', 'print << log', 'binary_operator', ['print', '<<', 'log'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
