#!/usr/bin/env bash
# tree-sitter-c-sharp 0.23.5, all without an error node:
# 1. a is B && c is a test of a against the constant (B && c); C# ends the pattern before && and has (a is B) && c.
# With a predefined type (a is int && c) or a designation (a is B b && c) the tree is right.
# 2. (a) - b and (a) * b with spaces and a local a are casts of -b and *b to type a. C# takes parentheses around a name
# for a cast only before ~, !, (, a name, a literal or a keyword; so this is a difference and a product.
# 3. a is var (b, c) is a call of (a is var) with two arguments; C# has a pattern that takes a apart.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-c-sharp==0.23.5 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_c_sharp as grammar
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
look('class A { bool F(object a) { return a is B && c; } }', 'a is B && c',
     'is_pattern_expression', ['a', 'is', 'B && c'])
look('class A { bool F(object a) { return a is int && c; } }', 'a is int && c',
     'binary_expression', ['a is int', '&&', 'c'])
look('class A { bool F(object a) { return a is B b && c; } }', 'a is B b && c',
     'binary_expression', ['a is B b', '&&', 'c'])
look('class A { bool F(object a) { return (a) - b; } }', '(a) - b', 'cast_expression', ['(', 'a', ')', '- b'])
look('class A { bool F(object a) { return (a) * b; } }', '(a) * b', 'cast_expression', ['(', 'a', ')', '* b'])
look('class A { bool F(object a) { return a is var (b, c); } }', 'a is var (b, c)',
     'invocation_expression', ['a is var', '(b, c)'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
