"""Repair in languages other than Python: changes of tree-sitter's trees, judged by the project's own tests."""
