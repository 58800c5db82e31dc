#!/usr/bin/env bash
# tree-sitter-bash 0.25.1, all without an error node; bash computes otherwise:
# 1. $((-2 ** 2)) is -(2 ** 2) in the tree, 4 in bash, whose signs bind closest; $((2 ** 3 ** 2)) is (2 ** 3) ** 2 in
# the tree, 512 in bash.
# 2. ! true | false negates only true in the tree; in bash ! belongs to the whole pipeline (status 0 here, not 1).
# 3. [ -f a -a b ] is -f of (a -a b); test has (-f a) -a b. In [[ -f a && b ]] the tree is right.
# 4. coproc name { cat; } is a command coproc with the arguments name, { and cat, and a command }.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-bash==0.25.1 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_bash as grammar
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
look('echo $((-2 ** 2))', '-2 ** 2', 'unary_expression', ['-', '2 ** 2'])
look('echo $((2 ** 3 ** 2))', '2 ** 3 ** 2', 'binary_expression', ['2 ** 3', '**', '2'])
look('! true | false', '! true | false', 'pipeline', ['! true', '|', 'false'])
look('[ -f a -a b ]', '-f a -a b', 'unary_expression', ['-f', 'a -a b'])
look('[[ -f a && b ]]', '-f a && b', 'binary_expression', ['-f a', '&&', 'b'])
look('coproc name { cat; }', 'coproc name { cat', 'command', ['coproc', 'name', '{', 'cat'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
