#!/usr/bin/env bash
# tree-sitter-typescript 0.23.2, all without an error node; the TypeScript compiler (checked with 5.9.3) groups each
# the other way round:
# 1. await a as B is await (a as B), where the compiler has (await a) as B; typeof a as B is right.
# 2. a && b as C, a ?? b as C and a == b as C are (a && b) as C and so on; the compiler has a && (b as C): as binds
# like < there.
# 3. a ** b as C is a ** (b as C); the compiler has (a ** b) as C.
# 4. !a! is (!a)!; the compiler has !(a!).
# 5. f<A>`x` is two comparisons; the compiler has a tagged template with a type argument.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-typescript==0.23.2 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_typescript as grammar
parser = tree_sitter.Parser(tree_sitter.Language(grammar.language_typescript()))
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
look('const r = await a as B;', 'await a as B', 'await_expression', ['await', 'a as B'])
look('const r = typeof a as B;', 'typeof a as B', 'as_expression', ['typeof a', 'as', 'B'])
look('const r = a && b as C;', 'a && b as C', 'as_expression', ['a && b', 'as', 'C'])
look('const r = a ?? b as C;', 'a ?? b as C', 'as_expression', ['a ?? b', 'as', 'C'])
look('const r = a == b as C;', 'a == b as C', 'as_expression', ['a == b', 'as', 'C'])
look('const r = a ** b as C;', 'a ** b as C', 'binary_expression', ['a', '**', 'b as C'])
look('const r = !a!;', '!a!', 'non_null_expression', ['!a', '!'])
look('const r = f<A>`x`;', 'f<A>`x`', 'binary_expression', ['f<A', '>', '`x`'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
