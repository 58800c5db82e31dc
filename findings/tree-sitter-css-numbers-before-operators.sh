#!/usr/bin/env bash
# tree-sitter-css 0.25.0, without an error node: a number with a unit is divided where * or / follows without a space,
# though CSS asks for spaces only around + and -, and its tokens 1px, * and 2 do not depend on them:
# 1. calc(1px + 2px*3) is two values, the sum 1px + 2 and the word px*3; calc(1px*2 + 3px) is 1 and the sum of the word
#    px*2 and 3px. With spaces around * or with var(--x)*2 there is one expression.
# 2. font: 12px/1.5 serif is the number 12, without a unit, and the word px/1.5; in 12px / 1.5 serif it is 12px.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-css==0.25.0 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_css as grammar
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
look('a { width: calc(1px + 2px*3) }', '(1px + 2px*3)', 'arguments', ['(', '1px + 2', 'px*3', ')'])
look('a { width: calc(1px*2 + 3px) }', '(1px*2 + 3px)', 'arguments', ['(', '1', 'px*2 + 3px', ')'])
look('a { width: calc(1px + 2px * 3) }', '(1px + 2px * 3)', 'arguments', ['(', '1px + 2px * 3', ')'])
look('a { width: calc(var(--x)*2) }', '(var(--x)*2)', 'arguments', ['(', 'var(--x)*2', ')'])
look('a { font: 12px/1.5 serif; }', 'font: 12px/1.5 serif;',
     'declaration', ['font', ':', '12', 'px/1.5', 'serif', ';'])
look('a { font: 12px / 1.5 serif; }', 'font: 12px / 1.5 serif;',
     'declaration', ['font', ':', '12px / 1.5', 'serif', ';'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
