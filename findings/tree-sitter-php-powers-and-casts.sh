#!/usr/bin/env bash
# tree-sitter-php 0.25.1: -$a ** 2 is (-$a) ** 2 and (int) $a ** 2 is ((int) $a) ** 2, without an error node. In PHP **
# binds closer than signs and casts on its left: -3 ** 2 is -9 and (int) 1.5 ** 2 is 2.
# Likewise print $a and $b prints ($a and $b) in the tree; in PHP print binds closer than and, so it prints $a.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-php==0.25.1 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_php as grammar
parser = tree_sitter.Parser(tree_sitter.Language(grammar.language_php()))
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
look('<?php $r = -$a ** 2;', '-$a ** 2', 'binary_expression', ['-$a', '**', '2'])
look('<?php $r = (int) $a ** 2;', '(int) $a ** 2', 'binary_expression', ['(int) $a', '**', '2'])
look('<?php print $a and $b;', 'print $a and $b', 'print_intrinsic', ['print', '$a and $b'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
