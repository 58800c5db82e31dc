#!/usr/bin/env bash
# tree-sitter-go 0.25.0, without an error node:
# 1. A call of a table's function with one argument, handlers[name](request) or s.handlers[name](request), is a
# conversion to a generic type, even after defer, where only a call may stand; a query for call_expression misses it.
# With no argument, with two, or with a literal as index it is a call. go/parser has a call for each.
# 2. <-chan int(c) is a conversion to the type <-chan int; the language specification has this very text as an example
# of <-(chan int(c)), a receive from a converted channel.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-go==0.25.0 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_go as grammar
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
look('package p\nfunc f() {\n\thandlers[name](request)\n}\n', 'handlers[name](request)',
     'type_conversion_expression', ['handlers[name]', '(', 'request', ')'])
look('package p\nfunc f() {\n\tdefer s.handlers[name](request)\n}\n', 'defer s.handlers[name](request)',
     'defer_statement', ['defer', 's.handlers[name](request)'])
look('package p\nfunc f() {\n\tdefer s.handlers[name](request)\n}\n', 's.handlers[name](request)',
     'type_conversion_expression', ['s.handlers[name]', '(', 'request', ')'])
look('package p\nfunc f() {\n\thandlers[name]()\n}\n', 'handlers[name]()',
     'call_expression', ['handlers[name]', '()'])
look('package p\nfunc f() {\n\thandlers[name](request, reply)\n}\n', 'handlers[name](request, reply)',
     'call_expression', ['handlers[name]', '(request, reply)'])
look('package p\nfunc f() {\n\thandlers[1](request)\n}\n', 'handlers[1](request)',
     'call_expression', ['handlers[1]', '(request)'])
look('package p\nfunc f() {\n\tx := <-chan int(c)\n}\n', 'x := <-chan int(c)',
     'short_var_declaration', ['x', ':=', '<-chan int(c)'])
look('package p\nvar x = <-chan int(c)\n', '<-chan int(c)',
     'type_conversion_expression', ['<-chan int', '(', 'c', ')'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
