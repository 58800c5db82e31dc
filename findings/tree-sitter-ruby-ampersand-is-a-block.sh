#!/usr/bin/env bash
# tree-sitter-ruby 0.23.1, without an error node:
# 1. a&b, without spaces, is a call of a with the block b, also a&1, @a&b and x.a&b: Ruby takes & for the mark of a
#    block only behind a space, so flags&mask is an and of bits. a|b, a-b and a(1)&b are binary in the tree.
# 2. +a ** b is +(a ** b); Ruby's table of operators has unary plus above ** and only unary minus below it.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-ruby==0.23.1 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_ruby as grammar
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
look('r = flags&mask\n', 'flags&mask', 'call', ['flags', '&mask'])
look('r = a&1\n', 'a&1', 'call', ['a', '&1'])
look('r = @a&b\n', '@a&b', 'call', ['@a', '&b'])
look('r = x.a&b\n', 'x.a&b', 'call', ['x', '.', 'a', '&b'])
look('r = a(1)&b\n', 'a(1)&b', 'binary', ['a(1)', '&', 'b'])
look('r = a|b\n', 'a|b', 'binary', ['a', '|', 'b'])
look('r = +a ** b\n', '+a ** b', 'unary', ['+', 'a ** b'])
look('r = -a ** b\n', '-a ** b', 'unary', ['-', 'a ** b'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
