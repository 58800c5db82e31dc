#!/usr/bin/env bash
# tree-sitter-html 0.23.2, without an error node: the text of title, textarea and iframe is divided into elements.
# <title>List<T> in use</title> has an element T with "in use" in it, <textarea><p>x</textarea> an element p. In the
# HTML standard title and textarea hold escapable raw text and iframe raw text, in which < begins no tag but the end
# tag of the same name. script and style, which hold raw text too, are kept whole by the grammar.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib \
  tree-sitter==0.26.1 tree-sitter-html==0.23.2 2>/dev/null
cat >trees.py <<'P'
import sys
import tree_sitter, tree_sitter_html as grammar
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
look('<title>List<T> in use</title>', '<title>List<T> in use</title>',
     'element', ['<title>', 'List', '<T> in use', '</title>'])
look('<title>List<T> in use</title>', '<T> in use', 'element', ['<T>', 'in use'])
look('<textarea><p>x</textarea>', '<textarea><p>x</textarea>', 'element', ['<textarea>', '<p>x', '</textarea>'])
look('<iframe><p>x</iframe>', '<iframe><p>x</iframe>', 'element', ['<iframe>', '<p>x', '</iframe>'])
look('<style><p>x</style>', '<style><p>x</style>', 'style_element', ['<style>', '<p>x', '</style>'])
sys.exit(not same)
P
PYTHONPATH=lib python3 trees.py
