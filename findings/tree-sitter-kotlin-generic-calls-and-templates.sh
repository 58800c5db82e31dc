#!/usr/bin/env bash
# tree-sitter-kotlin 1.1.0, all without an error node:
# 1. A generic call with one plain type and one argument, decode<User>(text), is two comparisons, (decode < User) >
# (text), and so no call; with no argument, with two, or with User? or List<User> as the type it is a call.
# 2. -a.b is (-a).b and -x++ is (-x)++; Kotlin's grammar has postfix before prefix: -(a.b), -(x++).
# 3. A line that starts with + is joined to the value above it: val a = b and + c on the next line is b + c. In Kotlin
# the line end ends the declaration.
# 4. In "a $name" the name is plain string content, with no interpolation node as "a ${name}" has.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-kotlin==1.1.0 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_kotlin as grammar
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
look('fun f() {\n    decode<User>(text)\n}\n', 'decode<User>(text)',
     'binary_expression', ['decode<User', '>', '(text)'])
look('fun f() {\n    decode<User?>(text)\n}\n', 'decode<User?>(text)',
     'call_expression', ['decode', '<User?>', '(text)'])
look('fun f() {\n    decode<User>(text, 1)\n}\n', 'decode<User>(text, 1)',
     'call_expression', ['decode', '<User>', '(text, 1)'])
look('fun f() {\n    -a.b\n}\n', '-a.b', 'navigation_expression', ['-a', '.', 'b'])
look('fun f() {\n    -x++\n}\n', '-x++', 'unary_expression', ['-x', '++'])
look('fun f() {\n    val a = b\n    + c\n}\n', 'val a = b\n    + c',
     'property_declaration', ['val', 'a', '=', 'b\n    + c'])
look('fun f() {\n    "a $name"\n}\n', '"a $name"', 'string_literal', ['"', 'a ', '$', 'name', '"'])
look('fun f() {\n    "a ${name}"\n}\n', '"a ${name}"', 'string_literal', ['"', 'a ', '${name}', '"'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
