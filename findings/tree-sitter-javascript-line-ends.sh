#!/usr/bin/env bash
# tree-sitter-javascript 0.25.0, all without an error node:
# 1. A class body with get on one line and x() {} on the next is a field named get and a method x, with static and x a
# field named static and a field x. JavaScript joins both across the line end: a getter x and a static field x (node 20
# runs them so).
# 2. export default function () {} and (x) on the next line are a call, the same with a class; in JavaScript a default
# export of a function or class is a declaration, which ends at its brace.
# 3. A regular expression on the line after an arrow function with a block, f = y => {} and /a/g, is two divisions; in
# JavaScript such a function can be divided by nothing, so the statement ends there.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-javascript==0.25.0 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_javascript as grammar
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
look('class A {get\nx() {}}', '{get\nx() {}}', 'class_body', ['{', 'get', 'x() {}', '}'])
look('class A {static\nx}', '{static\nx}', 'class_body', ['{', 'static', 'x', '}'])
look('export default function () {}\n(x)', 'function () {}\n(x)', 'call_expression', ['function () {}', '(x)'])
look('export default class {}\n(x)', 'class {}\n(x)', 'call_expression', ['class {}', '(x)'])
look('f = y => {}\n/a/g', 'y => {}\n/a/g', 'binary_expression', ['y => {}\n/a', '/', 'g'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
